"""What is left of columns and items in a clinician's words: against plain lists of rows, and on cases made by hand."""

from statistics import median_low

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.loss.test_worth import LEAVES, ROWS, TREE, naive_fates

import shoal
from shoal.guarantees.table import TableAnonymity
from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.kinds.bands import band_tree
from shoal.hierarchy.kinds.columns import interval_tree
from shoal.hierarchy.kinds.dates import date_tree
from shoal.hierarchy.meanings import cell_meanings
from shoal.hierarchy.spec import column_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.fates import Coverage, column_fates, row_fates
from shoal.loss.worth import COMMONEST, Names, columns_remains, fate_words, items_remains, width_words
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records


def remains_of(original, published):
    before, after = Baskets.from_rows(original), Baskets.from_rows(published)
    coverage = Coverage.of_tree(TREE, before, after)
    names = Names(before.vocabulary, after.vocabulary, coverage.breadth)
    return items_remains(row_fates(before, after, coverage), names)


def naive_remains(original, published):
    """The same from triples of item, token and times, one occurrence after another."""
    fates = naive_fates(original, published, LEAVES)
    total = sum(times for _, _, times in fates)
    widths = [len(LEAVES[token]) for _, token, times in fates for _ in range(times) if token is not None]
    found = {}
    for item in {item for item, _, _ in fates}:
        own = {token: times for one, token, times in fates if one == item}
        n = sum(own.values())
        found[item] = (
            n,
            own.pop(item, 0) / n,
            own.pop(None, 0) / n,
            {token: times / n for token, times in own.items()},
        )
    deleted = sum(times for _, token, times in fates if token is None) / total
    return found, deleted, median_low(widths) if widths else 0


@given(ROWS)
@settings(max_examples=60)
def test_items_are_told_as_a_plain_count_tells_them(rows):
    original, published = [before for before, _ in rows], [after for _, after in rows]
    found, remains = naive_remains(original, published)[0], remains_of(original, published)
    assert remains["deleted"] == pytest.approx(naive_remains(original, published)[1])
    assert remains["width"] == naive_remains(original, published)[2]
    assert [one["occurrences"] for one in remains["commonest"]] == sorted((n for n, *_ in found.values()), reverse=True)
    for one in remains["commonest"]:
        n, exact, deleted, tokens = found[one["item"]]
        assert (one["occurrences"], one["exact"], one["deleted"]) == (n, pytest.approx(exact), pytest.approx(deleted))
        ways = {way["token"]: way["share"] for way in one["published_as"]}
        assert ways == {token: pytest.approx(tokens[token]) for token in ways}
        assert sum(ways.values()) + one["otherwise"] == pytest.approx(sum(tokens.values()))
        assert [way["items"] for way in one["published_as"]] == [len(LEAVES[token]) for token in ways]


def test_an_item_is_told_by_its_most_frequent_token():
    rows = [{"milk"}] * 10
    remains = remains_of(rows, [{"milk"}] * 4 + [{"dairy"}] * 3 + [{"everything"}] * 2 + [set()])
    (milk,) = remains["commonest"]
    assert milk == {
        "item": "milk",
        "occurrences": 10,
        "exact": pytest.approx(0.4),
        "deleted": pytest.approx(0.1),
        "published_as": [
            {"token": "dairy", "items": 2, "share": pytest.approx(0.3)},
            {"token": "everything", "items": 4, "share": pytest.approx(0.2)},
        ],
        "otherwise": 0.0,
    }
    assert fate_words(milk) == "30.0% as dairy (2 items), 20.0% otherwise, 10.0% deleted"
    assert remains["width"] == 2


def test_ten_items_are_told_and_long_sets_are_cut_short():
    rows = [{f"i{i}" for i in range(n)} for n in range(1, 16)]
    baskets = Baskets.from_rows(rows)
    names = Names(baskets.vocabulary, baskets.vocabulary, baskets.supports() * 0 + 1)
    coverage = Coverage.of_tree(flat_tree(baskets.vocabulary), baskets, baskets)
    remains = items_remains(row_fates(baskets, baskets, coverage), names)
    assert [one["item"] for one in remains["commonest"]] == [f"i{i}" for i in range(COMMONEST)]
    assert {fate_words(one) for one in remains["commonest"]} == {""}
    long = {"token": f"({','.join('abcdefghijklmnop')})", "items": 16, "share": 1.0}
    one = {"item": "a", "occurrences": 5, "exact": 0.0, "deleted": 0.0, "published_as": [long], "otherwise": 0.0}
    assert fate_words(one) == "100.0% as (a,b,c,d,e,f,g,h,i,j,... (16 items)"


