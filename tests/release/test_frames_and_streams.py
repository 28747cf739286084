"""Python at home: releases as frames, streams and pickles, and frames, streams and objects as input."""

import io
import json
import pickle
import random

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal

N = 300


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    draw = random.Random(2)
    codes = [f"c{i}" for i in range(12)]
    return pd.DataFrame(
        {
            "age": [draw.randint(18, 90) for _ in range(N)],
            "children": pd.array([draw.choice([0, 1, 2, None]) for _ in range(N)], dtype="Int64"),
            "codes": [draw.sample(codes, draw.randint(1, 4)) for _ in range(N)],
            "diagnosis": [draw.choice("wxyz") for _ in range(N)],
        }
    )


QUASI = ["age", "children"]
CASES = {
    "km": (shoal.KmAnonymity(5, 2), ["codes"], {}),
    "exact": (shoal.KmAnonymity(5, 2), ["codes"], {"algorithm": "exact"}),
    "k": (shoal.KAnonymity(5), ["codes"], {}),
    "table": (shoal.TableAnonymity(5), [*QUASI, "diagnosis"], {"quasi": QUASI, "keep": "diagnosis"}),
    "rt": (
        shoal.RTAnonymity(5, 2),
        [*QUASI, "codes", "diagnosis"],
        {"quasi": QUASI, "items": "codes", "keep": "diagnosis"},
    ),
    "lm": (
        shoal.LmDiversity(5, 2, 2),
        [*QUASI, "codes", "diagnosis"],
        {"quasi": QUASI, "items": "codes", "sensitive": "diagnosis"},
    ),
    "diversity": (
        shoal.MatchingDiversity(2),
        [*QUASI, "diagnosis"],
        {"quasi": QUASI, "sensitive": "diagnosis", "algorithm": "anatomy"},
    ),
}


@pytest.fixture(scope="module", params=CASES)
def release(request, frame) -> shoal.Release:
    guarantee, columns, keywords = CASES[request.param]
    return shoal.anonymize(frame[columns], guarantee, **keywords)


