"""Hierarchies over the values of one column: flat, intervals, mask, and the forms that items have."""

import os
from datetime import date
from fractions import Fraction
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from shoal.errors import InputError
from shoal.hierarchy.build import mask_tree
from shoal.hierarchy.kinds.columns import interval_tree
from shoal.hierarchy.spec import Values, column_hierarchy, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.records.records import Column
from shoal.records.source import load_records


def column(*texts, numeric=None):
    return Column.from_texts("x", "quasi", texts, numeric=numeric)


def paths(tree):
    """Each leaf with the labels above it."""
    found = {}
    for leaf in range(tree.n_leaves):
        v, path = int(tree.parent[leaf]), []
        while v >= 0:
            path.append(tree.labels[v])
            v = int(tree.parent[v])
        found[tree.labels[leaf]] = path
    return found


def shared_by(texts):
    """Number of leading characters that all texts have in common."""
    return next(n for n in range(max(map(len, texts)), -1, -1) if len({text[:n] for text in texts}) == 1)


def refusal(values, spec, **options):
    with pytest.raises(InputError) as caught:
        column_hierarchy(values, spec, **options)
    return str(caught.value)


def test_numbers_without_a_spec_have_none():
    assert column_hierarchy(column("1", "2")) is None


def test_categories_without_a_spec_are_flat():
    tree = column_hierarchy(column("b", "a", "b"))
    assert (tree.labels, tree.parent.tolist(), tree.source) == (("a", "b", "*"), [2, 2, -1], "flat")
    assert paths(column_hierarchy(column("a"))) == {"a": ["*"]}


def test_intervals_are_nested_and_begin_at_multiples():
    tree = column_hierarchy(column("19", "22", "28", "39", "-1"), "intervals:5,10,20")
    assert paths(tree) == {
        "-1": ["[-5:-1]", "[-10:-1]", "[-20:-1]", "*"],
        "19": ["[15:19]", "[10:19]", "[0:19]", "*"],
        "22": ["[20:24]", "[20:29]", "[20:39]", "*"],
        "28": ["[25:29]", "[20:29]", "[20:39]", "*"],
        "39": ["[35:39]", "[30:39]", "[20:39]", "*"],
    }
    assert tree.source == "intervals:5,10,20"


def test_intervals_of_decimals_leave_the_upper_bound_out():
    assert paths(column_hierarchy(column("2.5", "4.99", "5", "-0.5"), "intervals:2.5, 10")) == {
        "-0.5": ["[-2.5:0)", "[-10:0)", "*"],
        "2.5": ["[2.5:5)", "[0:10)", "*"],
        "4.99": ["[2.5:5)", "[0:10)", "*"],
        "5": ["[5:7.5)", "[0:10)", "*"],
    }
    assert paths(column_hierarchy(column("1", "2"), "intervals:0.25"))["1"] == ["[1:1.25)", "*"]
    assert paths(column_hierarchy(column("0.5", "2"), "intervals:1"))["2"] == ["[2:3)", "*"]


@given(st.sets(st.integers(-300, 300), min_size=1), st.sampled_from(["1", "5", "5,10", "3,6,24", "0.5,2"]))
def test_intervals_hold_their_numbers(numbers, widths):
    values = [str(n) for n in sorted(numbers)]
    tree = interval_tree(values, widths)
    steps = [Fraction(width) for width in widths.split(",")]
    for value, path in paths(tree).items():
        assert len(path) == len(steps) + 1
        for label, step in zip(path[:-1], steps, strict=True):
            low, high = (Fraction(bound) for bound in label[1:-1].split(":"))
            high += label.endswith("]")
            assert (low % step, high - low) == (0, step)
            assert low <= int(value) < high
    assert len(set(tree.names)) == tree.n_nodes


@pytest.mark.parametrize(
    "spec", ["intervals", "intervals:", "intervals:0", "intervals:a", "intervals:5,", "intervals:-5"]
)
def test_intervals_need_widths(spec):
    assert refusal(column("1"), spec).endswith("use for example intervals:5,10,20")


@pytest.mark.parametrize(("widths", "narrow", "wide"), [("5,12", 5, 12), ("5,10,10", 10, 10), ("10,5", 10, 5)])
def test_widths_must_divide_each_other(widths, narrow, wide):
    message = refusal(column("1"), f"intervals:{widths}")
    assert f"intervals of width {narrow} do not fit into intervals of width {wide}" in message
    assert message.startswith("column 'x': ")


def test_intervals_are_for_numbers():
    assert "intervals:5 is for numbers" in refusal(column("00501"), "intervals:5")
    tree = column_hierarchy(column("00501", numeric=True), "intervals:5")
    assert paths(tree) == {"00501": ["[500:504]", "*"]}


def test_mask_hides_the_last_characters_first():
    assert paths(column_hierarchy(column("4711", "4712", "4799", "5000"), "mask")) == {
        "4711": ["471*", "47**", "*"],
        "4712": ["471*", "47**", "*"],
        "4799": ["47**", "*"],
        "5000": ["*"],
    }