@pytest.mark.parametrize(
    ("original", "published", "tree", "exact", "width", "words"),
    [
        (["52", "55", "58", "61"], ["[52:58]"] * 3 + ["61"], None, 0.25, 7, "7"),
        (["52", "55", "58", "61"], ["52", "55", "[58:61]", "[58:61]"], None, 0.5, 1, "1"),
        (["0.5", "1.5", "2.5"], ["[0.5:1.5]", "[0.5:1.5]", "2.5"], None, 1 / 3, 1, "1"),
        (["0.5", "1.5", "2.5"], ["0.5", "1.5", "2.5"], None, 1, 0, "0"),
        (["", "1", "3", "9"], ["*"] * 4, None, 0, 9, "9"),
        (
            ["21", "22", "24", "40"],
            ["[20:24]"] * 3 + ["40"],
            interval_tree(["21", "22", "24", "40"], "5"),
            0.25,
            5,
            "5",
        ),
        (["f", "m", "x"], ["*", "*", "x"], None, 1 / 3, 3, "3 values"),
        (["f", "f", "m"], ["f", "f", "m"], None, 1, 1, "1 value"),
        (["f", "", ""], ["*"] * 3, None, 0, 1, "1 value"),
        (
            ["2019-02-03", "2019-02-05", "2019-03-01"],
            ["2019-02", "2019-02", "2019-03-01"],
            date_tree(["2019-02-03", "2019-02-05", "2019-03-01"]),
            1 / 3,
            3,
            "3 days",
        ),
        (["43", "44", "46", "58"], ["45"] * 3 + ["60"], band_tree(["43", "44", "46", "58"], "round:5"), 0, 5, "5"),
        (["43", "44", "95", "97"], ["[40-50)"] * 2 + ["90+"] * 2, "bands:10,top:90", 0, 3, "3"),
        (["[50-60)", "[60-70)", "[70-80)"], ["[50-70)"] * 2 + ["[70-80)"], "bands", 1 / 3, 20, "20"),
        (["50-59", "60-69", "70+"], ["50-59", "60-69", "70+"], "bands", 1, 10, "10"),
        (["2 days", "36h", "9d"], ["[0-7d)", "[0-7d)", "9d"], "durations:7d", 1 / 3, 0.5, "0.5 days"),
    ],
)
def test_columns_are_told_in_their_own_units(original, published, tree, exact, width, words):
    before, after = (Column.from_texts("c", "quasi", texts) for texts in (original, published))
    tree = column_hierarchy(before, tree) if isinstance(tree, str) else tree
    fates, cells = {"c": column_fates(before, after, tree)}, {"c": cell_meanings(after, before, tree)}
    remains = columns_remains(fates, cells)["c"]
    assert (remains["exact"], remains["width"]) == (pytest.approx(exact), width)
    assert width_words(remains) == words


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=20))
@settings(max_examples=40)
def test_the_width_of_numbers_is_the_median_over_rows(rows):
    texts = [f"[{n - a}:{n + b}]" if a + b else str(n) for n, a, b in rows]
    before = Column.from_texts("age", "quasi", [str(n) for n, _, _ in rows])
    after = Column.from_texts("age", "quasi", texts, numeric=False)
    remains = columns_remains({"age": column_fates(before, after)}, {"age": cell_meanings(after, before)})["age"]
    assert remains["width"] == median_low(a + b + 1 for _, a, b in rows)
    assert remains["exact"] == pytest.approx(sum(a + b == 0 for _, a, b in rows) / len(rows))


AGES = ["31", "33", "35", "52", "54", "58"] * 4
ICD = Hierarchy.from_parents([4, 4, 5, 5, 6, 6, -1], ["401", "402", "500", "501", "400-409", "500-509", "*"])


def a_table():
    codes = [{"401"}, {"401", "500"}, {"402"}, {"401"}, {"402", "501"}, {"500"}] * 4
    columns = (Column.from_texts("age", "quasi", AGES), Column.from_texts("sex", "quasi", ["f", "m"] * 12))
    return Records(columns, Baskets.from_rows(codes), "codes")


def test_a_table_says_what_is_left_and_evaluate_says_the_same():
    table = a_table()
    release = shoal.anonymize(table, shoal.RTAnonymity(4, 1), hierarchy={"codes": ICD}, keep_order=True)
    facts = release.to_dict()["kept"]
    assert set(facts["columns"]) == {"age", "sex"}
    assert [one["item"] for one in facts["items"]["commonest"]] == ["401", "402", "500", "501"]
    assert facts["items"]["exact"] == release.kept["exact"]
    assert sum(one["exact"] for one in facts["columns"].values()) / 2 == pytest.approx(release.kept["cells"])
    same = shoal.evaluate(
        table, release.published, hierarchy={"codes": ICD}, same_order=True, queries=0, sample=0, pairs=0
    ).to_dict()["kept"]
    assert same["columns"] == {name: pytest.approx(one) for name, one in facts["columns"].items()}
    assert same["items"]["commonest"] == facts["items"]["commonest"]


def test_sets_say_it_too():
    rows = [{"milk", "bread"}, {"milk"}, {"cheese"}, {"rolls", "milk"}, {"bread"}] * 3
    for algorithm in ("exact", "local"):
        release = shoal.anonymize(Baskets.from_rows(rows), shoal.KmAnonymity(4, 2), hierarchy=TREE, algorithm=algorithm)
        items = release.remains["items"]
        assert items["exact"] == pytest.approx(release.kept["exact"])
        assert items["commonest"][0]["item"] == "milk"


@pytest.mark.parametrize("missing", [False, True])
def test_a_certificate_says_how_wide_only_what_its_reader_can_count(missing):
    """Ranges tell it by themselves; how many values hide under `*`, and whether one is missing, is nobody's business."""
    towns = [f"town {i}" for i in range(12)]
    towns[5] = "" if missing else towns[5]
    ages = Column.from_texts("age", "quasi", [str(30 + i) for i in range(12)])
    table = Records(
        (ages, Column.from_texts("town", "quasi", towns), Column.from_texts("sex", "quasi", ["f", "m"] * 6))
    )
    release = shoal.anonymize(table, TableAnonymity(3))
    told, owners = release.proposal.certified()["kept"]["columns"], release.remains["columns"]
    assert {name: set(one) for name, one in told.items()} == {
        "age": {"exact", "width", "unit"},
        "town": {"exact"},
        "sex": {"exact", "width", "unit"} if owners["sex"]["exact"] >= 0.5 else {"exact"},
    }
    assert told["age"]["width"] == owners["age"]["width"]
    assert owners["town"]["width"] == (11 if missing else 12)
    assert cell_meanings(release.published["town"], table["town"], None).width.max() == (11 if missing else 12)
