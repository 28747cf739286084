"""Evaluation of releases by all models, of hand-made pairs with known answers, and what is refused."""

from __future__ import annotations

import csv
import json

import numpy as np
import polars
import pytest

import shoal
from shoal.errors import InputError
from shoal.evaluation.between import rules_file, workload_file
from shoal.evaluation.evaluation import evaluate
from shoal.loss.queries import Among, Between, Query
from shoal.records.baskets import Baskets
from shoal.records.samples.grocery import grocery

TREE = "milk;dairy;shop\nbrie;dairy;shop\nnappies;baby;shop\nwipes;baby;shop\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with the baskets and the tree of the demo's grocery store, 2,000 of its rows."""
    folder = tmp_path_factory.mktemp("shop")
    baskets, paths = grocery()
    shoal.write(baskets.take(np.arange(2000)), folder / "raw.csv")
    (folder / "tree.csv").write_text("".join(f"{';'.join(path)}\n" for path in paths))
    return folder


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """200 made-up patients: id, age, sex, diagnoses, of which HIV and TB are sensitive."""
    rng = np.random.default_rng(4)
    codes = np.array(["A", "B", "C", "D", "E", "F"])
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "sex", "diagnoses"])
        for i in range(200):
            held = set(rng.choice(codes, rng.integers(1, 4), p=[0.35, 0.25, 0.15, 0.1, 0.1, 0.05]).tolist())
            held |= {("HIV", "TB")[i % 2]} if i % 10 < 2 else set()
            writer.writerow([i, rng.integers(20, 80), "MF"[i % 2], " ".join(sorted(held))])
    return str(path)


ROLES = {"quasi": "age,sex", "items": "diagnoses", "drop": "id"}


def figures_of(evaluation):
    """Everything that must be 0 for a file and itself."""
    found = evaluation.to_dict()
    loss, utility = found["loss"], found["utility"]
    yield from (loss[part]["ncp"] for part in ("items", "columns") if loss[part])
    yield from (loss["edits"] or {}).values()
    if utility["frequencies"]:
        yield from (utility["frequencies"][part] for part in ("mean", "weighted", "worst"))
        yield 1 - utility["frequencies"]["exact"]
    if utility["pairs"]:
        yield from (1 - utility["pairs"]["survival"], utility["pairs"]["support_error"], utility["pairs"]["lost"])
    if utility["rules"]:
        yield from (utility["rules"][part] for part in ("missed", "extra", "confidence_error"))
    for kind in utility["queries"].values():
        if kind:
            yield from (kind[part] for part in ("are", "median", "worst"))


@pytest.mark.parametrize("same_order", [True, False])
def test_a_file_and_itself_lose_nothing(shop, patients, same_order):
    sets = evaluate(str(shop / "raw.csv"), str(shop / "raw.csv"), same_order=same_order)
    table = evaluate(patients, patients, same_order=same_order, **ROLES)
    for found in (sets, table):
        figures = list(figures_of(found))
        assert len(figures) > 10
        assert not any(figures)
        risk = found.to_dict()["risk"]
        for measure in ("prosecutor", "prosecutor_m", "uniqueness"):
            assert risk[measure]["before"] == risk[measure]["after"]
        assert risk["linkage"]["before"] == risk["linkage"]["after"]
        assert found["loss.classes"]["before"] == found["loss.classes"]["after"]
    assert sets["loss.columns"] is None
    assert "quasi" in sets.not_defined["loss.columns"]


def of_ncp(release):
    return {name: release.loss[name] for name in ("ncp", "generalized", "deleted")}


