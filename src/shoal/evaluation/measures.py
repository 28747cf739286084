"""The measures of a release, one entry each: what it needs, how it is computed, and how it is said.

A new measure is a function of a `Pair` and an entry in `MEASURES`. Its name says where it stands in `Evaluation.to_dict`. A pair that lacks
what a measure needs does not define it; a function raises `Undefined` where it finds out more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.analysis.answers import reader_estimates
from shoal.attacks.linkage import Linkage, linkage
from shoal.attacks.prosecutor import ProsecutorRisk, crowds, prosecutor
from shoal.errors import InputError, Message, option
from shoal.evaluation.pair import Pair
from shoal.evaluation.uniqueness import Curve, uniqueness_curve
from shoal.guarantees.k import open_and_sensitive
from shoal.loss.associations import associations, confidence_error, identification_error
from shoal.loss.class_sizes import class_figures
from shoal.loss.frequencies import FrequencyError, frequency_error
from shoal.loss.pairs import Pairs, RuleErrors, rule_errors
from shoal.loss.published import ItemsLoss, columns_loss, items_loss
from shoal.loss.queries import Query, answers, estimates
from shoal.loss.workloads import random_workload
from shoal.loss.worth import ColumnRemains, ItemsRemains, width_words
from shoal.numbers import Floats, Ints
from shoal.price.edits import edits
from shoal.price.ul import ul
from shoal.records.buckets import Buckets, sensitive_column, sensitive_views
from shoal.records.records import Records

ASSOCIATED = 2
"""Conditions in a rule about a sensitive column, at most."""

Line = tuple[str, str, str]
"""What is measured, the figure, and a remark."""


class Undefined(Exception):  # noqa: N818 - reads as what it says
    """A measure is not defined for a pair, and why."""


@dataclass(frozen=True)
class Need:
    """What a pair must have for a measure to make sense. Nobody is surprised where it has not."""

    is_met: Callable[[Pair], bool]
    reason: str
    """Empty for what is left out without a word."""


@dataclass(frozen=True)
class Stage:
    """What a user reads while it is computed, and the share of the work that is done before."""

    doing: str
    share: float


@dataclass(frozen=True)
class Measure:
    """A figure, or a few, about a pair of files."""

    name: str
    compute: Callable[[Pair], Any]
    """What comes of it has `to_dict`, or is plain."""
    needs: tuple[Need, ...] = ()
    stage: Stage = Stage("reading", 0.0)
    lines: Callable[[Any], Iterator[Line]] = lambda value: iter(())
    """How it is said in a table of words; for those of `loss` and `utility`."""
    title: str | None = None
    """What it is called where it is not defined, though a user may expect it."""
    beside: str | None = None
    """Another measure, without which this one is not worth a line."""

    def value(self, pair: Pair) -> Any:
        for need in self.needs:
            if not need.is_met(pair):
                raise Undefined(need.reason)
        return self.compute(pair)


def _query_columns(pair: Pair) -> list[str]:
    names = [column.name for column in pair.original.of_role("quasi")]
    return [*names, *(each.sensitive for each in pair.buckets)]


ITEMS = Need(lambda pair: pair.meanings.tokens is not None, "not defined for tables without items")
COLUMNS = Need(
    lambda pair: bool(pair.meanings.cells), "not defined for files of sets: there are no quasi-identifier columns"
)
BUCKETS = Need(lambda pair: bool(pair.buckets), "not defined for releases without buckets")
WORTH = (Need(lambda pair: pair.meanings.tokens is not None or bool(pair.meanings.cells), ""),)
ROWS = Need(lambda pair: pair.chunks is None, "not defined for releases in chunks: no row is published")
QUERY_ITEMS = Need(ITEMS.is_met, "not defined: there are no items")
QUERY_COLUMNS = Need(lambda pair: bool(_query_columns(pair)), "not defined: there are no quasi-identifier columns")
WORKLOAD = Need(lambda pair: pair.workload is not None, "")
QUERIES = Need(lambda pair: pair.asked["queries"] > 0, "none were asked for")


def _lost(name: str) -> Callable[[Pair], float]:
    """The share of the information that is lost, of tables also by side."""
    return lambda pair: _told(pair.worth[0].lost, name)


def _kept(name: str) -> Callable[[Pair], float]:
    """The share of what is published as it is."""
    return lambda pair: _told(pair.worth[0].kept, name)


def _told(shares: Mapping[str, float], name: str) -> float:
    if name not in shares:
        raise Undefined("")
    return shares[name]


def _kept_line(what: str, remark: str) -> Callable[[float], Iterator[Line]]:
    return lambda share: iter([(what, f"{share:.1%}", remark)])


def _remains(name: str) -> Callable[[Pair], Any]:
    """What is left of the columns or of the items, in a clinician's words."""

    def remains(pair: Pair) -> Any:
        found = pair.worth[0].remains
        if name not in found:
            raise Undefined("")
        return found[name]

    return remains


