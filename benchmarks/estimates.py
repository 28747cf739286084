"""How good estimates from a release are: `python benchmarks/estimates.py` prints the table of docs/guide/estimating.md.

Every case is released, written with its certificate, and estimated from these two files and the tree, as a reader would. The 100 commonest
items and pairs of the original, and the rules both ways of these pairs, are then held against the truth.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from measuring import folder
from shoal.cli import main as command

K = 5
CASES: tuple[tuple[str, dict[str, Any]], ...] = (("exact", {}), ("hybrid", {"suppress": 0.1}), ("lra", {}))

UNSEEN = "balanced:5"


def data_sets(room: Path) -> list[tuple[str, Any, Any]]:
    """Name, data and tree of each; the demo is made here. The ranges were not calibrated on those under a balanced tree."""
    with contextlib.redirect_stdout(io.StringIO()):
        command(["demo", str(room / "demo")])
    demo = [("demo", room / "demo" / "baskets.csv", room / "demo" / "hierarchy.csv")]
    public = folder()
    if public is None:
        return demo
    return [
        ("Diabetes-130", public / "diabetes130/diabetes130.dat.gz", public / "diabetes130/diabetes130_items.csv"),
        ("groceries", public / "groceries/groceries.dat.gz", public / "groceries/groceries_hierarchy.csv"),
        ("WebView-1", public / "bms_webview1/bms_webview1.dat.gz", "frequency:5"),
        *demo,
        ("WebView-2", public / "bms_webview2/bms_webview2.dat.gz", UNSEEN),
        ("T10I4D100K", public / "t10i4d100k/t10i4d100k.dat.gz", UNSEEN),
        ("retail", public / "retail/retail.dat.gz", UNSEEN),
    ]


def row_of(data: Any, tree: Any, m: int, algorithm: str, options: dict[str, Any], room: Path) -> list[str]:
    original = shoal.read(data)
    release = shoal.anonymize(original, shoal.KmAnonymity(K, m), hierarchy=tree, algorithm=algorithm, **options)
    if isinstance(tree, str):
        tree = shoal.resolve_hierarchy(tree, original)
    public, certificate = room / "public.jsonl", room / "certificate.json"
    release.write(public, certificate, force=True)
    known = {"hierarchy": tree, "certificate": certificate}

    truth = shoal.estimate_pairs(original, hierarchy=tree)
    pairs = [count.items for count in truth]
    singles = dict(zip(original.vocabulary, original.supports().tolist(), strict=True))
    items = sorted(singles, key=lambda name: (-singles[name], name))[:100]
    both = {count.items: count.value for count in truth}
    rules = [rule for one, other in pairs for rule in ((one, other), (other, one))]

    counts = shoal.estimate_counts(public, items, **known)
    found = shoal.estimate_pairs(public, pairs, **known)
    confidences = [rule.confidence for rule in shoal.estimate_rules(public, rules, **known)]
    together = {count.items: count.least for count in found}
    alone = {
        count.items[0]: count.least for count in shoal.estimate_counts(public, {i for p in pairs for i in p}, **known)
    }
    pair_of = {(one, other): (one, other) if (one, other) in both else (other, one) for one, other in rules}
    naive = [together[pair_of[rule]] / max(1, alone[rule[0]]) for rule in rules]
    cells = [f"{release.loss['deleted']:.1%}"]
    cells += against([singles[name] for name in items], counts, [count.least for count in counts])
    cells += against([both[pair] for pair in pairs], found, [count.least for count in found])
    return cells + against([both[pair_of[rule]] / singles[rule[0]] for rule in rules], confidences, naive)


def against(truth: Sequence[float], ranges: Sequence[shoal.Range], naive: Sequence[float]) -> list[str]:
    """The mean error of what stands in the file and of the estimate, the share of ranges that hold the truth, and their median width."""
    true = np.array(truth)
    value, low, high, least, most = (
        np.array([getattr(one, part) for one in ranges]) for part in ("value", "low", "high", "least", "most")
    )
    close = 1e-9
    assert np.all((true >= least - close) & (true <= most + close)), "a certain range is wrong"
    errors = [float(np.mean(np.abs(figure - true) / true)) for figure in (np.array(naive), value)]
    held = float(np.mean((true >= low - close) & (true <= high + close)))
    return [f"{errors[0]:.1%}", f"{errors[1]:.1%}", f"{held:.0%}", f"{np.median((high - low) / true):.2f}"]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        for data, rows, tree in data_sets(room):
            for m in (2,) if tree == UNSEEN else (2, 3):
                for algorithm, options in CASES[1:] if tree == UNSEEN else CASES:
                    cells = row_of(rows, tree, m, algorithm, options, room)
                    print("| " + " | ".join([data, str(m), f"`{algorithm}`", *cells]) + " |")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