@pytest.mark.parametrize("algorithm", ["exact", "hybrid", "aa"])
@pytest.mark.parametrize("between", ["hierarchy", "rules"])
def test_km_releases_lose_what_they_say(shop, tmp_path, algorithm, between):
    raw, tree, out, rules = (str(f) for f in (shop / "raw.csv", shop / "tree.csv", tmp_path / "p.csv", tmp_path / "r"))
    release = shoal.anonymize(raw, shoal.KmAnonymity(5, 2), hierarchy=tree, algorithm=algorithm)
    release.write(out, rules=rules)
    found = evaluate(raw, out, **({"hierarchy": tree} if between == "hierarchy" else {"rules": rules}))
    if between == "hierarchy":
        # 2,000 rows do not hold every product: the tree counts those that are lacking as part of the domain, the rules do not.
        if found["loss.items"].estimated:
            assert found["loss.items"].ncp == pytest.approx(release.loss["ncp"], rel=0.05)
        else:
            assert found["loss.items"].to_dict() == pytest.approx(of_ncp(release) | {"estimated": False})
    assert found["loss.items"].deleted == pytest.approx(release.loss["deleted"], rel=0.1)
    after = found.to_dict()["risk"]
    assert after["prosecutor_m"]["before"]["over"] > 0
    assert after["prosecutor_m"]["after"]["over"] == 0
    assert after["prosecutor_m"]["after"]["highest"] <= 1 / 5
    assert after["uniqueness"]["after"][-1]["over"] == 0
    assert after["linkage"]["after"]["fewer_than_k"] == 0
    assert found["utility.queries.items"]["are"] > 0
    assert found["loss.edits"] is None


def test_rows_that_correspond_leave_nothing_to_estimate(shop, tmp_path):
    raw, tree, out = str(shop / "raw.csv"), str(shop / "tree.csv"), str(tmp_path / "public.csv")
    release = shoal.anonymize(raw, shoal.KmAnonymity(5, 3), hierarchy=tree, algorithm="hybrid", keep_order=True)
    release.write(out)
    found = evaluate(raw, out, hierarchy=tree, same_order=True)
    assert release.loss["deleted"] > 0
    assert found["loss.items"].to_dict() == pytest.approx(of_ncp(release) | {"estimated": False})
    assert "generalize" in found.not_defined["loss.edits"]


@pytest.mark.parametrize("how", ["same_order", "rules"])
def test_k_releases_add_and_remove_items(patients, tmp_path, how):
    out, rules = str(tmp_path / "public.csv"), str(tmp_path / "rules.csv")
    reading = {"items": "diagnoses", "drop": "id,age,sex", "sensitive": "HIV,TB"}
    release = shoal.anonymize(patients, shoal.KAnonymity(4), keep_order=True, **reading)
    release.write(out, rules=rules)
    found = evaluate(
        patients, out, k=4, **({"same_order": True} if how == "same_order" else {"rules": rules}), **reading
    )
    assert found["loss.edits"] == pytest.approx({name: release.loss[name] for name in ("il", "added", "removed")})
    assert found["loss.items"] is None
    assert "add items" in found.not_defined["loss.items"]
    assert found["risk.prosecutor"]["after"].over == 0
    assert found["loss.classes"]["after"]["smallest"] >= 4


@pytest.mark.parametrize(
    ("promise", "more"),
    [
        (shoal.RTAnonymity(5, 2), {}),
        (shoal.RTAnonymity(5, 2), {"hierarchy": {"age": "intervals:10,20", "diagnoses": "balanced:2"}}),
        (shoal.LmDiversity(5, 3, 2), {"sensitive": "HIV,TB"}),
    ],
)
@pytest.mark.parametrize("transaction", ["local", "sets"])
def test_tables_lose_what_they_say(patients, tmp_path, promise, more, transaction):
    out, rules = str(tmp_path / "public.csv"), str(tmp_path / "rules.csv")
    release = shoal.anonymize(patients, promise, keep_order=True, transaction=transaction, **ROLES, **more)
    release.write(out, rules=rules)
    exact = evaluate(patients, out, same_order=True, **ROLES, **more)
    assert exact["loss.columns"]["ncp"] == pytest.approx(release.loss["ncp"])
    assert exact["loss.items"].ncp == pytest.approx(release.loss["items_ncp"])
    assert exact["loss.ul"]["published"] == pytest.approx(release.loss["ul"])
    guessed = evaluate(patients, out, rules=rules, **ROLES, **more)
    assert guessed["loss.columns"] == exact["loss.columns"]
    if (
        transaction == "sets"
    ):  # what became of an item in which row is not to be guessed where it differs from row to row
        assert guessed["loss.items"].ncp == pytest.approx(release.loss["items_ncp"], rel=0.15)
    for found in (exact, guessed):
        assert all(found[f"utility.queries.{kind}"] for kind in ("relational", "items", "mixed"))
        assert [one.m for one in found["risk.uniqueness"]["after"].exposures] == [0, 1, 2]
        assert found["risk.uniqueness"]["after"].exposures[-1].exposed == 0
        assert found["risk.prosecutor_m"]["after"].over == 0
        assert found["risk.linkage"].to_dict()["after"]["fewer_than_k"] == 0
        assert found["risk.linkage"].columns == ("age", "sex")


