"""Tables of a run that pages leaf through: the loss of each item, the tree with its cut, the sizes of classes.

The worker writes them as Parquet beside the release, hidden, so that no address leads to them; a page reads the few rows that it shows.
Nothing here decides anything: the recoding says what each item became, `shoal.loss` what that costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.algorithms.recoding import LocalRecoding, Recoding
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding
from shoal.attacks.prosecutor import crowds
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Floats, Ints
from shoal.price.ncp import leaf_occurrences
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.release import Release

FOLDER = ".tables"
ABOVE, PUBLISHED, BELOW, DROPPED = range(4)
"""Where a node of the tree stands: parts of it are published, it is, a node above it is, or nothing of it is."""


def write_tables(folder: Path, release: Release, original: Baskets | Records) -> list[str]:
    """Writes what there is to write about a release, and returns the names."""
    made = {"items": items_table(release, original), "tree": tree_table(release, original)}
    found = {name: table for name, table in made.items() if table is not None}
    target = folder / FOLDER
    target.mkdir(mode=0o700)
    for name, table in found.items():
        pq.write_table(table, target / f"{name}.parquet")
    return sorted(found)


def items_table(release: Release, original: Baskets | Records) -> pa.Table | None:
    """Per original item: occurrences, what it is published as, in how many ways, the share as it is, its NCP. The most lost first."""
    baskets = _baskets(original)
    if baskets is None:
        return None
    recoding = release.recoding
    if isinstance(recoding, Recoding):
        found = _by_cut(recoding, baskets)
    elif isinstance(recoding, LocalRecoding):
        tree = recoding.hierarchy
        items, nodes, times = recoding.counts(baskets)
        cost = np.where(nodes < 0, 1.0, _breadth(tree)[nodes])
        found = _by_ways(baskets, items, np.where(nodes < 0, tree.n_nodes, nodes), times, cost, (*tree.names, ""))
    elif isinstance(recoding, ClusterRecoding) and recoding.tokens is not None:
        found = _by_cluster(recoding, baskets)
    elif "edits" in release.details:
        found = _by_edits(release.details["edits"], baskets)
    else:
        return None
    changed = (1 - np.array(found["exact"])) * np.array(found["occurrences"])
    order = np.lexsort((-np.array(found["occurrences"]), -np.array(found["lost"]), -changed))
    return pa.table(found).take(pa.array(order))


def _by_cut(recoding: Any, baskets: Baskets) -> dict[str, Any]:
    tree, occurrences = recoding.cut.hierarchy, baskets.supports()
    node = recoding.node
    gone = recoding.deletions_by_leaf(baskets)[tree.leaves_of(recoding.vocabulary)]
    cost = _breadth(tree)[np.maximum(node, 0)] * (occurrences - gone) + gone
    lost = np.where(node < 0, 1.0, cost / np.maximum(occurrences, 1))
    names = tree.names
    return {
        "item": list(baskets.vocabulary),
        "occurrences": occurrences,
        "published": [names[v] if v >= 0 else "" for v in node.tolist()],
        "ways": np.where(node < 0, 0, 1).astype(np.int64),
        "exact": np.where(node == tree.leaves_of(recoding.vocabulary), 1 - gone / np.maximum(occurrences, 1), 0.0),
        "lost": lost,
    }


def _by_ways(baskets: Baskets, items: Ints, tokens: Ints, times: Ints, cost: Floats, names: Any) -> dict[str, Any]:
    """Where an item stands as several tokens: `times[i]` times as token `tokens[i]`, each at a cost; one without a name was left out."""
    n, vocabulary = len(baskets.vocabulary), baskets.vocabulary
    occurrences = np.bincount(items, times, minlength=n).astype(np.int64)
    most = np.full(n, -1, np.int64)
    order = np.argsort(times, kind="stable")
    most[items[order]] = tokens[order]  # the last, and so the most frequent, stays
    supports = baskets.supports()
    lost = np.bincount(items, times * cost, minlength=n) / np.maximum(occurrences, 1)
    pairs = zip(tokens.tolist(), items.tolist(), strict=True)
    itself = np.array([names[token] == vocabulary[item] for token, item in pairs], np.bool_)
    changed = np.bincount(items[~itself], times[~itself], minlength=n)
    return {
        "item": list(vocabulary),
        "occurrences": supports,
        "published": [
            names[token] if token >= 0 else item for token, item in zip(most.tolist(), vocabulary, strict=True)
        ],
        "ways": np.maximum(np.bincount(items, minlength=n), 1).astype(np.int64),
        "exact": 1 - changed / np.maximum(occurrences, 1),
        "lost": lost,
    }


def _by_cluster(recoding: Any, baskets: Baskets) -> dict[str, Any]:
    published = recoding.tokens
    items, tokens, times = published.counts()
    called = {name: place for place, name in enumerate(baskets.vocabulary)}
    place = np.array([called[name] for name in published.vocabulary], np.int64)
    size = np.append(np.where(published.sizes > 1, published.sizes, 0), published.sizes.max(initial=1))[tokens]
    total = float((size * times).sum())
    # What a token costs is its size over that of the domain, which may hold items that never occur: the release's own loss tells it.
    cost = size * (float(recoding.items_ncp or 0.0) * int(times.sum()) / total) if total else size.astype(np.float64)
    gone = len(published.tokens)
    return _by_ways(baskets, place[items], np.where(tokens < 0, gone, tokens), times, cost, (*published.tokens, ""))


def _by_edits(edits: Any, baskets: Baskets) -> dict[str, Any]:
    occurrences = baskets.supports()
    removed, added = (
        np.array([edits.get(name, {}).get(side, 0) for name in baskets.vocabulary], np.int64)
        for side in ("removed", "added")
    )
    return {
        "item": list(baskets.vocabulary),
        "occurrences": occurrences,
        "published": [
            "" if gone >= count and not new else name
            for name, gone, new, count in zip(
                baskets.vocabulary, removed.tolist(), added.tolist(), occurrences.tolist(), strict=True
            )
        ],
        "ways": np.ones(len(occurrences), np.int64),
        "exact": 1 - removed / np.maximum(occurrences, 1),
        "lost": removed / np.maximum(occurrences, 1),
        "removed": removed,
        "added": added,
    }


def tree_table(release: Release, original: Baskets | Records) -> pa.Table | None:
    """Per node of the tree: name, node above (-1: none), depth, items and occurrences below, where it stands, and rows that show it."""
    recoding, baskets = release.recoding, _baskets(original)
    if baskets is None or not isinstance(recoding, Recoding | LocalRecoding):
        return None
    tree = recoding.hierarchy if isinstance(recoding, LocalRecoding) else recoding.cut.hierarchy
    if isinstance(recoding, LocalRecoding):
        nodes = np.unique(recoding.node[recoding.node >= 0])
        covered: Ints = np.zeros(0, np.int64)
    else:
        lowest = recoding.cut.lowest().node
        nodes, covered = np.unique(lowest[lowest >= 0]), np.flatnonzero(lowest < 0)
    state = _states(tree, nodes, covered)
    shown = dict(zip(release.published.vocabulary, release.published.supports().tolist(), strict=True))  # type: ignore[union-attr]
    return pa.table(
        {
            "name": list(tree.names),
            "parent": tree.parent.astype(np.int64),
            "depth": tree.depth.astype(np.int64),
            "items": tree.leaf_count,
            "occurrences": tree.sums(leaf_occurrences(tree, baskets)),
            "state": state,
            "rows": [shown.get(name, 0) for name in tree.names],
        }
    )


def _states(tree: Hierarchy, published: Any, dropped_leaves: Any) -> npt.NDArray[np.int8]:
    state = np.full(tree.n_nodes, -1, np.int8)
    state[dropped_leaves] = DROPPED
    state[published] = PUBLISHED
    parent = tree.parent.tolist()
    holds = np.zeros(tree.n_nodes, np.bool_)
    holds[published] = True
    for v in range(tree.n_nodes - 1):  # nodes stand before their parents
        if holds[v]:
            holds[parent[v]] = True
    for v in range(tree.n_nodes - 1, -1, -1):
        if state[v] == PUBLISHED:
            continue
        if holds[v]:
            state[v] = ABOVE
        elif parent[v] >= 0 and state[parent[v]] in (PUBLISHED, BELOW):
            state[v] = BELOW
        else:
            state[v] = DROPPED
    return state


def class_bins(sizes: Ints, k: int) -> list[dict[str, Any]]:
    """How many rows stand in classes of which sizes; the borders are the multiples of k that one asks for."""
    borders = sorted({1, 2, k, 2 * k, 5 * k, 10 * k, 100 * k})
    found = []
    for low, high in zip(borders, [*borders[1:], None], strict=True):
        inside = sizes[(sizes >= low) & (sizes < high)] if high is not None else sizes[sizes >= low]
        name = f"{low:,} or more" if high is None else f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"
        found.append({"size": name, "low": low, "classes": len(inside), "rows": int(inside.sum())})
    return found


def class_sizes(data: Baskets | Records, bucket: str | None = None) -> Ints:
    """Sizes of the classes of equal rows, or of the buckets where a column says which rows share their values."""
    if bucket is not None:
        return np.bincount(data[bucket].codes).astype(np.int64)  # type: ignore[index]
    return crowds(data)[1] if len(data) else np.zeros(0, np.int64)


@dataclass(frozen=True)
class Found:
    """A page of a table."""

    rows: list[dict[str, Any]]
    start: int
    total: int
    """Rows that fit the search."""


def page_of(path: Path, start: int, count: int, *, column: str = "", search: str = "", order: str = "") -> Found:
    """A page of a table: rows whose `column` holds the text searched for, in the table's own order or the largest of `order` first."""
    table = pq.read_table(path)
    if search:
        table = table.filter(pc.match_substring(table[column], search, ignore_case=True))
    return _page(table, start, count, order)


