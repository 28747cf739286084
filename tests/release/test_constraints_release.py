"""Constraints the whole way: a policy in a file, plans, certificates and what they do not say, scripts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.errors import InputError
from shoal.plan import plan_from, plan_yaml, read_plan
from shoal.plan.scripts import command_of, script_of

POLICY = """\
protect:
  - [gin, 042]
  - {all: 2, of: [rum, ale, gin]}
generalize: [[gin, rum], [ale, mead]]
"""
ROWS = [
    ["gin", "042", "ale"],
    ["rum", "ale"],
    ["rum"],
    ["rum", "042"],
    ["ale", "tea"],
    ["ale"],
    ["gin"],
    ["mead"],
    ["tea"],
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "owner.key"))
    Path("policy.yaml").write_text(POLICY)
    Path("rows.csv").write_text("items\n" + "".join("|".join(row) + "\n" for row in ROWS))
    Path("tree.csv").write_text(
        "gin;spirits;all\nrum;spirits;all\nale;beer;all\nmead;mead;all\ntea;tea;all\n042;codes;all\n"
    )


def test_items_of_a_policy_are_texts_as_they_stand():
    policy = shoal.read_policy("policy.yaml")
    assert policy.sets == (("042", "gin"),)
    Path("policy.json").write_text(
        json.dumps(
            {
                "protect": [["gin", "042"], {"all": 2, "of": ["rum", "ale", "gin"]}],
                "generalize": [["gin", "rum"], ["ale", "mead"]],
            }
        )
    )
    assert shoal.read_policy("policy.json") == policy


def test_groups_can_be_the_nodes_of_a_level():
    Path("sub").mkdir()
    Path("sub/p.yaml").write_text("protect: [[gin]]\ngeneralize: {hierarchy: ../tree.csv, level: 1}\n")
    policy = shoal.read_policy("sub/p.yaml")
    assert ("gin", "rum") in policy.generalize
    assert all(len(group) == 1 for group in policy.generalize if "gin" not in group)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("protect: [[a], *b]\n", "an alias"),
        ("protect: [[gin]]\ngeneralize: {hierarchy: tree.csv, level: 9}\n", "the level is from 1"),
        ("protect: [[gin]]\ngeneralize: {hierarchy: tree.csv}\n", "a list of groups, or hierarchy: FILE and level"),
        ("protect: [[gin]]\ngeneralize: {hierarchy: none.csv, level: 1}\n", "none.csv cannot be read"),
        ("protect: [[gin]]\nprotect: [[rum]]\n", "stands there twice"),
        ("gin", "it is not a policy"),
        ("protect: 5\n", "protect is a list"),
    ],
)
def test_hostile_policies_are_refused_in_one_sentence(text, says):
    Path("p.yaml").write_text(text)
    with pytest.raises(InputError, match=says) as refused:
        shoal.read_policy("p.yaml")
    assert str(refused.value).count("\n") == 0


def test_a_plan_holds_the_path_of_the_policy():
    promise = shoal.ConstraintAnonymity(2, shoal.read_policy("policy.yaml"))
    plan = plan_from("rows.csv", promise, output="out.csv")
    Path("plan.yaml").write_text(plan_yaml(plan))
    again = read_plan("plan.yaml")
    assert again == plan
    assert again.promise == promise
    assert "policy: policy.yaml" in plan_yaml(plan)
    assert command_of(plan) == (
        "shoal anonymize rows.csv --output out.csv --model constraints --k 2 --policy policy.yaml --items items"
    )
    script = script_of(plan)
    assert "ConstraintAnonymity(k=2, policy=read_policy('policy.yaml'))" in script
    exec(script, {})
    assert shoal.audit("out.csv", promise).holds
    with pytest.raises(InputError, match="the policy is a Policy in memory"):
        plan_from("rows.csv", shoal.ConstraintAnonymity(2, {"protect": [["gin"]]}))


def test_a_certificate_names_no_item_and_is_verified_with_the_policy():
    promise = shoal.ConstraintAnonymity(2, shoal.read_policy("policy.yaml"))
    shoal.anonymize("rows.csv", promise).write("out.csv", "c.json")
    certificate = Path("c.json").read_text()
    assert not any(f'"{name}' in certificate or f" {name}" in certificate for name in ("gin", "rum", "mead", "042"))
    with pytest.raises(InputError, match="is about a policy, which it does not hold; ask the owner for it"):
        shoal.verify("c.json", "out.csv")
    verified = shoal.verify("c.json", "out.csv", policy="policy.yaml")
    assert verified.holds
    assert {check.name: check.holds for check in verified.checks}["policy"]
    Path("other.yaml").write_text(POLICY.replace("[gin, 042]", "[tea, 042]"))
    other = shoal.verify("c.json", "out.csv", policy="other.yaml")
    assert {check.name: check.holds for check in other.checks}["policy"] is False
    Path("owner.key").unlink()  # another's machine: only the owner can tell which policy was meant
    assert "policy" not in {check.name for check in shoal.verify("c.json", "out.csv", policy="policy.yaml").checks}
    with pytest.raises(InputError, match="their numbers of sets differ"):
        shoal.verify(
            "c.json", "out.csv", policy=shoal.Policy([["gin"], ["rum"], {"all": 2, "of": ["ale"]}], [["gin"], ["ale"]])
        )
    shoal.anonymize("rows.csv", shoal.KmAnonymity(2, 1)).write("km.csv", "km.json")
    with pytest.raises(InputError, match="needs no policy= to be verified"):
        shoal.verify("km.json", "km.csv", policy="policy.yaml")


def test_a_release_is_measured_and_told(run):
    """Every document is held against its schema."""
    asked = ("--model", "constraints", "--k", 2, "--policy", "policy.yaml")
    code, shown, said = run("anonymize", "rows.csv", *asked, "-o", "out.csv", "--json")
    assert code == 0, said
    facts = json.loads(shown)
    assert facts["guarantee"] == {
        "model": "constraints",
        "k": 2,
        "sets": 1,
        "families": 1,
        "groups": 2,
        "name": "2-anonymity under constraints",
    }
    assert facts["risk"] == [{"knows": "items that are protected together", "fewer_than_k": 2, "singled_out": 2}]
    code, shown, _ = run("audit", "rows.csv", *asked, "--json")
    assert (code, json.loads(shown)["holds"]) == (3, False)
    code, shown, _ = run("verify", "out.csv.certificate.json", "out.csv", "--policy", "policy.yaml", "--json")
    assert (code, json.loads(shown)["verdict"]) == (0, "verified")
    code, shown, _ = run("evaluate", "rows.csv", "out.csv", "--k", 2, "--json")
    assert code == 0
    code, _, said = run("anonymize", "rows.csv", *asked, "--engine", "spark", "-o", "folder")
    assert (code, "cannot be audited on Spark; use the local engine" in said) == (2, True)


def test_a_policy_that_names_what_nobody_has_is_said_to_the_owner():
    release = shoal.anonymize(ROWS, shoal.ConstraintAnonymity(2, {"protect": [["gin", "absinth"], ["tea"]]}))
    assert (
        "1 of the 3 items that the policy protects does not occur in the data: is each spelt as there?" in release.notes
    )


def test_frames_and_plans_take_a_policy_in_memory():
    release = shoal.anonymize(
        ROWS, shoal.ConstraintAnonymity(2, {"protect": [["gin", "042"]], "generalize": "*"}), suppress=0
    )
    assert release.audit.holds
    assert release.loss["deleted"] == 0
    assert release.to_arrow().num_rows == len(ROWS)
    assert shoal.verify(release.certificate(), release.to_arrow(), policy=release.guarantee.policy).holds