def test_a_table_without_items(patients, tmp_path):
    out = str(tmp_path / "public.jsonl")
    roles = {"quasi": "age", "sensitive": "sex", "drop": "id,diagnoses"}
    release = shoal.anonymize(patients, shoal.TableAnonymity(5, 2), **roles)
    release.write(out)
    found = evaluate(patients, out, **roles)
    assert found["loss.columns"]["ncp"] == pytest.approx(release.loss["ncp"])
    assert found["loss.items"] is None
    assert found["risk.prosecutor"]["after"].over == 0
    assert set(found.not_defined) >= {"loss.items", "utility.frequencies", "utility.pairs", "utility.queries.items"}


def test_buckets(tmp_path):
    rng = np.random.default_rng(2)
    raw, out, rules = (str(tmp_path / name) for name in ("raw.csv", "public.csv", "rules.csv"))
    with open(raw, "w") as file:
        file.write("age,sex,disease\n")
        file.writelines(
            f"{rng.integers(20, 70)},{'MF'[rng.integers(2)]},{'abcdefg'[rng.integers(7)]}\n" for _ in range(300)
        )
    roles = {"quasi": "age,sex", "sensitive": "disease"}
    release = shoal.anonymize(raw, shoal.MatchingDiversity(3), **roles)
    release.write(out, rules=rules)
    found = evaluate(raw, out, rules=rules, **roles)
    assert found["loss.ambiguity"] == pytest.approx(release.loss["ambiguity"])
    assert found["loss.columns"]["ncp"] == 0
    assert found["loss.classes"]["buckets"]["smallest"] >= 3
    assert found["utility.queries.relational"]["are"] > 0
    assert found["risk.prosecutor"]["before"] == found["risk.prosecutor"]["after"]
    assert found["utility.associations"]["rules"] > 0
    assert found["utility.associations"]["confidence_error"] > 0


def test_buckets_of_several_sensitive_columns(tmp_path):
    rng = np.random.default_rng(5)
    raw, out = (str(tmp_path / name) for name in ("raw.csv", "public.csv"))
    with open(raw, "w") as file:
        file.write("age,sex,disease,job\n")
        file.writelines(
            f"{rng.integers(20, 70)},{'MF'[rng.integers(2)]},{'abcdefg'[rng.integers(7)]},{'rstuvwx'[rng.integers(7)]}\n"
            for _ in range(300)
        )
    roles = {"quasi": "age,sex", "sensitive": ("disease", "job")}
    release = shoal.anonymize(raw, shoal.MatchingDiversity(3), algorithm="anatomy", **roles)
    release.write(out)
    found = evaluate(raw, out, **roles)
    assert found["loss.ambiguity"] == pytest.approx(release.loss["ambiguity"])
    assert found["loss.info"] == pytest.approx(release.loss["info"])
    assert found["loss.classes"]["buckets"]["smallest"] >= 3
    each = [
        evaluate(raw, out, quasi="age,sex", sensitive=one, drop=other)["utility.associations"]
        for one, other in (("disease", "job"), ("job", "disease"))
    ]
    assert found["utility.associations"]["rules"] == sum(one["rules"] for one in each)
    path = str(tmp_path / "asked.jsonl")
    with open(path, "w") as file:
        print(json.dumps({"among": {"disease": list("abcdefg"), "job": list("rstuvwx")}}), file=file)
        print(json.dumps({"among": {"disease": ["a"], "job": list("rstuvwx")}}), file=file)
    assert evaluate(raw, out, workload=path, queries=0, **roles)["utility.queries.workload"]["are"] == pytest.approx(0)