def _columns_remain_lines(columns: Mapping[str, ColumnRemains]) -> Iterator[Line]:
    for name, remains in columns.items():
        yield f"  {name}", f"{remains['exact']:.1%}", f"median width {width_words(remains)}"


def _items_remain_lines(items: ItemsRemains) -> Iterator[Line]:
    if items["width"] > 1:
        yield "", "", f"the median published one stands for {items['width']:,.0f} items"


def _estimated_lines(estimated: bool) -> Iterator[Line]:
    if estimated:
        yield "", "", "estimated from counts, for rows need not correspond"


def _items(pair: Pair) -> ItemsLoss:
    """NCP of the items."""
    rules, hidden = pair.meanings.rules, pair.original.sensitive_items
    spread = None if pair.asked["same_order"] or pair.meanings.cells else pair.item_fates[0]
    loss = items_loss(*pair.sets, sensitive=hidden, same_order=pair.asked["same_order"], spread=spread)
    if loss.added or (rules is not None and rules.model == "k"):
        raise Undefined("not defined for releases that add items: items added and removed are the measure")
    return loss


def _items_lines(loss: ItemsLoss) -> Iterator[Line]:
    yield "items (NCP)", f"{loss.ncp:.2%}", "estimated from counts" if loss.estimated else ""
    yield "  generalized", f"{loss.generalized:.2%}", ""
    yield "  deleted", f"{loss.deleted:.2%}", "of the original occurrences"


def _columns(pair: Pair) -> Mapping[str, Any]:
    """NCP of the quasi-identifier columns."""
    return columns_loss(pair.original, pair.published, pair.meanings.cells, pair.asked.get("weights") or {})


def _columns_lines(loss: Mapping[str, Any]) -> Iterator[Line]:
    yield "columns (NCP)", f"{loss['ncp']:.2%}", ""
    for name, share in loss["by_column"].items():
        yield f"  {name}", f"{share:.2%}", ""


def _edits(pair: Pair) -> Mapping[str, float]:
    """Items added and removed, row by row."""
    before, after = pair.open_sets
    rules = pair.meanings.rules
    if pair.asked["same_order"]:
        if set(after.vocabulary) - set(before.vocabulary):
            raise Undefined("not defined for releases that generalize items: a token is not an item")
        return edits(before, after).loss()
    if rules is None or rules.added is None or rules.removed is None:
        raise Undefined(
            Message(
                f"not defined where rows are shuffled; pass {option('same_order')} if rows correspond, or the {option('rules')} of a "
                "k-anonymous release"
            )
        )
    added, removed = (count / max(1, before.occurrences) for count in (rules.added, rules.removed))
    return {"il": added + removed, "added": added, "removed": removed}


def _edits_lines(loss: Mapping[str, float]) -> Iterator[Line]:
    yield "items (IL)", f"{loss['il']:.2%}", "of the original occurrences"
    yield "  added", f"{loss['added']:.2%}", ""
    yield "  removed", f"{loss['removed']:.2%}", ""


def _ul(pair: Pair) -> Mapping[str, Any]:
    """UL of the published items, and of the original ones: the measure is not 0 where nothing is generalized."""
    before, after = pair.open_sets
    meanings = pair.sets[2]
    sizes = dict(zip(meanings.tokens, meanings.sizes.tolist(), strict=True))
    return {
        "original": ul(before, np.ones(len(before.vocabulary), np.int64))["ul"],
        "published": ul(after, np.array([sizes[token] for token in after.vocabulary], np.int64))["ul"],
    }


