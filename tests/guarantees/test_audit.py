"""A verdict can be asserted: it is as true as the promise, and raises with its witnesses where it is broken."""

from __future__ import annotations

import pickle

import pytest

import shoal
from shoal import KAnonymity, KmAnonymity, LmDiversity, LocalKmAnonymity, RTAnonymity, TableAnonymity, Unreachable
from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity

KEPT = [["milk", "beer"]] * 4 + [["tea"]] * 4
BROKEN = [*KEPT, ["zqsecret"]]


def table(rows):
    return {name: [row[i] for row in rows] for i, name in enumerate(("age", "items", "illness", "bucket"))}


PEOPLE = [(34, ["milk"], "flu", 1), (34, ["milk"], "gout", 1)] * 2
ODD = [*PEOPLE, (80, ["zqsecret"], "zqsecret", 2)]
ITEMS = {"quasi": "age", "items": "items"}
VERDICTS = {
    "km": (KmAnonymity(4, 2), KEPT, BROKEN, {}),
    "km local": (LocalKmAnonymity(4, 2), KEPT, BROKEN, {}),
    "k": (KAnonymity(4), KEPT, BROKEN, {}),
    "table": (TableAnonymity(4), table(PEOPLE), table(ODD), {"quasi": "age", "drop": ("items", "illness", "bucket")}),
    "rt": (RTAnonymity(4, 1), table(PEOPLE), table(ODD), ITEMS | {"drop": ("illness", "bucket")}),
    "lm": (
        LmDiversity(4, 2, 1),
        table([(34, ["milk", i], "", 1) for i in ("flu", "gout")] * 2),
        table([(34, ["milk", "flu"], "", 1), (34, ["milk", "gout"], "", 1), (80, ["milk", "flu"], "", 1)]),
        ITEMS | {"drop": ("illness", "bucket"), "sensitive": ["flu", "gout"]},
    ),
    "matching": (
        MatchingDiversity(2),
        table(PEOPLE),
        table(ODD),
        {"quasi": "age", "sensitive": "illness", "drop": "items"},
    ),
    "plain": (PlainDiversity(2), table(PEOPLE), table(ODD), {"quasi": "age", "sensitive": "illness", "drop": "items"}),
}


def audited(data, guarantee, how):
    if isinstance(data, dict):
        import pyarrow as pa

        data = pa.table(data)
    return shoal.audit(data, guarantee, **how)


@pytest.mark.parametrize("name", VERDICTS)
def test_an_audit_is_true_where_the_promise_holds(name):
    guarantee, kept, _, how = VERDICTS[name]
    verdict = audited(kept, guarantee, how)
    assert verdict.holds
    assert verdict
    assert verdict.require() is verdict


@pytest.mark.parametrize("name", VERDICTS)
def test_an_audit_of_a_broken_promise_is_false_and_raises_its_witnesses(name):
    guarantee, _, broken, how = VERDICTS[name]
    verdict = audited(broken, guarantee, how)
    assert not verdict.holds
    assert not verdict
    with pytest.raises(Unreachable, match="does not hold") as raised:
        verdict.require()
    assert raised.value.exit_code == 3
    assert raised.value.witnesses == verdict.witnesses != ()
    assert "zqsecret" not in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.witnesses) == (str(raised.value), verdict.witnesses)
    assert pickle.loads(pickle.dumps(verdict)) == verdict
    assert not pickle.loads(pickle.dumps(verdict))
    assert repr(verdict).startswith("Audit(")


def test_an_audit_that_stopped_early_says_that_there_may_be_more():
    verdict = shoal.audit(BROKEN, KmAnonymity(4, 2), yes_or_no=True)
    with pytest.raises(Unreachable, match="at least 1 of"):
        verdict.require()