def test_a_table_of_several_sensitive_columns(patients, tmp_path):
    out = str(tmp_path / "public.csv")
    roles = {"quasi": "age", "sensitive": ("sex", "ward"), "drop": "id,diagnoses"}
    raw = polars.read_csv(patients).with_columns(ward=polars.Series([f"w{i % 4}" for i in range(200)]))
    raw.write_csv(tmp_path / "raw.csv")
    release = shoal.anonymize(tmp_path / "raw.csv", shoal.TableAnonymity(5), **roles)
    release.write(out)
    found = evaluate(tmp_path / "raw.csv", out, **roles)
    assert found["loss.columns"]["ncp"] == pytest.approx(release.loss["ncp"])
    assert found["risk.prosecutor"]["after"].over == 0


def test_names_with_blanks_are_recognised_in_fimi_text(shop, tmp_path):
    out, same = str(tmp_path / "public.dat"), str(tmp_path / "public.jsonl")
    release = shoal.anonymize(shop / "raw.csv", shoal.KmAnonymity(5, 2), hierarchy=shop / "tree.csv", keep_order=True)
    release.write(out)
    release.write(same)
    assert any(" " in name for name in release.published.vocabulary)
    found, expected = (
        evaluate(shop / "raw.csv", file, hierarchy=shop / "tree.csv", same_order=True).to_dict() for file in (out, same)
    )
    assert {name: found[name] for name in ("kept", "loss", "utility", "risk")} == {
        name: expected[name] for name in ("kept", "loss", "utility", "risk")
    }
    # Where two names read the same, nobody knows which was meant.
    original = Baskets.from_rows([["whole milk", "whole\tmilk"], ["whole milk", "a_b"]])
    with pytest.raises(InputError, match="1 published item is neither"):
        evaluate(original, Baskets.from_rows([["whole_milk"], ["a_b"]]))
    found = evaluate(original, Baskets.from_rows([["a_b"], ["whole milk"]]))
    assert found["kept.exact"] == 0.5


def test_a_pair_by_hand():
    """16 baskets of four products. brie, rare, becomes dairy, and so does milk; two wipes are gone."""
    rows = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3
    shown = [["dairy", "nappies"]] * 6 + [["dairy", "wipes"]] * 5 + [["dairy"]] * 5
    original, published = Baskets.from_rows(rows), Baskets.from_rows(shown[::-1])
    tree = shoal.Hierarchy.from_parents(
        [4, 4, 5, 5, 6, 6, -1], ["milk", "brie", "nappies", "wipes", "dairy", "baby", "shop"]
    )
    found = evaluate(original, published, hierarchy=tree, k=5, m=1).to_dict()
    # 16 of 29 occurrences cost 2/4, 2 of 29 are gone.
    assert found["loss"]["items"]["generalized"] == pytest.approx(16 * 0.5 / 29)
    assert found["loss"]["items"]["deleted"] == pytest.approx(2 / 29)
    # dairy stands in 16 rows: 8 milks where there were 14, 8 bries for 2; nappies are right, 5 wipes for 7.
    errors = [6 / 14, 6 / 2, 0, 2 / 7]
    assert found["utility"]["frequencies"]["mean"] == pytest.approx(sum(errors) / 4)
    assert found["utility"]["frequencies"]["exact"] == 0.25
    # milk & nappies 6, milk & wipes 5, brie & wipes 2; suggested are 3, 2.5 and 2.5, and 3 for brie & nappies.
    assert found["utility"]["pairs"]["top"] == 3
    assert found["utility"]["pairs"]["support_error"] == pytest.approx((3 / 6 + 2.5 / 5 + 0.5 / 2) / 3)
    assert found["utility"]["pairs"]["survival"] == 1.0
    assert found["risk"]["prosecutor_m"]["before"]["over"] == 2
    assert found["risk"]["prosecutor_m"]["after"]["over"] == 0
    assert found["loss"]["classes"]["after"]["discernibility"] == 6**2 + 5**2 + 5**2


def test_the_order_of_rows_does_not_matter_and_the_seed_does(shop, tmp_path):
    raw, tree, out = str(shop / "raw.csv"), str(shop / "tree.csv"), str(tmp_path / "public.csv")
    shoal.anonymize(raw, shoal.KmAnonymity(5, 2), hierarchy=tree).write(out)
    published = shoal.read(out)
    turned = published.take(np.arange(len(published))[::-1])
    one, other, third = (
        evaluate(shoal.read(raw), data, hierarchy=tree, seed=seed).to_dict()
        for data, seed in ((published, 0), (turned, 0), (published, 1))
    )
    for found in (one, other):
        found["published"].pop("sha256")
    assert _close(one, other)
    assert third["utility"]["queries"] != one["utility"]["queries"]


