"""From an OMOP database to a released table: the guide's views, commands and plan, on a made-up database in PostgreSQL."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import polars
import pytest

from clinical_data import omop_statements
from database_server import PASSWORD, NoServerError, running_server
from shoal import InputError
from shoal.cli import main
from shoal.hierarchy.codes.systems import parse_code_spec
from shoal.hierarchy.files import read_hierarchy
from shoal.records.database.concept_tables import vocabulary_files

ROOT = Path(__file__).parents[2]
PLACE = "postgresql://shoal@localhost:5432/clinic"


@pytest.fixture(scope="module")
def clinic():
    """The address of a database with the people, the vocabulary and the guide's views."""
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except NoServerError as reason:
            pytest.skip(str(reason))
        with driver.connect(server.address(), autocommit=True) as connection, connection.cursor() as cursor:
            views = [ROOT / "integrations" / "omop" / f"{name}.sql" for name in ("conditions", "drugs", "persons")]
            for statement in (*omop_statements(), *(view.read_text() for view in views)):
                cursor.execute(statement)
        yield server.address(password=None)


def test_the_walk_through(clinic, walk, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    walk("omop.md", lambda text: text.replace(PLACE, clinic))
    published = polars.read_csv("persons.csv", infer_schema=False)
    assert published.columns == ["age_band", "gender", "race", "codes"]
    assert len(published) == 900
    tree = read_hierarchy("concepts.csv")
    assert {"441840*", "21600001*"} <= set(tree.labels)  # conditions and drugs
    assert "1308217" not in tree.labels  # a tablet: the view says its ingredient
    known = {*tree.labels, "*"}
    assert {code for codes in published["codes"].drop_nulls() for code in codes.split()} <= known
    for name in ("MRN", "person"):
        assert name not in Path("persons.csv").read_text()


def test_a_database_that_holds_no_vocabulary_there(clinic, monkeypatch, capsys):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with pytest.raises(InputError, match=r"name the table with the concepts"), vocabulary_files(clinic, ["1"]):
        pass
    with vocabulary_files(f"{clinic}?table=cdm.concept", ["320128", "x'; DROP TABLE cdm.concept; --", " 7 "]) as files:
        assert Path(files[0]).read_text() == "concept_id\tinvalid_reason\n320128\t\n"
        assert "441840\t4329847\t1" in Path(files[1]).read_text()
    assert not Path(files[0]).exists()
    data = [f"{clinic}?table=shoal_persons", "--items", "codes", "--drop", "age_band,gender,race", "-o", "t.csv"]
    assert main(["hierarchy", "build", *data, "--codes", f"snomed:{clinic}?table=cdm.concept"]) == 2
    assert "a database holds the vocabulary of OMOP" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("omop:postgresql://u@h/d?table=cdm.concept", ("", "omop", ["postgresql://u@h/d?table=cdm.concept"])),
        ("c.=omop:postgresql://u@h/d?table=cdm.concept", ("c.", "omop", ["postgresql://u@h/d?table=cdm.concept"])),
        ("ICD:=icd10cm:a=b.txt", ("ICD:", "icd10cm", ["a=b.txt"])),
        ("atc:a=b.txt,c.txt", ("", "atc", ["a=b.txt", "c.txt"])),
    ],
)
def test_specs_with_addresses(spec, parts):
    assert parse_code_spec(spec) == parts
