"""Dates that move (`shift`): by no more than was said, together in a row, in their own spelling, named in the certificate."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.hierarchy.kinds.shifts import moved_dates

FORMS = {"%Y-%m-%d": 0, "%d.%m.%Y": 0, "%Y%m%d": 0, "%m/%d/%Y": 1, "%d/%m/%Y": 1, "%Y-%m-%d 10:30": 0}


@pytest.mark.parametrize("form", FORMS)
@given(
    st.lists(st.tuples(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.integers(-400, 400)), max_size=20)
)
def test_a_moved_date_is_spelled_as_before(form, rows):
    rows = [*rows, (datetime(2020, 1, 31), 1)]  # which tells day and month apart
    names = [f"{day:{form}}" for day, _ in rows]
    places, values = moved_dates(names, np.arange(len(rows)), np.array([by for _, by in rows]))
    assert [values[v] for v in places] == [f"{day + timedelta(days=by):{form}}" for day, by in rows]


def test_days_and_months_of_one_digit_stay_short():
    places, values = moved_dates(["9.2.2020", "31.12.2020", ""], np.arange(3), np.array([1, 1, 1]))
    assert [values[v] for v in places] == ["10.2.2020", "1.1.2021", ""]


@pytest.fixture
def stays(tmp_path):
    came = pd.date_range("2020-01-01", periods=60, freq="3D")
    went = came + pd.to_timedelta(np.arange(60) % 9, unit="D")
    frame = pd.DataFrame({"sex": ["f", "m"] * 30, "came": came.strftime("%Y-%m-%d"), "went": went.strftime("%d.%m.%Y")})
    frame["seen"] = frame["came"]
    frame.to_csv(tmp_path / "stays.csv", index=False)
    return tmp_path / "stays.csv"


def test_dates_move_within_bounds_and_together(stays):
    release = shoal.anonymize(
        stays,
        shoal.TableAnonymity(2),
        quasi="sex",
        keep="came,went,seen",
        shift={"came": 20, "went": 20, "seen": 3},
        keep_order=True,
    )
    raw, told = pd.read_csv(stays), {name: release.published[name].texts() for name in ("came", "went", "seen")}
    came, seen = (pd.to_datetime(told[name]) - pd.to_datetime(raw[name]) for name in ("came", "seen"))
    went = pd.to_datetime(told["went"], format="%d.%m.%Y") - pd.to_datetime(raw["went"], format="%d.%m.%Y")
    assert list(came) == list(went)
    assert 3 < max(abs(came.dt.days)) <= 20
    assert max(abs(seen.dt.days)) <= 3
    assert list(came) != list(seen)


def test_the_certificate_says_so_and_verifies(stays):
    out = stays.with_name("public.csv")
    release = shoal.anonymize(
        stays,
        shoal.TableAnonymity(2),
        quasi="sex,came",
        keep="went",
        drop="seen",
        shift={"came": 20, "went": 20},
        limits={"came": "year"},
        missing_quasi={"sex": "unknown"},
        suppress_rows=0.2,
    )
    release.write(out)
    certificate = json.loads(out.with_name("public.csv.certificate.json").read_text())
    assert certificate["parameters"]["shift"] == {"came": 20, "went": 20}
    assert any("'came', 'went' were moved by up to 20 days" in warning for warning in certificate["warnings"])
    assert not any("'went' is published as it is" in warning for warning in certificate["warnings"])
    assert shoal.verify(out.with_name("public.csv.certificate.json"), out).verdict == "verified"


@pytest.mark.parametrize(
    ("shift", "why"),
    [
        ({"sex": 3}, "not dates in figures"),
        ({"ward": 3}, "no such quasi or kept column"),
        ({"came": 0.5}, "whole number"),
        ({"came": -1}, "shift"),
    ],
)
def test_what_cannot_be_moved_is_refused(stays, shift, why):
    with pytest.raises(InputError, match=why):
        shoal.anonymize(stays, shoal.TableAnonymity(2), quasi="sex,came", keep="went", drop="seen", shift=shift)
