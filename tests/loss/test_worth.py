"""What a release is worth, counted from rows: against the definition row by row, and on cases made by hand."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.price.test_information import naive

import shoal
from shoal.errors import InputError
from shoal.hierarchy.meanings import token_meanings
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import common_pairs, pairs_kept
from shoal.loss.fates import Coverage, column_fates, row_fates
from shoal.loss.worth import columns_worth, items_worth, table_worth, worth_notes
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

TREE = Hierarchy.from_parents(
    [4, 4, 5, 5, 6, 6, -1], ["milk", "cheese", "bread", "rolls", "dairy", "bakery", "everything"]
)
LEAVES = {
    "dairy": {"milk", "cheese"},
    "bakery": {"bread", "rolls"},
    "everything": {"milk", "cheese", "bread", "rolls"},
} | {name: {name} for name in ("milk", "cheese", "bread", "rolls")}


def naive_fates(original, published, covers):
    """Triples of item, token or None, and times: every occurrence as the narrowest token of its row that covers it."""
    fates = Counter()
    for before, after in zip(original, published, strict=True):
        for item in before:
            tokens = sorted((t for t in after if item in covers[t]), key=lambda t: (len(covers[t]), t))
            fates[item, tokens[0] if tokens else None] += 1
    return [(item, token, times) for (item, token), times in fates.items()]


def fates_of(original, published, tree=TREE):
    before, after = Baskets.from_rows(original), Baskets.from_rows(published)
    by_tree = row_fates(before, after, Coverage.of_tree(tree, before, after))
    meanings = token_meanings(after.vocabulary, before.vocabulary, tree)
    by_meanings = row_fates(before, after, Coverage.of_meanings(meanings))
    assert by_tree.info == pytest.approx(by_meanings.info)
    assert (by_tree.exact, by_tree.deleted) == (by_meanings.exact, by_meanings.deleted)
    return by_tree


ROWS = st.lists(
    st.tuples(
        st.sets(st.sampled_from(("milk", "cheese", "bread", "rolls")), min_size=1), st.sets(st.sampled_from([*LEAVES]))
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS)
def test_fates_in_rows_are_what_the_definition_says(rows):
    original, published = zip(*rows, strict=True)
    fates = fates_of(original, published)
    lost, exact = naive(naive_fates(original, published, LEAVES))
    assert fates.info == pytest.approx(lost, abs=1e-9)
    assert fates.exact == pytest.approx(exact)


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=1, max_size=8), st.integers(0, 2**32))
def test_items_of_many_sets_are_found_from_the_row(rows, seed):
    random = np.random.default_rng(seed)
    original = [{str(i) for i in row} for row in rows]
    sets = [frozenset(random.choice(31, random.integers(1, 6), replace=False).tolist()) for _ in range(60)]
    covers = {f"({','.join(map(str, sorted(one)))})": {str(i) for i in one} for one in sets if len(one) > 1}
    published = [set(random.choice([*covers], random.integers(0, 3)).tolist()) for _ in original]
    before, after = Baskets.from_rows(original), Baskets.from_rows(published)
    known = [*before.vocabulary, *(str(i) for i in range(31) if str(i) not in before.vocabulary)]
    flat = Hierarchy.from_parents([len(known)] * len(known) + [-1], [*known, "*"])
    meanings = token_meanings([*covers], before.vocabulary, flat)
    place = {name: i for i, name in enumerate(meanings.tokens)}
    again = Baskets(
        after.offsets, np.array([place[after.vocabulary[t]] for t in after.items], np.int32), meanings.tokens
    )
    fates = row_fates(before, again, Coverage.of_meanings(meanings))
    ranked = {token: (len(covers[token]), place[token]) for token in covers}
    triples = Counter()
    for held, tokens in zip(original, published, strict=True):
        for item in held:
            over = sorted((t for t in tokens if item in covers[t]), key=ranked.__getitem__)
            triples[item, over[0] if over else None] += 1
    lost, exact = naive([(item, token, times) for (item, token), times in triples.items()])
    assert (fates.info, fates.exact) == (pytest.approx(lost, abs=1e-9), exact)


def test_an_occurrence_is_the_most_specific_token_of_its_row():
    fates = fates_of([{"milk", "cheese"}, {"milk"}, {"bread"}], [{"milk", "dairy"}, {"everything"}, {"bread"}])
    assert fates.exact == 2 / 4  # milk of the first row, and bread
    assert fates.info == 0.0  # every token stands for one item


def test_a_deleted_occurrence_that_a_category_of_its_row_covers_is_published_as_that():
    fates = fates_of([{"milk", "bread"}, {"cheese"}], [{"dairy"}, {"dairy"}])
    assert (fates.exact, fates.deleted) == (0.0, 1 / 3)


def test_rows_have_to_correspond():
    with pytest.raises(InputError, match="rows must correspond"):
        fates_of([{"milk"}], [{"milk"}, {"milk"}])


def test_numbers_are_as_they_were_however_they_are_spelled():
    before = Column.from_texts("age", "quasi", ["7", "7.0", "8", "9", ""], numeric=True)
    after = Column.from_texts("age", "quasi", ["7", "7", "[8:9]", "[8:9]", ""], numeric=False)
    fates = column_fates(before, after)
    assert fates.exact == 3 / 5
    assert fates.lost_bits == pytest.approx(2.0)  # between 8 and 9, twice


def test_a_column_loses_what_its_cells_do_not_tell():
    before = Column.from_texts("sex", "quasi", ["f", "f", "m", "m"])
    starred = Column.from_texts("sex", "quasi", ["*"] * 4)
    assert column_fates(before, before).info == 0.0
    assert column_fates(before, starred).info == pytest.approx(1.0)


def test_columns_are_summed_in_bits_and_by_weight():
    same = Column.from_texts("sex", "quasi", ["f", "f", "m", "m"])
    four = Column.from_texts("age", "quasi", ["1", "2", "3", "4"])
    fates = {"sex": column_fates(same, same), "age": column_fates(four, Column.from_texts("age", "quasi", ["*"] * 4))}
    assert columns_worth(fates).lost["info"] == pytest.approx(2 / 3)  # two of three bits
    assert columns_worth(fates, {"age": 0.5}).lost["info"] == pytest.approx(1 / 2)
    assert columns_worth(fates).kept == {"cells": 0.5}


def test_a_table_with_items_has_both_sides():
    items = items_worth(fates_of([{"milk"}, {"cheese"}], [{"dairy"}, {"dairy"}]), None)
    column = Column.from_texts("sex", "quasi", ["f", "m"])
    columns = columns_worth({"sex": column_fates(column, column)})
    worth = table_worth(columns, items)
    assert worth.lost == pytest.approx({"info": 0.5, "info_columns": 0.0, "info_items": 1.0})
    assert worth.kept == {"exact": 0.0, "cells": 1.0}
    assert table_worth(columns, items, balance=0.75).lost["info"] == pytest.approx(0.25)


@given(st.lists(st.sets(st.integers(0, 12)), max_size=25), st.integers(1, 9))
def test_the_commonest_pairs_are_those_of_a_plain_count(rows, n):
    baskets = Baskets.from_rows([{str(i) for i in row} for row in rows])
    counted = Counter(pair for row in baskets.rows() for pair in combinations(row, 2))
    number = {name: i for i, name in enumerate(baskets.vocabulary)}
    plain = sorted((-times, number[a], number[b]) for (a, b), times in counted.items() if times > 1)[:n]
    pairs = common_pairs(baskets, n)
    assert [
        (-times, a, b) for times, a, b in zip(*(p.tolist() for p in (pairs.rows, pairs.one, pairs.other)), strict=True)
    ] == plain


def test_blocks_of_items_find_what_one_block_does(monkeypatch):
    random = np.random.default_rng(5)
    baskets = Baskets.from_rows([{str(int(60 * x * x)) for x in random.random(6)} for _ in range(400)])
    whole = common_pairs(baskets)
    monkeypatch.setattr("shoal.loss.common_pairs._FIRST", 9)
    monkeypatch.setattr("shoal.loss.common_pairs._MOST", 30)
    parts = common_pairs(baskets)
    assert all(np.array_equal(getattr(whole, name), getattr(parts, name)) for name in ("one", "other", "rows"))


def test_a_pair_is_kept_within_a_tenth_of_its_count():
    original = Baskets.from_rows([{"a", "b"}] * 20 + [{"c", "d"}] * 20 + [{"e", "f"}] * 20)
    published = Baskets.from_rows([{"a", "b"}] * 18 + [{"a"}] * 2 + [{"c", "d"}] * 17 + [{"d"}] * 3 + [{"e", "F"}] * 20)
    assert pairs_kept(original, published) == pytest.approx(1 / 3)


def test_without_pairs_there_is_none_to_keep():
    baskets = Baskets.from_rows([{"a", "b"}, {"c"}])
    assert pairs_kept(baskets, baskets) is None


def test_a_word_where_ncp_calls_harmless_what_takes_the_information():
    assert worth_notes({"info": 0.3, "ncp": 0.02}, {"exact": 0.0})
    assert not worth_notes({"info": 0.3, "ncp": 0.2}, {"exact": 0.3})
    assert not worth_notes({"info": 0.05, "ncp": 0.01}, {"exact": 0.9})
    (note,) = worth_notes(
        {"info": 0.3, "info_columns": 0.0, "info_items": 0.6, "ncp": 0.0, "ul": 0.1, "items_ncp": 0.01},
        {"exact": 0.1, "cells": 1.0},
    )
    assert note.startswith("NCP says that the items lose 1.0%, but 60% of their information is lost and 10%")


def table():
    random = np.random.default_rng(3)
    ages, items = random.integers(20, 60, 80), [{"abcdef"[i] for i in random.integers(0, 6, 3)} for _ in range(80)]
    columns = (
        Column.from_texts("age", "quasi", map(str, ages)),
        Column.from_texts("sex", "quasi", ("fm"[i % 2] for i in range(80))),
    )
    return Records(columns, Baskets.from_rows(items), sensitive_items=frozenset("f"))


@pytest.mark.parametrize("algorithm", ["rfirst", "tfirst", "rmerge-r"])
def test_a_table_is_worth_what_its_rows_say(algorithm):
    records = table()
    release = shoal.anonymize(records, shoal.RTAnonymity(4, 2), algorithm=algorithm)
    published = release.proposal.published
    covers = {}
    for _, item, token, _ in release.recoding.item_rules():
        covers.setdefault(token, set()).add(item)
    plain = [{name for name in row if name != "f"} for row in records.items.rows()]
    shown = [{name for name in row if name != "f"} for row in published.items.rows()]
    lost, exact = naive(naive_fates(plain, shown, covers))
    assert release.loss["info_items"] == pytest.approx(lost, abs=1e-9)
    assert release.kept["exact"] == pytest.approx(exact)
    cells = [
        before == after
        for name in ("age", "sex")
        for before, after in zip(texts(records[name]), texts(published[name]), strict=True)
    ]
    assert release.kept["cells"] == pytest.approx(sum(cells) / len(cells))
    assert next(iter(release.loss)) == "info"
    assert release.loss["info"] == (release.loss["info_columns"] + release.loss["info_items"]) / 2


def texts(column):
    return [column.values[code] for code in column.codes.tolist()]


@pytest.mark.parametrize("algorithm", ["exact", "hybrid", "lra", "aa"])
def test_sets_are_worth_what_their_rows_say(algorithm):
    random = np.random.default_rng(11)
    items = ("milk", "cheese", "bread", "rolls")
    rows = [{items[i] for i in random.integers(0, 4, 2)} for _ in range(40)] + [{"milk", "rolls"}]
    how = {"suppress": 0.1} if algorithm in ("exact", "hybrid") else {}
    promise = shoal.KmAnonymity(4, 2)
    release = shoal.anonymize(Baskets.from_rows(rows), promise, hierarchy=TREE, algorithm=algorithm, **how)
    lost, exact = naive(naive_fates(rows, [set(row) for row in release.proposal.published.rows()], LEAVES))
    assert release.loss["info"] == pytest.approx(lost, abs=1e-9)
    assert release.kept["exact"] == pytest.approx(exact)
    assert repr(release).endswith(f"{1 - lost:.1%} of the information kept)")


def test_centres_lose_what_they_remove():
    rows = [{"a", "b"}, {"a", "b"}, {"a", "b", "c"}, {"a", "c"}, {"a", "c"}, {"a"}]
    release = shoal.anonymize(Baskets.from_rows(rows), shoal.KAnonymity(3))
    assert release.loss["info"] == pytest.approx(release.loss["removed"])
    assert release.kept["exact"] == pytest.approx(1 - release.loss["removed"])


def test_buckets_lose_the_link_to_the_sensitive_value():
    columns = (
        Column.from_texts("age", "quasi", map(str, range(12))),
        Column.from_texts("disease", "sensitive", ["flu", "gout", "cough", "cold"] * 3),
    )
    rows = polars.DataFrame({column.name: texts(column) for column in columns})
    how = {"algorithm": "anatomy", "quasi": "age", "sensitive": "disease"}
    release = shoal.anonymize(rows, shoal.MatchingDiversity(2), **how)
    values = texts(columns[1])
    buckets = release.recoding.buckets.of_row.tolist()
    lost, _ = naive(
        [(value, bucket, times) for (value, bucket), times in Counter(zip(values, buckets, strict=True)).items()]
    )
    assert release.loss["info"] == pytest.approx(lost)
    assert release.kept == {"cells": 1.0}