def _ul_lines(loss: Mapping[str, float]) -> Iterator[Line]:
    yield "items (UL)", f"{loss['published']:.2%}", f"of the original itself: {loss['original']:.2%}"


def _ambiguity(pair: Pair) -> float:
    """The chance to miss a row's own sensitive value when guessing by its bucket, an average over the sensitive columns."""
    return float(np.mean([_missed(each) for each in pair.buckets]))


def _missed(buckets: Buckets) -> float:
    total = len(buckets.of_row)
    # A value that c of n rows of a bucket have is guessed right for these c with a chance of c / n.
    right = float((buckets.counts * buckets.share).sum())
    return 1 - right / total if total else 0.0


def _ambiguity_lines(chance: float) -> Iterator[Line]:
    yield "ambiguity", f"{chance:.2%}", "a guess by the bucket misses the row's own value"


def _classes(pair: Pair) -> dict[str, Mapping[str, Any]]:
    """Class sizes, before and after; of a bucketized release also of its buckets."""
    k, with_items = pair.asked["k"], not pair.meanings.cells
    gone = max(0, len(pair.original) - len(pair.published))
    figures: dict[str, Mapping[str, Any]] = {
        "before": class_figures(crowds(pair.original, items=with_items)[1], k),
        "after": class_figures(crowds(pair.published, items=with_items)[1], k, gone),
    }
    return figures | {"buckets": class_figures(pair.buckets[0].sizes, k, gone)} if pair.buckets else figures


def _frequencies(pair: Pair) -> FrequencyError:
    return frequency_error(*pair.sets, pair.original.sensitive_items)


def _frequencies_lines(error: FrequencyError) -> Iterator[Line]:
    figures = error.to_dict()
    yield "count of an item", f"{figures['weighted']:.2%}", "off, an average over all occurrences"
    yield "", f"{figures['median']:.2%}", "off at most, half of the items"
    yield "", f"{figures['exact']:.1%}", "of the items have their true count"


def _pairs(pair: Pair) -> Pairs:
    if not len(pair.followed):
        raise Undefined("no two items of the original share two rows")
    return pair.followed


def _pairs_lines(followed: Pairs) -> Iterator[Line]:
    figures = followed.to_dict()
    yield (
        "frequent pairs",
        f"{figures['survival']:.1%}",
        f"of the {figures['top']:,} most frequent are so in the release",
    )
    yield "", f"{figures['support_error']:.2%}", "off, the counts of these pairs on average"


def _rules(pair: Pair) -> RuleErrors:
    return rule_errors(_pairs(pair), *pair.sets, sensitive=pair.original.sensitive_items)


def _rules_lines(errors: RuleErrors) -> Iterator[Line]:
    yield from _rule_lines("rules", "(a => b)", errors.to_dict())


def _rule_lines(name: str, form: str, figures: Mapping[str, Any]) -> Iterator[Line]:
    if figures["rules"]:
        yield name, f"{figures['missed']:.1%}", f"of {figures['rules']:,} rules {form} are missed"
        yield "", f"{figures['extra']:.1%}", "as many are shown that the original does not have"
        yield "", f"{figures['confidence_error']:.2%}", "off, their confidence on average"


def _associations(pair: Pair) -> Mapping[str, Any]:
    """Of a bucketized release: rules X => s about its sensitive columns, their confidence and which there are."""
    views = {sensitive_column(view).name: view for view in sensitive_views(pair.original)}
    columns = [_associations_of(pair, views[each.sensitive], each) for each in pair.buckets]
    if len(columns) == 1:
        return columns[0]
    rules = sum(column["rules"] for column in columns)
    figures = {"rules": rules, "shown": sum(column["shown"] for column in columns)}
    for name in ("confidence_error", "missed", "extra"):
        figures[name] = sum((column[name] or 0.0) * column["rules"] for column in columns) / max(1, rules)
    return figures


