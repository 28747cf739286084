"""Databases from the command line and in plans, with the same outcome; passwords stay where they were given."""

import json
import re
import shutil
from pathlib import Path

import pytest

from database_server import PASSWORD
from shoal.cli import main
from shoal.errors import InputError
from shoal.plan import plan_from, plan_of, read_plan
from shoal.records.source import fingerprint

FLAGS = [
    "--model",
    "rt",
    "--k",
    "5",
    "--quasi",
    "age,sex",
    "--items",
    "codes",
    "--keep",
    "paid,seen",
    "--drop",
    "id,share,insured,at",
]


@pytest.fixture
def outcome(capsys):
    def of(*command):
        status = main([str(part) for part in command])
        shown = capsys.readouterr()
        assert PASSWORD not in shown.out + shown.err
        return status, shown.out, shown.err

    return of


@pytest.mark.parametrize("where", ["in the address", "in PGPASSWORD", "in a file"])
def test_a_table_becomes_a_table(server, visits, ask, outcome, monkeypatch, tmp_path, where):
    password = PASSWORD if where == "in the address" else None
    if where == "in PGPASSWORD":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    elif where == "in a file":
        (tmp_path / "pass").write_text(f"127.0.0.1:*:*:shoal:{PASSWORD}\n")
        (tmp_path / "pass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    source, target = (server.address(name, password=password) for name in (visits, f"{visits}_public"))
    status, out, err = outcome("anonymize", source, "-o", target, "--certificate", "public.json", *FLAGS, "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["input"] == server.address(visits, password=None)
    assert found["output"] == server.address(f"{visits}_public", password=None)
    assert found["format"] == "postgresql"
    assert found["input_sha256"] == fingerprint(server.address(visits))
    assert found["output_sha256"] == fingerprint(server.address(f"{visits}_public"))
    assert any("holds a password" in note for note in found["notes"]) == (where == "in the address")
    certificate = Path("public.json").read_text()
    assert PASSWORD not in certificate
    assert "127.0.0.1" not in certificate
    assert ask(f"SELECT count(*) FROM {visits}_public") == [(120,)]
    status, out, err = outcome("verify", "public.json", target)
    assert status == 0, err
    roles = ["--model", "rt", "--k", "5", "--quasi", "age,sex", "--items", "codes", "--keep", "paid,seen"]
    status, out, err = outcome("audit", target, *roles, "--json")
    assert status == 0, err
    assert json.loads(out)["input"] == server.address(f"{visits}_public", password=None)


def test_a_table_becomes_a_file_or_a_stream(server, visits, outcome):
    assert outcome("anonymize", server.address(visits), "-o", "public.parquet", *FLAGS)[0] == 0
    status, out, err = outcome("anonymize", server.address(visits), "-o", "-", *FLAGS)
    assert status == 0, err
    assert out.startswith("age,sex,paid,seen,codes\n")
    assert len(out.splitlines()) == 121


def test_a_query_is_asked(server, visits, outcome):
    query = f"SELECT codes FROM {visits} WHERE age < 40"
    status, out, err = outcome("audit", server.address(), "--query", query, "--k", "2", "--json")
    assert status in (0, 3), err
    assert json.loads(out)["rows"] == 80
    status, _, err = outcome("anonymize", server.address(visits), "--query", query)
    assert status == 2
    assert "leave out --query" in err.replace("\n", " ")
    status, _, err = outcome("anonymize", "visits.csv", "--query", query)
    assert status == 2


def test_refusals_come_before_the_work_and_with_code_2(server, visits, outcome):
    source, target = server.address(visits), server.address(f"{visits}_public")
    for command, says in (
        ((source, "-o", target), "--certificate"),
        ((source, "-o", source, "--certificate", "c.json", "--force"), "it is the source of this release"),
        ((source, "-o", server.address(), "--certificate", "c.json"), "the name of a new table"),
        ((source, "-o", "sqlite:no/where.db?table=t", "--certificate", "c.json"), "its folder is not there"),
    ):
        status, _, err = outcome("anonymize", *command, *FLAGS)
        assert status == 2
        assert says in err.replace("\n", " ")
    assert not Path("c.json").exists()


def test_flags_and_their_plan_do_the_same(server, visits, ask, outcome, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    source, target = server.address(visits), server.address(f"{visits}_public")
    status, plan, err = outcome(
        "anonymize", source, "-o", target, "--certificate", "public.json", *FLAGS, "--print-plan"
    )
    assert status == 0, err
    (tmp_path / "plan.yaml").write_text(plan)
    status, out, err = outcome("run", "plan.yaml", "--check", "--json")
    assert status == 0, err
    assert json.loads(out)["rows"] == 120
    assert ask(f"SELECT to_regclass('{visits}_public')") == [(None,)]
    assert outcome("run", "plan.yaml")[0] == 0
    assert ask(f"SELECT count(*) FROM {visits}_public") == [(120,)]
    status, _, err = outcome("run", "plan.yaml")
    assert status == 2
    assert "outputs" in err


def test_a_plan_with_a_query_and_a_hash(server, visits, ask, outcome, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    query = f"SELECT age, codes FROM {visits}"
    status, text, err = outcome("init", server.address(), "--query", query, "--bind")
    assert status == 0, err
    (tmp_path / "plan.yaml").write_text(text)
    plan = read_plan("plan.yaml")
    assert plan.input.query == query
    assert plan.input.path == server.address(password=None)
    status, _, err = outcome("run", "plan.yaml", "--check")
    assert status == 0, err
    ask(f"UPDATE {visits} SET age = 99 WHERE id = 1")
    for command in (("run", "plan.yaml", "--check"), ("run", "plan.yaml")):
        status, _, err = outcome(*command)
        assert status == 2
        assert "holds other rows than those the plan was made for" in err.replace("\n", " ")
    assert ask("SELECT to_regclass('release')") == [(None,)]


def test_sqlite_files_of_a_plan_are_relative_to_its_folder(clinic, outcome, tmp_path):
    (tmp_path / "plans").mkdir()
    shutil.move(clinic, tmp_path / "plans" / "clinic.db")
    status, _, err = outcome("init", "sqlite:plans/clinic.db?table=visits", "-o", "plans/plan.yaml")
    assert status == 0, err
    path = tmp_path / "plans" / "plan.yaml"
    path.write_text(re.sub(r"(?m)^(  \w+):(?=  # OPEN)", r"\1: drop", path.read_text()))
    plan = read_plan("plans/plan.yaml")
    assert plan.input.path == "sqlite:clinic.db?table=visits"
    assert plan.outputs is not None
    assert plan.outputs.data == "sqlite:clinic.db?table=visits_public"
    status, _, err = outcome("run", "plans/plan.yaml")
    assert status == 0, err
    assert (tmp_path / "plans" / "visits_public.certificate.json").exists()
    status, _, err = outcome(
        "verify", "plans/visits_public.certificate.json", "sqlite:plans/clinic.db?table=visits_public"
    )
    assert status == 0, err


@pytest.mark.parametrize(
    ("input", "outputs", "says"),
    [
        ({"path": "postgresql://u:hush@h/db?table=t"}, None, "input.path: .*no place for a password"),
        ({"path": "postgresql://h/db?table=t&password=hush"}, None, "no place for a password"),
        ({"path": "a.csv"}, {"data": "postgresql://u:hush@h/db?table=t", "certificate": "c.json"}, "outputs.data"),
        ({"path": "postgresql://h/db?table=t", "query": "SELECT 1"}, None, "input.query"),
        ({"path": "a.csv", "query": "SELECT 1"}, None, "input.query: a query is for databases"),
        ({"path": "a.csv"}, {"data": "sqlite:a.db?table=t"}, "outputs: .*certificate"),
        ({"path": "sqlite:?table=t"}, None, "input.path: .*names no file"),
    ],
)
def test_plans_with_addresses_that_cannot_be_are_refused(input, outputs, says):
    document = {"version": 1, "input": input, "guarantee": {"model": "km", "k": 5, "m": 2}, "outputs": outputs}
    with pytest.raises(InputError, match=says) as raised:
        plan_of({name: value for name, value in document.items() if value is not None})
    assert "hush" not in str(raised.value)


def test_a_plan_from_arguments_has_no_password(server, visits):
    import shoal

    plan = plan_from(
        server.address(visits), shoal.KmAnonymity(5, 2), output=server.address("t"), certificate="c.json", items="codes",
        drop="id,age,sex,paid,share,insured,seen,at",
    )  # fmt: skip
    assert PASSWORD not in str(plan.model_dump())
    assert plan.columns["codes"] == "items"
