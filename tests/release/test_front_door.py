"""The front door has what the command line has."""

import json
import random

import pandas as pd
import pytest

import shoal

SETS = [["tea", "milk"], ["tea"], ["milk", "bread"], ["tea", "bread"]] * 5


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    draw = random.Random(3)
    sexes = [draw.choice("MF") for _ in range(200)]
    return pd.DataFrame(
        {
            "age": [draw.randint(20, 60) for _ in range(200)],
            "sex": sexes,
            "codes": ["|".join(draw.sample("abcdefgh", 3)) for _ in range(200)],
            "job": [draw.choice(["w", "x", "y", "z"]) if sex == "M" else draw.choice("xy") for sex in sexes],
        }
    )


def test_every_public_name_is_there_and_nothing_else_is_listed():
    assert len(shoal.__all__) == len(set(shoal.__all__))
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
        assert name in dir(shoal)


def test_algorithms_side_by_side():
    promises = [shoal.KmAnonymity(3, 2), shoal.KmAnonymity(99, 2)]
    found = shoal.compare(SETS, promises, ["local", "exact", "pta"])
    assert [row["status"] for row in found] == ["done", "done", "refused", "unreachable", "unreachable", "refused"]
    frame = found.to_pandas()
    assert frame.equals(found.to_polars().to_pandas().astype(frame.dtypes.to_dict())) or len(frame) == 6
    assert list(frame["algorithm"]) == ["local", "exact", "pta"] * 2
    assert found.best.loss["info"] == min(r.loss["info"] for r in found.releases if r is not None)
    json.dumps(found.to_dict())
    with pytest.raises(shoal.Unreachable):
        _ = shoal.compare(SETS, shoal.KmAnonymity(99, 2), "local").best
    with pytest.raises(shoal.InputError, match="algorithms="):
        shoal.compare(SETS, promises, algorithm="local")
    with pytest.raises(shoal.InputError, match="is hierarchy meant"):
        shoal.compare(SETS, promises, heirarchy="prefix")
    with pytest.raises(shoal.InputError, match="no guarantee"):
        shoal.compare(SETS, [])
    with pytest.raises(shoal.InputError, match="is 'local' meant"):
        shoal.compare(SETS, promises, ["locl", "exact"])


def test_all_algorithms_of_a_model_are_compared_unless_named():
    found = shoal.compare(SETS, shoal.KmAnonymity(3, 2))
    assert {"local", "exact", "hybrid"} <= {row["algorithm"] for row in found}


def test_attacks_find_whom_a_release_hides_and_whom_raw_data_give_away(people):
    release = shoal.anonymize(SETS, shoal.KmAnonymity(5, 2))
    assert not shoal.attack(release, raw=SETS, k=5, m=2)
    rare = [*SETS, ["saffron", "truffle"]]
    found = shoal.attack(rare, raw=rare, k=5, m=2)
    assert found
    assert found.kind == "linkage"
    json.dumps(found.to_dict())
    sure = shoal.attack(people, quasi=["age", "sex"], sensitive="job", drop="codes")
    assert sure.kind == "homogeneity"
    assert "<svg" in sure.svg()
    buckets = shoal.anonymize(
        people, shoal.MatchingDiversity(2), quasi=["age", "sex"], sensitive="job", drop="codes", algorithm="anatomy"
    )
    known = shoal.attack(buckets.to_pandas(), raw=people, quasi=["age", "sex"], sensitive="job", drop="codes", l=2)
    assert known.kind == "background"
    with pytest.raises(shoal.InputError, match="raw="):
        shoal.attack(release)
    with pytest.raises(shoal.InputError, match="is sample meant"):
        shoal.attack(release, samples=3)


def test_rules_are_mined_as_on_the_command_line(people):
    found = shoal.rules(people, quasi=["age", "sex"], sensitive="job", drop="codes")
    assert {(tuple(rule.conditions.items()), rule.value) for rule in found} >= {
        ((("sex", "F"),), "w"),
        ((("sex", "F"),), "z"),
    }


