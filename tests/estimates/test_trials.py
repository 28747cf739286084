"""Trials of plans one after the other, on data that were read once."""

import pytest

from shoal.estimates.trials import Trials
from shoal.plan.parse import plan_of


class Silent:
    def __call__(self, *words, **facts):
        pass

    stage = __call__


def plan(path, **changes):
    asked = {"guarantee": {"model": "rt", "k": 2, "m": 1} | changes.pop("guarantee", {})}
    columns = {"age": "quasi", "codes": "items", "pay": "sensitive"}
    return plan_of({"version": 1, "input": {"path": str(path), "separator": "|"}, "columns": columns} | asked | changes)


@pytest.mark.parametrize("change", [{"guarantee": {"t": 0.9}}, {"options": {"missing_quasi": {"age": "drop"}}}])
def test_what_is_read_in_another_way_is_read_again(tmp_path, change):
    (tmp_path / "x.csv").write_text("age,codes,pay\n" + "30,A|B,1\n40,B,2\n,A,1\n" * 10)
    trials = Trials()
    first, then = plan(tmp_path / "x.csv"), plan(tmp_path / "x.csv", **change)
    trials.trial(first, Silent())
    found = trials.trial(then, Silent())
    assert found["holds"]
    assert found["rows"] == (20 if "options" in change else 30)