def children_of(
    path: Path, node: int | None, start: int, count: int, search: str = ""
) -> tuple[Found, list[dict[str, Any]]]:
    """A page of the nodes right below a node (None: the root), and the way to it from the root. With a search: of all nodes that fit."""
    table = pq.read_table(path)
    table = table.append_column("node", pa.array(np.arange(len(table))))
    here = len(table) - 1 if node is None or not 0 <= node < len(table) else node
    way = [here]
    while (above := table["parent"][way[-1]].as_py()) >= 0:
        way.append(above)
    if search:
        rest = table.filter(pc.match_substring(table["name"], search, ignore_case=True))
    else:
        rest = table.filter(pc.equal(table["parent"], here))
    return _page(rest, start, count, "occurrences"), table.take(pa.array(way[::-1])).to_pylist()


def _page(table: pa.Table, start: int, count: int, order: str) -> Found:
    if order:
        table = table.take(pc.sort_indices(table, [(order, "descending")]))
    start = min(max(0, start), max(0, (len(table) - 1) // count * count))
    return Found(table.slice(start, count).to_pylist(), start, len(table))


def _breadth(tree: Hierarchy) -> Floats:
    """Per node, the NCP of an occurrence that is published as it."""
    return np.where(tree.leaf_count > 1, tree.leaf_count / tree.n_leaves, 0.0)


def _baskets(data: Any) -> Baskets | None:
    found: Baskets | None = data.items if hasattr(data, "columns") else data
    return found