def test_a_draft_becomes_keywords_and_yaml(people, tmp_path):
    draft = shoal.draft(people.drop(columns="job"))
    assert draft.model == "rt"
    release = shoal.anonymize(people.drop(columns="job"), shoal.RTAnonymity(5, 2), **draft.keywords())
    assert release.audit
    path = tmp_path / "people.csv"
    people.drop(columns="job").to_csv(path, index=False)
    assert "columns:" in shoal.draft(path).to_yaml()
    unsure = shoal.draft(people)
    if unsure.open:
        with pytest.raises(shoal.InputError, match="leaves them open"):
            unsure.keywords()
    with pytest.raises(shoal.InputError, match="has no columns"):
        shoal.draft(SETS)


def test_trees_are_built_and_learned_over_any_data():
    tree = shoal.build_hierarchy(SETS, "balanced:2")
    assert sorted(tree.labels[: tree.n_leaves]) == ["bread", "milk", "tea"]
    learned = shoal.learn_hierarchy(SETS, shoal.KmAnonymity(3, 2), children=2)
    assert learned.source == "learned:2"
    assert shoal.anonymize(SETS, shoal.KmAnonymity(3, 2), hierarchy=learned).audit
    with pytest.raises(shoal.InputError, match="children"):
        shoal.learn_hierarchy(SETS, shoal.KmAnonymity(3, 2), children=1)


def test_an_estimate_of_all_rows_is_what_the_release_keeps(people):
    release = shoal.anonymize(SETS, shoal.KmAnonymity(3, 2))
    found = shoal.estimate(SETS, shoal.KmAnonymity(3, 2))
    assert found.sample == found.rows == len(SETS)
    assert found.kept["info"].low == found.kept["info"].high == pytest.approx(1 - release.loss["info"])
    table = shoal.estimate(people, shoal.TableAnonymity(5), quasi=["age", "sex"], drop=["codes", "job"])
    assert 0 <= table.kept["info"].low <= table.kept["info"].high <= 1


def test_a_promise_that_says_nothing_is_warned_of():
    for promise in (shoal.KmAnonymity, shoal.RTAnonymity):
        with pytest.warns(UserWarning, match="k = 1") as heard:
            promise(k=1, m=2)
        assert heard[0].filename == __file__


def test_a_release_tells_evaluate_and_attack_how_it_was_made(people):
    tree = {"drinks": ["tea", "milk"], "food": ["bread"]}
    rows = [*SETS, ["gin", "tea"]]
    for asked in ({"hierarchy": tree, "unknown": "root"}, {"hierarchy": "learned:2", "algorithm": "exact"}):
        release = shoal.anonymize(rows, shoal.KmAnonymity(7, 2), **asked)
        found = shoal.evaluate(rows, release, queries=0, sample=0)
        assert (found.k, found.m) == (7, 2)
        assert found["kept.exact"] == pytest.approx(release.kept["exact"])
        assert not shoal.attack(release, raw=rows)
    table = shoal.anonymize(
        people,
        shoal.TableAnonymity(5, l=2),
        quasi="age,sex",
        sensitive="job",
        drop="codes",
        hierarchy={"age": "bands:10"},
    )
    assert shoal.evaluate(people, table, queries=0)["kept.cells"] == pytest.approx(table.kept["cells"])
    assert shoal.attack(table).kind == "homogeneity"
    assert shoal.attack(table, raw=people).kind == "linkage"
    assert shoal.evaluate(people, table, k=3, queries=0).k == 3


def test_a_plan_may_be_run_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shoal.write(shoal.read(SETS), "sets.csv")
    (tmp_path / "plan.yaml").write_text("version: 1\ninput: {path: sets.csv}\nguarantee: {model: km, k: 3, m: 2}\n")
    assert shoal.run("plan.yaml", progress=True).audit


def test_columns_may_be_named_by_numbers():
    frame = pd.DataFrame([[20, "f", "x"], [30, "m", "y"]] * 5)
    found = shoal.anonymize(frame, shoal.TableAnonymity(5), quasi=[0, 1], drop=2)
    assert list(found.to_pandas().columns) == ["0", "1"]


def test_a_draft_of_a_frame_says_that_its_data_need_a_path(people):
    assert "  path: data.parquet  # the DataFrame has none" in shoal.draft(people).to_yaml()