def test_mask_fills_shorter_values_up_on_the_right():
    assert paths(mask_tree(["47", "4711", "4", "52"])) == {
        "47": ["47**", "4***", "*"],
        "4711": ["47**", "4***", "*"],
        "4": ["4***", "*"],
        "52": ["*"],
    }
    assert paths(mask_tree(["a"])) == {"a": ["*"]}


def test_what_all_values_begin_with_stays_at_the_root():
    assert paths(mask_tree(["10", "11"])) == {"10": ["1*"], "11": ["1*"]}
    assert paths(mask_tree(["4711", "4720", "4721"])) == {
        "4711": ["47**"],
        "4720": ["472*", "47**"],
        "4721": ["472*", "47**"],
    }
    # A missing value begins with nothing.
    with_gap = column("10", "", "11")
    assert paths(column_hierarchy(with_gap, "mask")) == {"10": ["1*", "*"], "11": ["1*", "*"], "": ["*"]}
    assert paths(column_hierarchy(with_gap, "prefix")) == {"10": ["1*", "*"], "11": ["1*", "*"], "": ["*"]}


@given(st.sets(st.text("ab1", min_size=1, max_size=5), min_size=1, max_size=20))
def test_masked_labels_are_what_the_values_below_them_share(values):
    ordered = sorted(values)
    tree = mask_tree(ordered)
    assert tree.labels[: tree.n_leaves] == tuple(ordered)
    length = max(map(len, ordered))
    below = {}
    for leaf, path in paths(tree).items():
        for label in path:
            below.setdefault(label, set()).add(leaf)
    for label, leaves in below.items():
        if label != "*":
            beginning = label.rstrip("*")
            assert len(label) == length
            assert leaves == {value for value in ordered if value.startswith(beginning)}
            assert len(leaves) > 1
    # Two values have a node below the root exactly if they share more than all do.
    common = shared_by(ordered) if len(ordered) > 1 else 0
    for one in ordered:
        for other in ordered:
            shared = shared_by([one, other])
            if one != other and shared > common:
                assert one[:shared] + "*" * (length - shared) in paths(tree)[one]


@pytest.mark.parametrize("spec", [None, "mask", "prefix", "balanced:2", "frequency:2"])
def test_a_missing_value_is_a_leaf_right_under_the_root(spec):
    values = column("ab", "", "ac", "b")
    tree = column_hierarchy(values, spec)
    assert tree.n_leaves == 4
    assert tree.parent[tree.leaves_of([""])[0]] == tree.root
    assert len(tree.leaves_of(values.values)) == 4


def test_a_missing_number_is_one_too():
    assert paths(column_hierarchy(column("", "7"), "intervals:5")) == {"7": ["[5:9]", "*"], "": ["*"]}


@pytest.mark.parametrize("spec", [None, "mask", "prefix", "balanced:2", "frequency:2", "intervals:5"])
def test_a_column_of_missing_values_is_flat(spec):
    assert paths(column_hierarchy(column("", ""), spec)) == {"": ["*"]}