def _associations_of(pair: Pair, original: Records, buckets: Buckets) -> dict[str, Any]:
    threads = pair.asked.get("threads")
    trees = {name: tree for name, tree in pair.meanings.trees.items() if tree is not None}
    true, shown = (associations(data, trees, max_length=ASSOCIATED, threads=threads) for data in (original, buckets))
    error = identification_error(true, shown)
    return {
        "rules": len(true),
        "confidence_error": confidence_error(true, buckets, threads=threads),
        "shown": len(shown),
        "missed": error.false_negative,
        "extra": error.false_positive if len(true) or not len(shown) else None,
    }


def _associations_lines(figures: Mapping[str, Any]) -> Iterator[Line]:
    yield from _rule_lines("rules on values", "(X => s)", figures)


def _queries(kind: str) -> Callable[[Pair], Mapping[str, Any]]:
    """ARE of random queries of a kind."""

    def errors(pair: Pair) -> Mapping[str, Any]:
        items = pair.original.items
        try:
            drawn = random_workload(
                pair.original,
                pair.asked["queries"],
                kind,  # type: ignore[arg-type]
                pair.asked["seed"],
                columns=_query_columns(pair) or None,
                n_items=2 if items is not None and items.longest > 1 else 1,
            )
        except InputError as error:
            raise Undefined(str(error)) from error
        return _answers(pair, drawn)

    return errors


def _workload(pair: Pair) -> Mapping[str, Any]:
    return _answers(pair, pair.workload or ())


def _answers(pair: Pair, workload: tuple[Query, ...]) -> dict[str, Any]:
    """Errors of what a reader would answer; where items are asked for, also of what they are in the reading of the RT paper."""
    threads = pair.asked.get("threads")
    truth, given = answers(pair.original, workload, threads=threads), (workload, pair.original, pair.meanings.trees)
    if pair.buckets:
        return _errors(estimates(pair.buckets, *given, threads=threads), truth)
    asks_for_items = any(query.items for query in workload)
    deleted = pair.deleted if asks_for_items else 0.0
    told = reader_estimates(pair.published, *given, meanings=pair.meanings.tokens, deleted=deleted, threads=threads)
    figures = _errors(told, truth)
    if asks_for_items:
        figures["paper"] = None
        if not pair.meanings.crossing:
            figures["paper"] = _errors(estimates(pair.published, *given, threads=threads), truth)
            del figures["paper"]["queries"]
    return figures


def _errors(told: Floats, truth: Ints) -> dict[str, Any]:
    errors = np.abs(told - truth) / np.maximum(truth, 1)
    return {
        "queries": len(errors),
        "are": float(errors.mean()) if len(errors) else 0.0,
        "median": float(np.median(errors)) if len(errors) else 0.0,
        "worst": float(errors.max(initial=0.0)),
    }


def _queries_lines(name: str) -> Callable[[Mapping[str, Any]], Iterator[Line]]:
    def lines(figures: Mapping[str, Any]) -> Iterator[Line]:
        told = f"the answers to {figures['queries']:,}; half of them at most {figures['median']:.2%}"
        yield name, f"{figures['are']:.2%}", f"off (ARE), {told}"

    return lines


def _prosecutor(pair: Pair) -> Mapping[str, ProsecutorRisk]:
    """Before and after, for who knows everything."""
    return {
        side: prosecutor(data, pair.asked["k"], threads=pair.asked.get("threads")) for side, data in pair.sides.items()
    }


def _prosecutor_m(pair: Pair) -> Mapping[str, ProsecutorRisk]:
    """Before and after, for who knows up to m items."""
    return {
        side: prosecutor(data, pair.asked["k"], pair.asked["m"], threads=pair.asked.get("threads"))
        for side, data in pair.sides.items()
    }


def _uniqueness(pair: Pair) -> Mapping[str, Curve]:
    """Before and after, for who knows m = 0 (in tables), 1, 2, ... items; sensitive ones nobody knows."""
    curves = {}
    for side, records in pair.sides.items():
        sets = None if records.items is None else open_and_sensitive(records.items, records.sensitive_items)[0]
        curves[side] = uniqueness_curve(
            records, sets, pair.asked["k"], pair.asked["m"], threads=pair.asked.get("threads")
        )
    return curves


