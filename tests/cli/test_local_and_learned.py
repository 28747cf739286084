"""Local recoding and learned hierarchies from the command line, through audit, verification and evaluation."""

from __future__ import annotations

import json
import random

import pytest

import shoal
from shoal import Baskets


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with raw.csv: 400 rows over 24 items, the last ones rare."""
    monkeypatch.chdir(tmp_path)
    lots = random.Random(4)
    names = [f"i{n:02}" for n in range(24)]
    rows = [lots.choices(names, [1 / (n + 1) for n in range(24)], k=lots.randint(1, 5)) for _ in range(400)]
    shoal.write(Baskets.from_rows(rows), "raw.csv")
    return tmp_path


def test_a_learned_tree_is_named_in_the_certificate_and_can_be_evaluated(shop, run):
    code, out, _ = run(
        "anonymize", "raw.csv", "--hierarchy", "learned:4", "--algorithm", "exact", "-o", "public.csv", "--json"
    )
    facts = json.loads(out)
    assert (code, facts["holds"], facts["hierarchy"]["source"]) == (0, True, "learned:4")
    certificate = json.loads((shop / "public.csv.certificate.json").read_text())
    assert any("learned from the data" in warning for warning in certificate["warnings"])
    assert run("verify", "public.csv.certificate.json", "public.csv")[0] == 0
    _, out, _ = run("evaluate", "raw.csv", "public.csv", "--hierarchy", "learned:4", "--queries", "0", "--json")
    assert json.loads(out)["loss"]["items"]["ncp"] == pytest.approx(facts["loss"]["ncp"])
    _, out, _ = run(
        "anonymize", "raw.csv", "--hierarchy", "frequency:4", "--algorithm", "exact", "-o", "other.csv", "--json"
    )
    assert facts["loss"]["info"] <= json.loads(out)["loss"]["info"]


def test_a_learned_tree_can_be_written_down_and_used(shop, run):
    code, _, _ = run("hierarchy", "build", "raw.csv", "--hierarchy", "learned:4", "--k", "5", "--m", "2", "-o", "t.csv")
    assert code == 0
    losses = [
        json.loads(run("anonymize", "raw.csv", "--hierarchy", tree, "-o", out, "--json")[1])["loss"]["ncp"]
        for tree, out in (("t.csv", "a.csv"), ("learned:4", "b.csv"))
    ]
    assert losses[0] == pytest.approx(losses[1])
    warnings = json.loads((shop / "a.csv.certificate.json").read_text())["warnings"]
    assert any("learned from the data" in warning for warning in warnings)
    assert run("hierarchy", "build", "raw.csv", "--hierarchy", "learned:4", "--k", "5", "-o", "u.csv")[0] == 2
    assert run("hierarchy", "build", "raw.csv", "--k", "5", "--m", "2", "-o", "u.csv")[0] == 2


def test_learned_trees_serve_tables_and_are_refused_for_columns(shop, run):
    (shop / "people.csv").write_text(
        "age,items\n" + "".join(f"{20 + n % 3},{' '.join(f'i{(n * j) % 7}' for j in (1, 2))}\n" for n in range(60))
    )
    table = ("anonymize", "people.csv", "--model", "rt", "--k", "3", "--m", "2", "--quasi", "age", "-o", "public.csv")
    assert run(*table, "--hierarchy", "items=learned:3")[0] == 0
    code, _, err = run(*table, "--hierarchy", "age=learned:3", "--force")
    assert code == 2
    assert "learned" in err


def test_empty_transactions_have_a_learned_tree_too(shop, run):
    (shop / "empty.csv").write_text("items\n\n\n")
    assert shoal.anonymize([[], []], shoal.KmAnonymity(2, 2), hierarchy="learned:3").audit.holds


def test_local_recoding_is_certified_verified_audited_and_evaluated(shop, run):
    tree = ("--hierarchy", "tree.csv")
    run("hierarchy", "build", "raw.csv", "--hierarchy", "balanced:4", "-o", "tree.csv")
    code, out, _ = run(
        "anonymize",
        "raw.csv",
        *tree,
        "--algorithm",
        "lra",
        "--price",
        "ncp",
        "-o",
        "public.csv",
        "--rules",
        "rules.csv",
        "--json",
    )
    local = json.loads(out)
    assert (code, local["holds"], local["guarantee"]["local"]) == (0, True, True)
    cut = ("--algorithm", "exact", "--price", "ncp")
    exact = json.loads(run("anonymize", "raw.csv", *tree, *cut, "-o", "exact.csv", "--json")[1])
    assert local["loss"]["ncp"] <= exact["loss"]["ncp"]
    assert local["local"]["loss_of_cut"] == pytest.approx(exact["loss"]["ncp"])
    assert run("verify", "public.csv.certificate.json", "public.csv")[0] == 0
    assert run("audit", "public.csv")[0] == 0
    code, out, _ = run("audit", "public.csv", *tree, "--json")
    assert (code, json.loads(out)["guarantee"]["local"]) == (0, True)
    for between in (tree, ("--rules", "rules.csv")):
        assert run("evaluate", "raw.csv", "public.csv", *between, "--queries", "0")[0] == 0
    assert run("audit", "public.csv", *tree, "--k", "300")[0] == 3


def test_an_audit_by_a_tree_needs_the_tree(shop, run):
    assert run("audit", "raw.csv", "--hierarchy", "balanced:4")[0] == 2
    (shop / "other.csv").write_text("x;*\ny;*\n")
    code, _, err = run("audit", "raw.csv", "--hierarchy", "other.csv")
    assert code == 2
    assert "24 published tokens are not in it" in err
