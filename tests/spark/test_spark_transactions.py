"""k-anonymous transactions on Spark: `gsc` as locally, `split` in blocks, and never a class of fewer than k rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
import shoal.spark
from shoal.errors import InputError, Unreachable
from shoal.guarantees.k import KAnonymity
from shoal.kernels.classes.gray import gray_order
from shoal.records.baskets import Baskets
from shoal.spark.data.packing import lists
from shoal.spark.search import transactions
from shoal.spark.search.sets.near_rows import gray_places
from strategies import transactions as random_rows

pytestmark = pytest.mark.xdist_group("spark")


def kinds_of_baskets(seed, rows):
    """Rows of a few kinds with some noise: groups that a good order finds."""
    rng = np.random.default_rng(seed)
    kinds = [set(rng.choice(30, 6, replace=False).tolist()) for _ in range(12)]
    return [
        sorted(f"i{i}" for i in kinds[rng.integers(12)] ^ set(rng.choice(30, rng.integers(0, 3)).tolist()))
        for _ in range(rows)
    ]


def frame(spark, rows):
    return spark.createDataFrame([(row,) for row in rows], "items array<string>")


def published_rows(df):
    return Counter(frozenset(row[0]) for row in df.collect())


@given(random_rows(6, max_rows=20))
@settings(max_examples=200, deadline=None)
def test_the_order_of_places_is_the_gray_order(rows):
    baskets = Baskets.from_rows(map(str, row) for row in rows)
    places = gray_places(baskets.offsets, baskets.items).to_pylist()
    by_place = sorted(range(len(rows)), key=lambda row: (places[row], row))
    assert by_place == gray_order(baskets.offsets, baskets.items, len(baskets.vocabulary)).tolist()


@given(st.integers(1, 2_000), st.integers(2, 60), st.sampled_from(["gsc", "split"]), st.sampled_from([1, 7, 100]))
def test_every_block_has_k_rows(n, k, name, size):
    if n < k:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ROWS", size)
        bounds = transactions.block_bounds(n, k, name)
    assert (bounds[0], bounds[-1]) == (0, n)
    assert np.diff(bounds).min() >= k
    if name == "gsc":
        assert not np.any(bounds[:-1] % k)


@given(random_rows(6, max_rows=20), st.integers(2, 5), st.sampled_from(["gsc", "split"]), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_a_block_is_published_in_classes_of_k_with_sensitive_items_as_they_were(rows, k, name, n_hidden):
    if len(rows) < k:
        return
    baskets = Baskets.from_rows([str(i) for i in row] for row in rows)
    hidden = np.arange(len(baskets.vocabulary)) < n_hidden
    place = np.random.default_rng(0).permutation(len(rows)).astype(np.int64)
    table = pa.table({"place": place, "row": np.arange(len(rows)), "items": lists(baskets.offsets, baskets.items)})
    found = transactions._group_block(table, KAnonymity(k), hidden, name, 0)
    row = np.array(found["row"].to_pylist())
    assert row.tolist() == np.argsort(place).tolist()
    original = [
        set(baskets.items[a:b].tolist()) for a, b in zip(baskets.offsets[:-1], baskets.offsets[1:], strict=True)
    ]
    secret = set(np.flatnonzero(hidden).tolist())
    shown = [set(items) - secret for items in found["items"].to_pylist()]
    for at, items in zip(row.tolist(), found["items"].to_pylist(), strict=True):
        assert items == sorted(items)
        assert set(items) & secret == original[at] & secret
    assert min(Counter(map(frozenset, shown)).values()) >= k
    kept = [original[at] - secret for at in row.tolist()]
    assert found["added"].to_pylist() == [len(new - old) for new, old in zip(shown, kept, strict=True)]
    assert found["removed"].to_pylist() == [len(old - new) for new, old in zip(shown, kept, strict=True)]
    sizes = [size for size in found["leads"].to_pylist() if size]
    assert sum(sizes) == len(rows)
    assert min(sizes) >= k


def test_gsc_is_the_local_one_however_many_blocks_there_are(spark, monkeypatch, tmp_path):
    rows = kinds_of_baskets(1, 401)
    here = shoal.anonymize(rows, KAnonymity(4), algorithm="gsc")
    monkeypatch.setattr(transactions, "ROWS", 50)
    release = shoal.spark.anonymize(frame(spark, rows), KAnonymity(4), algorithm="gsc")
    assert release.details["facts"]["blocks"] == 8
    assert dict(release.loss) == dict(here.loss)
    assert release.audit == shoal.audit(here.published, KAnonymity(4)) == here.audit
    assert published_rows(release.published) == Counter(here.published)
    assert release.details["classes"] == {
        name: here.details["classes"][name] for name in ("count", "smallest", "largest", "average")
    }
    certificate = release.write(tmp_path / "public")
    assert certificate["audit"]["smallest_class"] == 4
    for part, said in here.proposal.certified().items():
        assert certificate[part] == said
    assert certificate["holds"]
    release.forget()


def test_split_keeps_the_promise_in_every_block_and_loses_little_more_than_locally(spark, monkeypatch, brought):
    rows = kinds_of_baskets(2, 900)
    here = shoal.anonymize(rows, KAnonymity(5))
    monkeypatch.setattr(transactions, "ROWS", 150)
    df = frame(spark, rows)
    with brought() as tables:
        release = shoal.spark.anonymize(df, KAnonymity(5))
    # Names of 30 items, lengths per partition, counts: no row.
    assert max(table.num_rows for table in tables) <= 60
    assert max(table.nbytes for table in tables) < 3_000
    assert release.algorithm == "split"
    assert release.details["facts"]["blocks"] == 6
    assert release.audit.holds
    assert sum(published_rows(release.published).values()) == 900
    assert min(published_rows(release.published).values()) >= 5
    # 13.98 % against 13.63 % when this was written: rows of different blocks never share a class.
    assert here.loss["il"] <= release.loss["il"] < 1.05 * here.loss["il"]
    release.forget()


def test_sensitive_items_travel_beside_the_centres(spark):
    rows = [(row, ["x"] if i % 3 else ["y", "x"]) for i, row in enumerate(kinds_of_baskets(3, 60))]
    df = spark.createDataFrame(rows, "items array<string>, ill array<string>")
    release = shoal.spark.anonymize(df, KAnonymity(3), items="items", sensitive="ill")
    assert release.published.columns == ["items", "ill"]
    assert Counter(frozenset(row.ill) for row in release.published.collect()) == Counter(
        frozenset(ill) for _, ill in rows
    )
    assert release.guarantee.sensitive == {"x", "y"}
    assert shoal.audit(release.published.toArrow(), KAnonymity(3), items="items", sensitive="ill").holds
    release.forget()


@pytest.mark.parametrize(
    ("guarantee", "given", "message"),
    [
        (KAnonymity(2), {"algorithm": "pta"}, "pta does not run on Spark: .*; use split or gsc"),
        (KAnonymity(2), {"algorithm": "gray-tsp"}, "gray-tsp does not run on Spark"),
        (KAnonymity(2, l=2, sensitive=["a"]), {}, "merged with their neighbours"),
        (KAnonymity(2), {"time_limit": 3}, "time limit has no use"),
        (KAnonymity(2), {"hierarchy": "balanced:3"}, "hierarchy"),
    ],
)
def test_what_is_not_for_spark_is_refused_with_the_reason(guarantee, given, message):
    with pytest.raises(InputError, match=message):
        shoal.spark.anonymize(object(), guarantee, **given)


def test_fewer_rows_than_k_are_refused(spark):
    with pytest.raises(Unreachable, match="only 3 transactions"):
        shoal.spark.anonymize(frame(spark, [["a"]] * 3), KAnonymity(4))