def test_files_and_trees_are_taken_as_for_items(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("a;A;all\nb;A;all\nc;C;all\n")
    values = column("a", "", "c")
    for spec in (path, str(path)):
        assert paths(column_hierarchy(values, spec)) == {
            "a": ["A", "all"], "b": ["A", "all"], "c": ["C", "all"], "": ["all"]
        }  # fmt: skip
    given_tree = Hierarchy(np.array([1, -1], np.int32), ("a", "all"), 1)
    assert column_hierarchy(column("a"), given_tree) is given_tree


def test_values_that_a_file_lacks_are_named_with_the_column(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("a;all\nb;all\n")
    assert refusal(column("a", "z"), path).startswith("column 'x': hierarchy tree.csv: 1 item is not among its leaves")
    assert paths(column_hierarchy(column("a", "z"), path, unknown="root"))["z"] == ["all"]
    assert "is neither a file nor a known form; use intervals:5,10,20" in refusal(column("a"), "nothing.csv")
    assert "is neither a file nor a known form" in refusal(column(""), "nothing.csv")


def test_a_value_called_like_a_label_keeps_its_name():
    tree = column_hierarchy(column("*", "a"))
    assert tree.names[:2] == ("*", "a")
    assert len(set(tree.names)) == 3


@pytest.fixture
def public():
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with the public data sets")
    return Path(folder)


def test_adult_has_its_hierarchies(public):
    folder = public / "adult" / "hierarchies_arx"
    names = ["age", "education", "marital-status", "race", "sex"]
    source = load_records(
        public / "adult" / "adult.csv.gz",
        quasi=names,
        drop="workclass,fnlwgt,education-num,occupation,relationship,capital-gain,capital-loss,hours-per-week,native-country",
        sensitive="salary-class",
    )
    for name in names:
        tree = column_hierarchy(source.records[name], folder / f"adult_hierarchy_{name}.csv")
        assert len(tree.leaves_of(source.records[name].values)) == len(source.records[name].values)
    ages = column_hierarchy(source.records["age"], "intervals:5,10,20")
    assert ages.height == 4


# Groups of neighbours


def labels_of(tree):
    return list(tree.labels[tree.n_leaves :])


def test_groups_of_numbers_are_called_by_ranges():
    tree = column_hierarchy(column("17", "19", "24", "31", "38", "52", "103"), "balanced:3")
    assert labels_of(tree) == ["[10:29]", "[30:99]", "[100:109]", "*"]
    tree = column_hierarchy(column("2.5", "10", "0.25", "11"), "balanced:2")
    assert paths(tree)["10"] == ["[10:14)", "*"]
    assert paths(tree)["0.25"] == ["[0:10)", "*"]
    tree = column_hierarchy(column("-7", "-2", "3", "9"), "balanced:2")
    assert labels_of(tree) == ["[-10:-1]", "[0:9]", "*"]


def test_groups_of_dates_are_called_by_ranges():
    days = ["2019-11-03", "2019-12-24", "2020-02-01", "2020-02-17", "2020-02-18", "2020-07-01"]
    tree = column_hierarchy(column(*days), "balanced:2")
    assert labels_of(tree)[:3] == [
        "[2019-01-01 to 2019-12-31]",
        "[2020-01-01 to 2020-02-17]",
        "[2020-02-18 to 2020-12-31]",
    ]
    times = ["2020-02-01 10:15", "2020-02-01 10:45", "2020-02-01 11:05", "2020-02-03 00:00"]
    tree = column_hierarchy(column(*times), "balanced:2")
    assert labels_of(tree)[:2] == ["[2020-01-01 00:00 to 2020-02-01 11:00)", "[2020-02-01 11:00 to 2020-12-31]"]


def test_groups_of_texts_are_counted_unless_their_names_are_allowed():
    towns = column("Aachen", "Bonn", "Cologne", "Dresden", "", numeric=False)
    assert labels_of(column_hierarchy(towns, "balanced:2")) == ["x[1:2]", "x[3:4]", "*"]
    assert labels_of(column_hierarchy(towns, "named:2")) == ["Aachen..Bonn", "Cologne..Dresden", "*"]
    # Not a day of the calendar, not in one format, not spelled in one way.
    for texts in (("2020-02-30", "2020-03-01"), ("2020-02", "2020-03-01"), ("5.0", "5.00"), ("5", "5.0")):
        assert labels_of(column_hierarchy(column(*texts, "2021-01-01"), "balanced:2"))[0] == "x[1:2]"
    assert labels_of(column_hierarchy(column("5", "5.0", "6", numeric=True), "balanced:2"))[0] == "x[1:2]"
    with pytest.raises(InputError, match="'named:2' is for the columns of a table"):
        resolve("named:2", Values(["a", "b"], np.ones(2, np.int64)))
    with pytest.raises(InputError, match=r"column .x.: .*named:1"):
        column_hierarchy(towns, "named:1")


@given(
    st.one_of(
        st.sets(st.integers(-300, 300), min_size=2, max_size=30),
        st.sets(st.decimals(-5, 5, places=3), min_size=2, max_size=30),
        st.sets(st.floats(0, 2**-10, width=16), min_size=2, max_size=10),
    ),
    st.integers(2, 4),
)
def test_a_range_holds_the_numbers_of_its_group_and_no_others(numbers, n):
    texts = [str(number) for number in numbers]
    values = Column.from_texts("x", "quasi", texts, numeric=True)
    tree = column_hierarchy(values, f"balanced:{n}")
    for v in range(tree.n_leaves, tree.n_nodes - 1):
        low, _, high = tree.labels[v][1:-1].partition(":")
        closed = tree.labels[v].endswith("]")
        inside = {
            text
            for text in values.values
            if Fraction(low) <= Fraction(text)
            and (Fraction(text) <= Fraction(high) if closed else Fraction(text) < Fraction(high))
        }
        start, stop = tree.span[v]
        assert inside == {tree.labels[leaf] for leaf in tree.leaf_order[start:stop]}


@given(st.sets(st.dates(date(1999, 1, 1), date(2003, 12, 31)), min_size=2, max_size=30), st.integers(2, 4))
def test_a_range_of_dates_holds_the_days_of_its_group_and_no_others(days, n):
    values = column(*map(str, days))
    tree = column_hierarchy(values, f"balanced:{n}")
    for v in range(tree.n_leaves, tree.n_nodes - 1):
        low, _, high = tree.labels[v][1:-1].partition(" to ")
        start, stop = tree.span[v]
        held = {tree.labels[leaf] for leaf in tree.leaf_order[start:stop]}
        assert {day for day in values.values if low <= day <= high} == held


def test_dates_go_to_months_and_years_and_a_missing_one_under_the_root():
    days = column("05.02.2019", "28.02.2019", "", "01.03.2020", "17.12.2020")
    tree = column_hierarchy(days, "dates")
    assert paths(tree)["28.02.2019"] == ["2019-02", "2019-Q1", "2019", "*"]
    assert paths(tree)[""] == ["*"]
    assert tree.source == "dates"
    assert refusal(column("a", "b"), "dates").startswith("column 'x': too few of these values are dates")