def _close(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return one == pytest.approx(other) if isinstance(one, float) else one == other


def test_the_document_names_the_ten_commonest_items_alone_and_is_plain_json(shop, tmp_path):
    raw, tree, out = str(shop / "raw.csv"), str(shop / "tree.csv"), str(tmp_path / "public.csv")
    shoal.anonymize(raw, shoal.KmAnonymity(5, 2), hierarchy=tree).write(out)
    found = evaluate(raw, out, hierarchy=tree).to_dict()
    text, baskets = json.dumps(found, allow_nan=False), shoal.read(raw)
    common = sorted(zip(-baskets.supports(), range(len(baskets.vocabulary)), baskets.vocabulary, strict=True))[:10]
    assert [one["item"] for one in found["kept"]["items"]["commonest"]] == [name for _, _, name in common]
    assert {name for name in baskets.vocabulary if f'"{name}"' in text} == {name for _, _, name in common}


def test_own_queries(patients, tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text(
        '{"items": ["A", "B"], "between": {"age": [20, 30]}, "among": {"sex": ["F"]}}\n\n{"among": {"sex": ["M"]}}\n'
    )
    assert workload_file(path) == (
        Query((Between("age", 20.0, 30.0), Among("sex", frozenset({"F"}))), frozenset({"A", "B"})),
        Query((Among("sex", frozenset({"M"})),)),
    )
    found = evaluate(patients, patients, workload=path, queries=0, **ROLES)
    exact = {"are": 0.0, "median": 0.0, "worst": 0.0}
    assert found["utility.queries.workload"] == {"queries": 2, **exact, "paper": exact}
    assert found["utility.queries.items"] is None
    for line, complaint in (
        ('{"items": ["A", "Z"]}', "asks for 1 item that the original does not hold"),
        ('{"among": {"zip": ["4711"]}}', "no column 'zip'"),
        ('{"between": {"sex": [1, 2]}}', "'sex' is not numeric"),
    ):
        path.write_text(f"{line}\n")
        with pytest.raises(InputError, match=complaint):
            evaluate(patients, patients, workload=path, **ROLES)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"items": ["A"', "line 2 is not JSON"),
        ("[1]", "line 2: a query is an object"),
        ('{"item": ["A"]}', "line 2: it has a key that is not known in a query"),
        ('{"items": "A"}', "line 2: items are a list"),
        ('{"items": []}', "line 2: the query asks for nothing"),
        ('{"between": {"age": [20]}}', "line 2: between 'age' takes two numbers"),
        ('{"between": {"age": [30, 20]}}', "line 2: column 'age': there is no number from 30"),
        ('{"between": [20, 30]}', "line 2: between is an object of columns"),
        ('{"among": {"sex": []}}', "line 2: among 'sex' takes a list"),
    ],
)
def test_a_bad_query_is_named_by_its_line(tmp_path, line, complaint):
    path = tmp_path / "asked.jsonl"
    path.write_text(f'{{"items": ["A"]}}\n{line}\n')
    with pytest.raises(InputError, match=complaint):
        workload_file(path)


def test_files_that_are_no_workload_and_no_rules(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\n")
    with pytest.raises(InputError, match="holds no query"):
        workload_file(path)
    with pytest.raises(InputError, match="line 1 is not the header of a rules file"):
        rules_file(path)
    path.write_bytes(b"ok\n\xff\xfe\n")
    with pytest.raises(InputError, match="line 2 is not UTF-8"):
        workload_file(path)
    path.write_text("item,published\na,b\nc\n")
    with pytest.raises(InputError, match="line 3 has 1 cells"):
        rules_file(path)
    path.write_text("class,rows,added,removed,published\n1,5,x,2,a\n")
    with pytest.raises(InputError, match="line 2: items added and removed are whole numbers"):
        rules_file(path)
    with pytest.raises(InputError, match="no such file"):
        rules_file(tmp_path / "nowhere.csv")


def test_rules_files_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "rules.csv"
    path.write_text('item,published\n\'=a,"b,c"\n\'-x,"b,c"\nmilk,milk\nrare,\n')
    found = rules_file(path)
    assert (found.model, found.items_of, found.dropped) == ("km", {"b,c": ("=a", "-x"), "milk": ("milk",)}, ("rare",))


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"k": 0}, "k must be"),
        ({"m": 0}, "m must be"),
        ({"seed": -1}, "seed must be"),
        ({"hierarchy": {"age": "mask"}}, "no column 'age' for hierarchy="),
        ({"hierarchy": "nowhere.csv"}, "neither a file nor a known form"),
        ({"keep": "x"}, "keep= is for the columns of tables"),
        ({"sensitive": "caviar"}, "not occur in the data"),
    ],
)
def test_refusals(asked, complaint):
    baskets = Baskets.from_rows([["a", "b"], ["a"]])
    with pytest.raises(InputError, match="only one of the two files can come from standard input"):
        evaluate("-", "-")
    with pytest.raises(InputError, match=complaint):
        evaluate(baskets, baskets, **asked)