def rows_in(table) -> list[str]:
    """The rows of any frame, as texts, in an order of their own."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = [sorted(cell) if isinstance(cell, list) else cell for cell in column.to_pylist()]
    return sorted(json.dumps(row) for row in zip(*columns.values(), strict=True))


def test_all_frames_hold_the_published_rows(release):
    table = release.to_arrow()
    assert len(table) == N
    assert release.to_polars().columns == list(release.to_pandas().columns) == table.column_names
    expected = rows_in(table)
    assert rows_in(pa.table(release)) == expected  # by its Arrow stream
    assert rows_in(pl.DataFrame(release).to_arrow()) == expected
    assert rows_in(shoal.to_arrow(release)) == rows_in(shoal.to_polars(release).to_arrow()) == expected
    assert rows_in(pa.table(release.published)) == rows_in(shoal.to_arrow(release.published))
    assert rows_in(pa.Table.from_pandas(release.to_pandas(), preserve_index=False)) == expected
    buffer = io.BytesIO()
    release.write(buffer, format="parquet")
    assert rows_in(pa.parquet.read_table(io.BytesIO(buffer.getvalue()))) == expected


def test_numbers_stay_whole_where_some_are_missing(frame):
    release = shoal.anonymize(
        frame[[*QUASI, "diagnosis"]], shoal.TableAnonymity(5), quasi=["age"], keep=["children", "diagnosis"]
    )
    made = release.to_pandas()
    assert str(made["children"].dtype) == "Int64"
    assert sorted(made["children"].dropna()) == sorted(frame["children"].dropna())


def test_a_pickled_release_is_the_same_release(release, tmp_path):
    again = pickle.loads(pickle.dumps(release))
    assert repr(again) == repr(release)
    assert rows_in(again.to_arrow()) == rows_in(release.to_arrow())
    assert list(again.rules()) == list(release.rules())
    written = again.write(tmp_path / "again.csv", rules=tmp_path / "rules.csv")
    assert written.sha256 == json.loads((tmp_path / "again.csv.certificate.json").read_text())["output"]["sha256"]
    assert pickle.loads(pickle.dumps(release.audit)) == release.audit


def test_the_certificate_of_rows_verifies_in_every_frame_and_no_other(release, tmp_path):
    proof = release.certificate()
    json.dumps(proof)
    mixed = release.to_pandas().sample(frac=1, random_state=3)
    release.to_polars().write_parquet(tmp_path / "rows.parquet")
    for data in (release, release.to_polars(), release.to_arrow(), mixed, tmp_path / "rows.parquet"):
        found = shoal.verify(proof, data)
        assert not [check.name for check in found.checks if check.holds is False]
    fewer = shoal.verify(json.dumps(proof).encode(), mixed.iloc[1:])
    assert not fewer
    assert "file" in [check.name for check in fewer.checks if check.holds is False]


def test_what_load_records_gives_is_a_frame_too():
    found = shoal.load_records(pd.DataFrame({"age": [20, 30], "codes": [["a"], ["b"]]}), quasi="age", items="codes")
    assert pl.DataFrame(found).columns == ["age", "codes"]
    assert len(repr(found)) < 100


def test_open_files_are_verified_as_paths_are(release):
    data, proof = io.BytesIO(), io.BytesIO()
    release.write(data, proof, format="csv")
    data.seek(0)
    assert not [check.name for check in shoal.verify(proof.getvalue(), data).checks if check.holds is False]
    assert data.tell() == 0
    data.write(b"x")
    data.seek(0)
    assert not shoal.verify(proof.getvalue(), data)
    rows = io.BytesIO()
    release.write(rows, format="parquet")
    rows.seek(0)
    assert not [check.name for check in shoal.verify(release.certificate(), rows).checks if check.holds is False]


def test_the_certificate_of_a_file_is_not_for_frames(release, tmp_path):
    release.write(tmp_path / "rows.csv")
    with pytest.raises(shoal.InputError, match="known by its bytes"):
        shoal.verify(tmp_path / "rows.csv.certificate.json", release.to_pandas())


def test_a_release_goes_to_open_files_with_its_certificate(release, tmp_path):
    data, proof = io.BytesIO(), io.StringIO()
    written = release.write(data, proof, format="csv")
    (tmp_path / "release.csv").write_bytes(data.getvalue())
    (tmp_path / "proof.json").write_text(proof.getvalue())
    assert written.sha256 == json.loads(proof.getvalue())["output"]["sha256"]
    found = shoal.verify(tmp_path / "proof.json", tmp_path / "release.csv")
    assert not [check.name for check in found.checks if check.holds is False]
    text = io.StringIO()
    release.write(text, format="jsonl")
    assert len(text.getvalue().splitlines()) == N


def test_open_files_have_no_place_for_what_is_the_owners(release, tmp_path):
    with pytest.raises(shoal.InputError, match="written to a path"):
        release.write(io.BytesIO(), rules=tmp_path / "rules.csv", format="csv")
    with pytest.raises(shoal.InputError, match="binary mode"):
        release.write(io.StringIO(), format="parquet")
    with pytest.raises(shoal.InputError, match="open file"):
        release.write(tmp_path / "a.csv", io.BytesIO())
    assert not list(tmp_path.iterdir())


SETS = [["tea", "milk"], ["tea"], ["milk", "bread"], ["tea", "bread"]] * 5


@pytest.mark.parametrize(
    "given",
    [
        io.BytesIO(b"tea milk\ntea\nmilk bread\ntea bread\n" * 5),
        io.StringIO("tea milk\ntea\nmilk bread\ntea bread\n" * 5),
    ],
    ids=["bytes", "text"],
)
def test_open_files_are_read_and_left_where_they_stood(given):
    for _ in range(2):
        assert sorted(map(sorted, shoal.read(given, format="dat"))) == sorted(map(sorted, SETS))
    assert given.tell() == 0
    assert shoal.anonymize(given, shoal.KmAnonymity(2, 2), format="dat").audit


def test_an_open_table_is_read_by_its_name(tmp_path, frame):
    path = tmp_path / "people.csv"
    frame[[*QUASI, "diagnosis"]].to_csv(path, index=False)
    for mode in ("rb", "r"):
        with open(path, mode) as file:
            release = shoal.anonymize(file, shoal.TableAnonymity(5), quasi=QUASI, keep="diagnosis")
        assert release.rows == N
    parquet = io.BytesIO()
    pl.DataFrame({"items": SETS}).write_parquet(parquet)
    parquet.seek(0)
    assert len(shoal.read(parquet, format="parquet")) == len(SETS)


def test_what_can_be_read_once_only_is_refused():
    class Pipe(io.RawIOBase):
        def readable(self):
            return True

    with pytest.raises(shoal.InputError, match="once only"):
        shoal.read(Pipe(), format="dat")
    with pytest.raises(shoal.InputError, match="does not tell a format"):
        shoal.read(io.BytesIO(b"tea\n"))


def test_lazy_frames_and_relations_are_read(frame):
    lazy = pl.LazyFrame({"items": SETS})
    assert shoal.anonymize(lazy, shoal.KmAnonymity(2, 2)).rows == len(SETS)
    table = pl.from_pandas(frame[[*QUASI, "diagnosis"]]).lazy()
    assert shoal.anonymize(table, shoal.TableAnonymity(5), quasi=QUASI, keep="diagnosis").rows == N
    assert shoal.audit(lazy, shoal.KmAnonymity(2, 1))


def test_relations_of_duckdb_are_read_and_releases_are_tables_there(frame):
    duckdb = pytest.importorskip("duckdb")
    people = frame[[*QUASI, "diagnosis"]]  # noqa: F841 - DuckDB finds it by its name
    relation = duckdb.sql("select age, children, diagnosis from people")
    release = shoal.anonymize(relation, shoal.TableAnonymity(5), quasi=QUASI, keep="diagnosis")
    published = release.to_arrow()  # noqa: F841
    assert duckdb.sql("select count(*) from published").fetchall() == [(N,)]


ONE_HOT = pd.DataFrame(
    {
        "tea": [True, True, False, True] * 5,
        "milk": [1, 0, 1, 0] * 5,
        "bread": ["0", "", "1", "true"] * 5,
        "age": [20, 30, 20, 30] * 5,
    }
)


def test_one_hot_columns_are_items():
    expected = [["milk", "tea"], ["tea"], ["bread", "milk"], ["bread", "tea"]] * 5
    release = shoal.anonymize(ONE_HOT, shoal.KmAnonymity(1, 1), one_hot=True, drop="age", keep_order=True)
    assert [sorted(row) for row in release.published] == expected
    assert shoal.audit(ONE_HOT, shoal.KmAnonymity(5, 2), one_hot=True, drop="age")
    assert shoal.profile(ONE_HOT, m=1, one_hot=True, drop="age").items == 3
    table = shoal.anonymize(ONE_HOT, shoal.RTAnonymity(5, 1), one_hot=True, quasi="age")
    assert table.to_pandas().columns.tolist() == ["age", "items"]
    named = shoal.anonymize(
        ONE_HOT, shoal.RTAnonymity(5, 1), one_hot=True, quasi="age", items=["tea", "milk"], drop="bread"
    )
    assert set(named.published.items.vocabulary) <= {"tea", "milk", "*"}
    assert shoal.evaluate(ONE_HOT, release, same_order=True)["kept.exact"] == 1
    assert not shoal.attack(release, raw=ONE_HOT, k=5)
    sparse = pd.DataFrame({"tea": [1, 1, 0], "milk": [0, 1, 1]}).astype("Sparse[int]")
    assert [
        len(row) for row in shoal.anonymize(sparse, shoal.KmAnonymity(1, 1), one_hot=True, keep_order=True).published
    ] == [1, 2, 1]


def test_what_says_neither_yes_nor_no_is_no_item(tmp_path):
    with pytest.raises(shoal.InputError, match="'age' does not say yes or no"):
        shoal.anonymize(ONE_HOT.assign(age="old"), shoal.KmAnonymity(1, 1), one_hot=True)
    with pytest.raises(
        shoal.InputError, match="'age' does not say yes or no"
    ):  # a number that nobody spoke of is no count
        shoal.anonymize(ONE_HOT, shoal.KmAnonymity(1, 1), one_hot=True)
    counts = shoal.anonymize(ONE_HOT, shoal.KmAnonymity(1, 1), one_hot=True, items=["tea", "age"], drop="milk,bread")
    assert "age" in counts.published.vocabulary
    with pytest.raises(shoal.InputError, match="no column 'coffee'"):
        shoal.anonymize(ONE_HOT, shoal.RTAnonymity(5, 1), one_hot=True, quasi="age", items=["coffee"])
    with pytest.raises(shoal.InputError, match="has no columns"):
        shoal.anonymize(SETS, shoal.KmAnonymity(1, 1), one_hot=True)
    path = tmp_path / "hot.csv"
    ONE_HOT[["tea", "bread"]].to_csv(path, index=False)
    assert shoal.anonymize(path, shoal.KmAnonymity(1, 1), one_hot=True).rows == 20


TREE = {"drinks": {"hot": ["tea"], "cold": ["milk"]}, "bread": None}


@pytest.mark.parametrize(
    "tree",
    [
        TREE,
        {"*": TREE},
        pd.DataFrame(
            {"item": ["tea", "milk", "bread"], "kind": ["hot", "cold", None], "of": ["drinks", "drinks", None]}
        ),
        pl.DataFrame({"parent": ["hot", "cold", "drinks", "drinks"], "child": ["tea", "milk", "hot", "cold"]}).vstack(
            pl.DataFrame({"parent": [None], "child": ["bread"]}, schema={"parent": pl.String, "child": pl.String})
        ),
    ],
    ids=["dict", "rooted", "levels", "links"],
)
def test_hierarchies_come_as_dicts_and_frames(tree):
    if isinstance(tree, pd.DataFrame):
        tree = tree.drop(index=2)  # a value that stands alone has no row in a table of levels
        made = shoal.read_hierarchy(tree)
        assert sorted(made.labels[: made.n_leaves]) == ["milk", "tea"]
        return
    made = shoal.read_hierarchy(tree)
    assert sorted(made.labels[: made.n_leaves]) == ["bread", "milk", "tea"]
    assert made.height == 3
    assert shoal.anonymize(SETS, shoal.KmAnonymity(2, 2), hierarchy=tree).audit
    people = pd.DataFrame({"age": [20, 30] * 10, "items": SETS})
    release = shoal.anonymize(people, shoal.RTAnonymity(2, 2), quasi="age", hierarchy={"items": tree})
    assert release.audit


def test_objects_that_are_no_trees_are_refused():
    for tree in (5, {"a": 5}, {"a": object()}, pd.DataFrame({"a": ["x"]})):
        with pytest.raises(shoal.InputError, match="hierarchy in the"):
            shoal.read_hierarchy(tree)
    with pytest.raises(shoal.InputError, match="for files"):
        shoal.read_hierarchy({"a": ["b"]}, root="*")


def test_days_in_pandas_stay_days():
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01", None] * 5)
    people = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "seen": days})
    release = shoal.anonymize(people, shoal.TableAnonymity(5), quasi=["age", "seen"])
    assert set(release.to_pandas()["seen"].dropna()) == {"2024-01-01", "2024-02-01", "2024-03-01"}
    times = people.assign(seen=people["seen"] + pd.Timedelta(hours=3))
    release = shoal.anonymize(times, shoal.TableAnonymity(5), quasi=["age", "seen"])
    assert "*" not in set(release.to_pandas()["seen"].dropna()) or release.notes


def test_a_release_is_audited_as_it_is(release):
    assert shoal.audit(release, release.guarantee)


def test_what_is_no_data_is_refused_in_a_sentence():
    with pytest.raises(shoal.InputError, match="None"):
        shoal.anonymize(None, shoal.KmAnonymity(2, 2))
    with pytest.raises(shoal.InputError, match="not columns of one length"):
        shoal.anonymize({"items": [["a"], 5]}, shoal.KmAnonymity(2, 2))
    release, closed = shoal.anonymize(SETS, shoal.KmAnonymity(2, 2)), io.BytesIO()
    closed.close()
    with pytest.raises(shoal.InputError, match="is closed"):
        release.write(closed, format="csv")
    assert len(shoal.read({"items": SETS})) == len(SETS)