def _linkage(pair: Pair) -> Linkage:
    return linkage(
        pair.original,
        pair.published,
        {name: tree for name, tree in pair.meanings.trees.items() if name in pair.meanings.cells},
        meanings=pair.meanings.tokens,
        sample=pair.asked["sample"],
        m=pair.asked["m"],
        k=pair.asked["k"],
        seed=pair.asked["seed"],
    )


_KEEPING = Stage("counting what is kept", 0.1)
_COUNTING = Stage("counting items and pairs", 0.15)
_ASKING = Stage("asking queries", 0.3)
_CLASSES = Stage("counting classes", 0.55)
_ITEMSETS = Stage("counting itemsets", 0.65)
_LINKING = Stage("linking people", 0.9)
_LAST = Stage("looking at single tokens and buckets", 0.95)

MEASURES = (
    Measure(
        "kept.info", lambda pair: 1 - pair.worth[0].lost["info"], WORTH, _KEEPING, _kept_line("information kept", "")
    ),
    Measure("kept.exact", _kept("exact"), WORTH, _KEEPING, _kept_line("items as they are", "of all item occurrences")),
    Measure("kept.items", _remains("items"), WORTH, _KEEPING, _items_remain_lines),
    *(
        Measure(f"kept.{name}", _kept(name), WORTH, _KEEPING, _kept_line(what, remark))
        for name, what, remark in (
            ("pairs", "pairs kept", "of the 100 commonest pairs: both items as they are, the count within 10%"),
            ("cells", "cells as they are", "of the quasi-identifiers"),
        )
    ),
    Measure("kept.columns", _remains("columns"), WORTH, _KEEPING, _columns_remain_lines),
    Measure("kept.estimated", lambda pair: pair.worth[1], WORTH, _KEEPING, _estimated_lines),
    *(Measure(f"loss.{name}", _lost(name), WORTH, _KEEPING) for name in ("info", "info_columns", "info_items")),
    Measure("loss.items", _items, (ITEMS, ROWS), lines=_items_lines, title="NCP of the items"),
    Measure("loss.columns", _columns, (COLUMNS,), lines=_columns_lines),
    Measure("loss.edits", _edits, (ITEMS, ROWS), lines=_edits_lines, title="items added and removed"),
    Measure("loss.ul", _ul, (ITEMS, ROWS), _LAST, _ul_lines, beside="loss.columns"),
    Measure("loss.ambiguity", _ambiguity, (BUCKETS,), _LAST, _ambiguity_lines),
    Measure("loss.classes", _classes, (ROWS,), _CLASSES),
    Measure("utility.frequencies", _frequencies, (ITEMS,), _COUNTING, _frequencies_lines),
    Measure("utility.pairs", _pairs, (ITEMS,), _COUNTING, _pairs_lines, "pairs"),
    Measure("utility.rules", _rules, (ITEMS,), _COUNTING, _rules_lines),
    Measure("utility.associations", _associations, (BUCKETS,), _LAST, _associations_lines),
    *(
        Measure(f"utility.queries.{kind}", _queries(kind), (*needs, QUERIES), _ASKING, _queries_lines(title), title)
        for kind, title, needs in (
            ("relational", "queries on columns", (QUERY_COLUMNS,)),
            ("items", "queries on items", (QUERY_ITEMS,)),
            ("mixed", "queries on both", (QUERY_ITEMS, QUERY_COLUMNS)),
        )
    ),
    Measure("utility.queries.workload", _workload, (WORKLOAD,), _ASKING, _queries_lines("your queries")),
    Measure("risk.prosecutor", _prosecutor, (ROWS,), _CLASSES),
    Measure("risk.prosecutor_m", _prosecutor_m, (ROWS,), _ITEMSETS),
    Measure("risk.uniqueness", _uniqueness, (ROWS,), _ITEMSETS),
    Measure("risk.linkage", _linkage, (ROWS,), _LINKING),
)
"""In the order of `to_dict`; they are computed stage by stage."""