def test_a_misspelt_keyword_is_refused_with_the_one_that_may_be_meant():
    with pytest.raises(InputError, match="is hierarchy meant"):
        evaluate([["a"]], [["a"]], hierachy="tree.csv")
    with pytest.raises(InputError, match="is separator meant"):
        shoal.profile([["a"]], separater="|")


def test_pairs_that_do_not_belong_together(tmp_path):
    original = Baskets.from_rows([["a", "b"], ["a"]])
    with pytest.raises(InputError, match="give the hierarchy or the rules"):
        evaluate(original, Baskets.from_rows([["dairy"]]))
    with pytest.raises(InputError, match="rows do not correspond"):
        evaluate(original, Baskets.from_rows([["a"]]), same_order=True)
    with pytest.raises(InputError, match="has no rows"):
        evaluate(Baskets.from_rows([]), original)
    path = tmp_path / "rules.csv"
    path.write_text("item,published\nz,dairy\n")
    with pytest.raises(InputError, match="the rules name 1 item"):
        evaluate(original, Baskets.from_rows([["dairy"]]), rules=path)


@pytest.mark.parametrize("rows", [[[], []], [["a"]], [["a", "b"]] * 5, [["a"], ["b"], ["c"]]])
def test_small_and_odd_data(rows):
    baskets = Baskets.from_rows(rows)
    found = evaluate(baskets, baskets, same_order=True)
    assert not any(figures_of(found))
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_release_of_nothing():
    original = Baskets.from_rows([["a"], ["a", "b"]])
    found = evaluate(original, Baskets.from_rows([[], []])).to_dict()
    assert found["loss"]["items"]["deleted"] == 1.0
    assert found["utility"]["frequencies"]["weighted"] == 1.0
    assert found["risk"]["linkage"]["after"]["not_found"] == 2
    fewer = evaluate(original, Baskets.from_rows([["a"]]))
    assert fewer.notes == ("the release has 1 row fewer than the original",)


@pytest.mark.parametrize("algorithm", ["exact", "hybrid", "lra"])
def test_what_is_kept_is_what_the_release_says(algorithm, tmp_path):
    random = np.random.default_rng(7)
    rows = [{f"{int(40 * x * x)}" for x in random.random(4)} for _ in range(600)]
    data, out = Baskets.from_rows(rows), str(tmp_path / "public.csv")
    how = {"hierarchy": "balanced:3", "algorithm": algorithm}
    release = shoal.anonymize(data, shoal.KmAnonymity(4, 2), keep_order=True, **how)
    release.write(out)
    found = evaluate(data, out, hierarchy="balanced:3", same_order=True, k=4)
    assert found["loss.info"] == pytest.approx(release.loss["info"])
    assert found["kept.info"] == pytest.approx(1 - release.loss["info"])
    assert {name: found[f"kept.{name}"] for name in release.kept} == pytest.approx(dict(release.kept))
    assert found["kept.estimated"] is False
    guessed = evaluate(data, out, hierarchy="balanced:3", k=4)
    assert guessed["kept.exact"] == pytest.approx(release.kept["exact"])
    assert guessed["kept.pairs"] == found["kept.pairs"]
    assert guessed["loss.info"] == pytest.approx(release.loss["info"], abs=1e-9 if algorithm == "exact" else 0.05)
    if algorithm != "hybrid":  # where it depends on which items were deleted
        assert guessed["kept.estimated"] is (algorithm == "lra")
