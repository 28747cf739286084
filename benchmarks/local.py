"""Figures on local recoding: what `lra` loses beside the exact optimum among cuts, and how long it takes.

Seconds are those of the algorithms on baskets in memory; every release here has passed the audit for local recoding, which is timed too.
"""

from __future__ import annotations

from km import data, tree
from measuring import Row, peak_mb, timed

OWN = "its own tree"
LOCAL = (
    ("WebView-1", "frequency:5", 2),
    ("WebView-1", "frequency:5", 3),
    ("WebView-1", "balanced:5", 2),
    ("WebView-1", "balanced:5", 3),
    ("WebView-2", "frequency:5", 2),
    ("WebView-2", "frequency:5", 3),
    ("WebView-2", "balanced:5", 2),
    ("retail", "frequency:5", 2),
    ("retail", "balanced:5", 2),
    ("groceries", OWN, 2),
    ("groceries", OWN, 3),
    ("groceries", "frequency:5", 2),
    ("Diabetes-130", OWN, 2),
    ("Diabetes-130", OWN, 3),
    ("Diabetes-130", "frequency:5", 2),
)


def section_local() -> list[Row]:
    return [{"data": name, "hierarchy": spec, "m": m} for name, spec, m in LOCAL]


def warm_up() -> None:
    """Load (or compile) the kernels on tiny data."""
    from shoal.algorithms.km.lra import lra
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import balanced_tree
    from shoal.records.baskets import Baskets

    baskets = Baskets.from_rows([[str(i % 7), str(i % 5), str(i % 3)] for i in range(60)])
    lra(baskets, KmAnonymity(3, 3), balanced_tree(baskets.vocabulary, 2), Options(price="ncp"))


def case_local(data_name: str, hierarchy: str, m: int) -> Row:
    """Local recoding (lra), k = 5, beside the exact optimum among cuts"""
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.km.lra import lra
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.guarantees.km_local import LocalKmAnonymity
    from shoal.price.ncp import leaf_occurrences, local_ncp, ncp

    warm_up()
    baskets, guarantee = data(data_name), KmAnonymity(5, m)
    items = tree(data_name, baskets, hierarchy)
    global_took, cut = timed(lambda: exact(baskets, guarantee, items, Options(price="ncp")), 0, 1)
    took, recoding = timed(lambda: lra(baskets, guarantee, items, Options(price="ncp")), 0, 1)
    published = recoding.apply(baskets)
    audit_took, verdict = timed(lambda: LocalKmAnonymity(5, m, items).audit(published), 0, 1)
    assert verdict.holds
    one = ncp(cut.cut, leaf_occurrences(items, baskets))["ncp"]
    many = local_ncp(items, recoding.node)["ncp"]
    return {
        "data": data_name,
        "hierarchy": hierarchy,
        "m": m,
        "exact NCP": f"{one:.5f}",
        "lra NCP": f"{many:.5f}",
        "lost less": f"{1 - many / one:.1%}" if one else "",
        "exact s": f"{global_took:.2f}",
        "lra s": f"{took:.1f}",
        "audit s": f"{audit_took:.2f}",
        "starting parts": recoding.facts["parts"],
        "peak MB": peak_mb(),
    }
