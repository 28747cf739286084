"""Tables: clusters of rows that are published alike in their quasi-identifier columns, with items generalized inside each.

For (k,k^m)-anonymity, (k,l^m)-diversity, and k-anonymity of tables without items. The relational side loses NCP, the items lose
UL and `items_ncp`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms import algorithm, entry, kind_of
from shoal.algorithms.km.learning import learner
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.blocks import within_limits
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, ItemTokens, RTOptions
from shoal.algorithms.rt.merges import one_class
from shoal.algorithms.rt.weighing.outliers import without_outliers
from shoal.certificate.disclosure import Figure, disclose, disclose_columns, tells_widths, untold_leaves
from shoal.certificate.facts import hierarchy_facts
from shoal.errors import InputError, near_miss, number_of, option
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.kinds.shifts import moved_dates
from shoal.hierarchy.meanings import cell_meanings
from shoal.hierarchy.spec import Values, column_hierarchy, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import pairs_kept
from shoal.loss.fates import column_fates, row_fates
from shoal.loss.readers_view import exact_pairs, exact_share
from shoal.loss.relational import ANYTHING
from shoal.loss.worth import Names, Worth, columns_worth, items_worth, table_worth, worth_notes
from shoal.models import Proposal, Roles, basket_details, basket_notes
from shoal.models.empty_words import empty_warnings, first_notes, idle_trees
from shoal.models.km import BY_CATEGORY, ONE_BY_ONE, SUPPRESS_IN_TABLES, deletion_warnings, with_defaults
from shoal.numbers import Ints
from shoal.price.information import weighted_median
from shoal.price.ncp import published_ncp
from shoal.records.formats.peek import column_names
from shoal.records.records import Column, Records
from shoal.records.roles import name_list, named_columns
from shoal.records.source import Source, load_records, mark_sensitive
from shoal.records.spelling.set_cells import check_single_values

WORTH_A_LOOK = 0.2
"""Columns that lose more than this by a bound that nobody asked for are worth a word."""
WITHOUT_COLUMNS = ("joint", "rfirst")
"""Algorithms that a table without quasi-identifier columns may name: with one class of all rows they come to the same."""
ITEMS_ALONE = (
    "No column is a quasi-identifier: an attacker is taken to know items of a person, and of the columns nothing. Columns beside the items "
    "are published as they are."
)
"""For readers of a certificate."""
RT = ("delta", "formation", "transaction", "ordering", "rum", "weights", "limits", "item_weights", "balance")


def read(data: Any, guarantee: Any, roles: Roles, reading: Mapping[str, Any]) -> tuple[Source, Any]:
    """The table with a role for every column; sensitive are columns, or items by name or in a column of their own."""
    asked = {name: value for name, value in reading.items() if value is not None}
    with_items = kind_of(guarantee) != "table"
    columns = [] if isinstance(data, Records) else column_names(data, asked.get("format"))
    if with_items and "items" not in asked and "items" in columns:
        asked["items"] = "items"
    if not with_items and "items" in asked:
        raise InputError(
            f"{guarantee} is about tables without items; leave out {option('items')}, or ask for {option('model', 'rt')}"
        )
    given = {"quasi": roles.quasi, "keep": roles.keep}
    named, items = _sensitive(roles.sensitive, columns, guarantee, with_items=with_items)
    if items is not None and len(items) == 1 and items[0] in columns:
        given["sensitive_sets"], items = items[0], None
    source = load_records(data, sensitive=named, **asked, **{role: names for role, names in given.items() if names})
    if not len(source.records):
        raise InputError(f"{source.name} has no rows; there is nothing to publish")
    records = source.records
    if not with_items and not records.of_role("quasi"):
        raise InputError(
            f"{source.name}: no column is named as quasi-identifier; name what an attacker may know with {option('quasi')}"
        )
    if guarantee.looks_at_values or (with_items and records.of_role("sensitive")):
        check_single_values(records, source.name, None if with_items else asked.get("separator"))
        guarantee = guarantee.about(records)
    if items is not None:
        records = mark_sensitive(records, items)
        source = replace(source, records=records)
    return _with_moved_dates(_with_gaps(source, roles.missing or {}), roles.shift or {}), guarantee


def _with_moved_dates(source: Source, shift: Mapping[str, float]) -> Source:
    """The table with the dates of these columns moved, in each row by days that are drawn here and nowhere kept."""
    records = source.records
    known = {column.name: column for column in records.columns if column.role in ("quasi", "keep")}
    days = {}
    for name, most in shift.items():
        if name not in known:
            raise InputError(
                f"shift of {name!r}: there is no such quasi-identifier or kept column; there are {', '.join(known)}"
            )
        if most < 1 or most != int(most):
            raise InputError(f"shift of {name!r} is {most:g} days; give a whole number of at least 1")
        if most not in days:
            days[most] = np.random.default_rng(int.from_bytes(os.urandom(16))).integers(
                -int(most), int(most) + 1, len(records)
            )
    moved = {}
    for name, most in shift.items():
        try:
            codes, values = moved_dates(known[name].values, known[name].codes.astype(np.int64), days[most])
        except InputError as error:
            raise InputError(f"shift of {name!r}: {error}") from error
        moved[name] = replace(
            Column.from_codes(name, known[name].role, codes.astype(np.int32), values, numeric=False),
            gap=known[name].gap,
        )
    columns = tuple(moved.get(column.name, column) for column in records.columns)
    return replace(source, records=replace(records, columns=columns)) if shift else source


def _with_gaps(source: Source, missing: Mapping[str, str]) -> Source:
    """The table without rows that go because a value is missing, and with what else is published for such a value."""
    records = source.records
    known = [column.name for column in records.of_role("quasi")]
    for name, reading in missing.items():
        if name not in known:
            raise InputError(
                f"missing values of {name!r}: there is no such quasi-identifier; there are {', '.join(known)}"
            )
        if reading not in ("value", "unknown", "drop"):
            raise InputError(
                f"missing values of {name!r} are read as {reading!r}, which is not known; choose value, unknown or drop"
            )
    gone = [name for name, reading in missing.items() if reading == "drop"]
    stays = np.logical_and.reduce([np.ones(len(records), np.bool_), *(records[name].filled for name in gone)])
    if not stays.any():
        raise InputError(f"every row lacks a value of {', '.join(gone)}, so that none is left; choose unknown or value")
    notes = source.notes
    if not stays.all():
        records = records.take(np.flatnonzero(stays))
        lost = int(np.count_nonzero(~stays))
        notes += (f"{lost:,} of {len(stays):,} rows lack a value of {', '.join(gone)} and were left out",)
    columns = tuple(
        replace(column, gap=ANYTHING) if missing.get(column.name) == "unknown" else column for column in records.columns
    )
    return replace(source, records=replace(records, columns=columns), notes=notes) if missing else source


def _sensitive(
    given: Any, columns: list[str], guarantee: Any, *, with_items: bool
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """(columns of single values, names of items or the column that holds them).

    Beside items one column holds sets of sensitive items, unless something is said of its values; several hold one value each.
    """
    if given is None:
        return (), None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not with_items:
        return names, None
    single = [] if any(isinstance(name, os.PathLike) for name in names) else named_columns(names, columns)
    are_columns = bool(single) and set(single) <= set(columns)
    if are_columns and (len(single) > 1 or guarantee.looks_at_values):
        return tuple(single), None
    if guarantee.looks_at_values and columns:
        raise InputError(
            f"{guarantee} is about sensitive columns of one value a row, and {option('sensitive')} names something else; name such columns"
        )
    return (), names


def proposal(source: Source, guarantee: Any, request: Mapping[str, Any], options: Options) -> Proposal:
    """Cluster, merge and generalize. `request` has `algorithm`, `hierarchy` (a spec per column) and the options of the RT paper."""
    records = source.records
    kind = kind_of(guarantee)
    name, home = entry(kind, request["algorithm"])
    if guarantee.model == "lm" and not records.sensitive_items and not records.of_role("sensitive"):
        raise InputError(
            f"{guarantee} needs sensitive items or columns; name them, or the column of the items, with {option('sensitive')}"
        )
    if kind == "table":
        guarantee.check_sensitive(records)
    else:
        guarantee.values.check(records)
    rt = RTOptions(**{name: request[name] for name in RT if request[name] is not None})
    if kind != "table":
        options = with_defaults(rt.transaction, request, options, SUPPRESS_IN_TABLES)
    trees = hierarchies(records, request["hierarchy"], request["unknown"], guarantee, options)
    share, all_rows, everybody = request["suppress_rows"] or 0.0, len(records), records
    run = algorithm(kind, name) if records.of_role("quasi") else _alone(name)
    stay: Ints | None
    if home.uniform:
        recoding = run(records, guarantee, trees, options, replace(rt, suppress_rows=share))
        stay = recoding.stay
    elif share:
        stay, recoding = without_outliers(run, records, guarantee, trees, options, rt, share)
    else:
        stay, recoding = None, within_limits(run, records, guarantee, trees, options, rt)
    if stay is not None:
        records = records.take(stay)
    options.tell("recoding", 0.0)
    published = recoding.apply(records)
    worth = worth_of(records, published, recoding, rt, trees)
    counted = worth_of(records, published, recoding, rt, trees, everybody) if share else worth
    loss = {**counted.lost, **(_among_all(recoding.loss, records, everybody) if share else recoding.loss)}
    sizes = np.bincount(recoding.of_row)
    classes = {
        "count": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "average": float(sizes.mean()),
    }
    details: dict[str, Any] = {
        "columns": {column.name: column.role for column in records.columns},
        "classes": classes,
        "ncp_by_column": {
            name: 1 - len(records) / all_rows * (1 - lost) for name, lost in recoding.ncp_by_column.items()
        }
        if share
        else dict(recoding.ncp_by_column),
        **({"suppressed_rows": all_rows - len(records)} if share else {}),
        "facts": dict(recoding.facts),
        "hierarchy": {column: None if tree is None else tree.source for column, tree in trees.items()},
    }
    if records.items is not None and published.items is not None:
        details |= basket_details(records.items, published.items)
    kept = [column.name for column in records.of_role("keep")]
    warnings = (
        *shift_warnings(request["shift"] or {}, kept),
        *warnings_of(
            [name for name in kept if name not in (request["shift"] or {})], trees, request["missing_quasi"] or {}
        ),
    )
    if records.items is not None:
        warnings += tuple(item_warnings(rt, options))
    if share:
        warnings += (row_warning(share),)
    if not records.of_role("quasi"):
        warnings += (ITEMS_ALONE,)

    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=recoding,
        algorithm=name,
        loss=loss,
        kept=counted.kept,
        remains=counted.remains,
        parameters=parameters_of(request, home.options, options, rt),
        optimal=recoding.optimal,
        hurried=recoding.hurried,
        bound=recoding.bound,
        details=details,
        certified=_Certified(records, published, recoding, trees, worth, rt, guarantee.k, share, request["unknown"]),
        warnings=(*empty_warnings(published, trees), *warnings),
        notes=tuple(first_notes(records, published, recoding, trees))
        + source.notes
        + (basket_notes(records.items, empty_stay=True) if records.items is not None else ())
        + recoding.notes
        + (worth_notes(loss, worth.kept) if records.items is not None else ())
        + _bound_advice(recoding, rt)
        + ((row_note(all_rows - len(records), all_rows),) if share else ())
        + warnings,
        idle_trees=idle_trees(records, published, recoding, trees),
        stay=stay,
        rules=partial(_rules, recoding, sizes),
        rules_note="names every original item of every cluster, rare ones too",
    )


@dataclass(frozen=True)
class _Certified:
    """What a certificate says of a table, found out where one is written."""

    records: Records
    published: Records
    recoding: ClusterRecoding
    trees: Mapping[str, Hierarchy | None]
    worth: Worth
    rt: RTOptions
    k: int
    share: float
    """Of the rows, that may be left out."""
    unknown: str | None

    def __call__(self) -> dict[str, Any]:
        recoding, published, trees, items = self.recoding, self.published, self.trees, self.records.items_name
        items_tree = trees.get(items)
        # Nobody sees how far the numbers of rows go that were left out.
        unclear = {
            name for name, told in recoding.values.items() if trees[name] is None and (self.share or ANYTHING in told)
        }
        facts = certified_facts(
            {**recoding.loss, **_items_ncp(recoding, published, items_tree)},
            recoding.ncp_by_column,
            trees,
            items,
            self.k,
            kept=_kept(self.worth.kept["cells"], recoding, published),
            unclear=unclear | unclear_losses(self.rt, items_tree) | _untold_without(self.share, items_tree),
            unknown=self.unknown,
        )
        if hides_items(self.rt, items_tree):
            unclear.add(items)
        facts["kept"] |= _remains(self.worth, recoding, published, trees, unclear, self.unknown)
        tokens = None if published.items is None else int(np.count_nonzero(published.items.supports()))
        columns = {column.name: column.role for column in self.records.columns}
        return facts | {"columns": columns} | ({} if tokens is None else {"changes": {"tokens": tokens}})


def row_warning(share: float) -> str:
    return f"Up to {share:.2%} of the rows may have been left out; a certificate is about the others."


def row_note(left_out: int, rows: int) -> str:
    what = "was left out and counts" if left_out == 1 else "were left out and count"
    return f"{left_out:,} of {number_of(rows, 'row')} {what} as lost"


def worth_of(
    records: Records,
    published: Records,
    recoding: ClusterRecoding,
    rt: RTOptions,
    trees: Mapping[str, Hierarchy | None],
    everybody: Records | None = None,
) -> Worth:
    """What published records are worth, in the order of the originals. Sensitive items are published as they are, and not counted.

    With `everybody`, the table before rows were left out, these count as lost.
    """
    quasi = records.of_role("quasi")
    cells = {c.name: cell_meanings(published[c.name], c, trees[c.name]) for c in quasi}
    fates = {c.name: column_fates(c, published[c.name], trees[c.name]) for c in quasi}
    columns = columns_worth(fates, rt.weights, cells)
    if everybody is not None:
        columns = columns.among_all(len(records) / len(everybody))
    if records.items is None or published.items is None or recoding.tokens is None:
        return columns
    before, after = (sets.split_off(records.sensitive_items)[0] for sets in (records.items, published.items))
    coverage = recoding.tokens.coverage(after.vocabulary)
    names = Names(before.vocabulary, after.vocabulary, coverage.breadth)
    of_items = row_fates(before, after, coverage)
    if everybody is not None and everybody.items is not None:
        every = everybody.items.split_off(records.sensitive_items)[0]
        of_items = of_items.with_deleted(every.supports() - before.supports())
        before = every
    return table_worth(columns, items_worth(of_items, pairs_kept(before, after), names), rt.balance if quasi else 0.0)


def _among_all(loss: Mapping[str, float], records: Records, everybody: Records) -> dict[str, float]:
    """Losses of the rows that are published, counted over all rows, or over all their occurrences: what was left out is lost."""
    rows, items = len(records) / len(everybody), 1.0
    if records.items is not None and everybody.items is not None:
        before, every = (sets.split_off(records.sensitive_items)[0] for sets in (records.items, everybody.items))
        items = before.occurrences / max(1, every.occurrences)
    by_occurrence = ("items_ncp", "deleted")
    return {name: 1 - (items if name in by_occurrence else rows) * (1 - lost) for name, lost in loss.items()}


def _untold_without(share: float, tree: Hierarchy | None) -> set[str]:
    """Losses that would tell of items in rows that were left out: those over all items, where no file says which there are."""
    return {"ul", "items_ncp"} if share and tree is None else set()


def parameters_of(request: Mapping[str, Any], used: Collection[str], options: Options, rt: RTOptions) -> dict[str, Any]:
    """What the run was asked for, of the options that the algorithm used."""
    given = {name: request[name] for name in used if name in request}
    given |= {"delta": rt.bound} if "delta" in used else {}
    return (
        given
        | {name: getattr(options, name) for name in used if hasattr(options, name)}
        | {"unknown": request["unknown"]}
    )


def _alone(name: str) -> Callable[..., ClusterRecoding]:
    """What is run where an attacker knows items alone."""
    if name not in WITHOUT_COLUMNS:
        raise InputError(
            f"without a quasi-identifier column all rows are one class, and {name} has none to form or to merge; take "
            f"{option('algorithm', WITHOUT_COLUMNS[0])}, or name what else an attacker may know with {option('quasi')}"
        )
    return partial(one_class, name)


def hierarchies(
    records: Records, given: Any, unknown: str | None, guarantee: Any = None, options: Options | None = None
) -> dict[str, Hierarchy | None]:
    """A hierarchy for each quasi-identifier column (None: ranges of numbers) and for the items (None: sets without a tree)."""
    specs: dict[str, Any] = dict(given) if isinstance(given, Mapping) else ({} if given is None else {"": given})
    if "" in specs:
        # A spec without a column is for the items.
        if records.items is None:
            raise InputError(f"a hierarchy needs its column: give {option('hierarchy', 'COL=SPEC')}")
        specs[records.items_name] = specs.pop("")
    known = {column.name: column for column in records.of_role("quasi")}
    strange = [name for name in specs if name not in known and name != records.items_name]
    if strange:
        columns = ", ".join([*known, *([records.items_name] if records.items is not None else [])])
        raise InputError(
            f"there is no quasi-identifier column {strange[0]!r} for {option('hierarchy')}; {near_miss(strange[0], known)}"
            f"there are {columns}"
        )
    found: dict[str, Hierarchy | None] = {
        name: column_hierarchy(column, specs.get(name), unknown=unknown) for name, column in known.items()
    }
    if records.items is not None and records.items_name in specs:
        items = records.items.split_off(records.sensitive_items)[0]
        if records.items.vocabulary and not items.vocabulary:
            raise InputError(
                f"all items of {records.items_name!r} are sensitive, and those are published as they are, so that none is left to "
                "generalize; leave out their hierarchy, or name fewer as sensitive"
            )
        found[records.items_name] = resolve(
            specs[records.items_name],
            Values.of_items(items),
            unknown=unknown,
            learn=learner(items, None if guarantee is None else KmAnonymity(guarantee.k, guarantee.m), options),
        )
    elif records.items is not None:
        found[records.items_name] = None
    return found


def certified_facts(
    loss: Mapping[str, float],
    by_column: Mapping[str, float],
    trees: Mapping[str, Hierarchy | None],
    items: str,
    k: int,
    *,
    kept: Mapping[str, float] = {},
    unclear: Collection[str],
    unknown: str | None,
) -> dict[str, Any]:
    """What a certificate says of losses and of what is kept, of which `items_ncp`, `exact` and `pairs` must be those of the published rows.

    They can be counted in the file, but for how many values a tree has that was made from them, and for what is `unclear`: columns with
    numbers in classes that say nothing about them, so that nobody sees how far the numbers go, and losses of another kind.
    """
    untold = {name: untold_leaves(tree, unknown=unknown) for name, tree in trees.items()}
    untold |= {name: 0 for name in by_column if name in unclear}
    worst = min((n for name in by_column if (n := untold[name]) is not None), default=None)
    of_items = untold.get(items)
    return {
        **disclose(
            k,
            kept={name: Figure(share) for name, share in kept.items()},
            loss={
                name: Figure(lost, worst if name == "ncp" else 0 if name in unclear else of_items)
                for name, lost in loss.items()
                if name != "deleted"  # nobody counts in the file what is not there
            },
            ncp_by_column={name: Figure(lost, untold[name]) for name, lost in by_column.items()},
        ),
        "hierarchy": {column: None if tree is None else hierarchy_facts(tree) for column, tree in trees.items()},
    }


def hides_items(rt: RTOptions, tree: Hierarchy | None) -> bool:
    """Whether `*` stands for all items, of which nobody but the owner knows how many there are."""
    return rt.transaction != "sets" if tree is None else tree.source == "flat"


def unclear_losses(rt: RTOptions, tree: Hierarchy | None) -> set[str]:
    """Losses of items that nobody can count in the file: UL needs the size of every token, and the weights."""
    return {"ul"} if rt.item_weights or hides_items(rt, tree) else set()


def item_warnings(rt: RTOptions, options: Options) -> Iterator[str]:
    """For readers of the certificate: how items may have been deleted."""
    if options.suppress:
        yield from deletion_warnings(
            options.suppress, ONE_BY_ONE if rt.transaction in SUPPRESS_IN_TABLES else BY_CATEGORY
        )


def _items_ncp(recoding: ClusterRecoding, published: Records, tree: Hierarchy | None) -> dict[str, float]:
    """NCP of the items over published occurrences, without sensitive ones, which are published as they are."""
    if recoding.tokens is None or published.items is None:
        return {}
    occurrences, leaves = _published_sizes(recoding.tokens, published)
    domain = len(recoding.tokens.vocabulary) if tree is None else tree.n_leaves
    return {"items_ncp": published_ncp(occurrences, leaves, domain)}


def _published_sizes(tokens: ItemTokens, published: Records) -> tuple[Ints, Ints]:
    """(published occurrences, items that it stands for) of each token but sensitive items."""
    assert published.items is not None
    sizes = dict(zip(tokens.tokens, tokens.sizes.tolist(), strict=True))
    items = published.items.split_off(published.sensitive_items)[0]
    return items.supports(), np.array([sizes[name] for name in items.vocabulary], np.int64)


def _remains(
    worth: Worth,
    recoding: ClusterRecoding,
    published: Records,
    trees: Mapping[str, Hierarchy | None],
    unclear: Collection[str],
    unknown: str | None,
) -> dict[str, Any]:
    """What a reader sees to be left of each column, and how many items the median published one stands for, as far as both can be told."""
    told = [name for name, tree in trees.items() if name not in unclear and tells_widths(tree, unknown=unknown)]
    remains: dict[str, Any] = {"columns": disclose_columns(worth.remains["columns"], told)}
    tree = trees.get(published.items_name)
    is_told = published.items_name not in unclear and untold_leaves(tree, unknown=unknown, whole=True) is None
    if recoding.tokens is not None and is_told:
        occurrences, sizes = _published_sizes(recoding.tokens, published)
        remains["items"] = {"width": weighted_median(sizes, occurrences)}
    return remains


def _kept(cells: float, recoding: ClusterRecoding, published: Records) -> dict[str, float]:
    """What a reader sees to be kept: cells with a single value, items (but sensitive ones) that are not sets or categories, and pairs."""
    if recoding.tokens is None or published.items is None:
        return {"cells": cells}
    items, known = published.items.split_off(published.sensitive_items)[0], set(recoding.tokens.vocabulary)
    is_item = np.array([token in known for token in items.vocabulary], np.bool_)
    pairs = exact_pairs(items, is_item)
    exact = {"exact": exact_share(items.supports(), is_item)}
    return exact | ({} if pairs is None else {"pairs": pairs}) | {"cells": cells}


def _bound_advice(recoding: ClusterRecoding, rt: RTOptions) -> tuple[str, ...]:
    """What the bound does that nobody asked for."""
    if rt.delta is not None or not recoding.algorithm.startswith("rmerge") or recoding.ncp <= WORTH_A_LOOK:
        return ()
    return (
        f"clusters were merged for the sake of the items as far as delta = {rt.bound:g}, the paper's bound, lets the columns lose; a "
        "smaller delta keeps more of the columns",
    )


def _rules(recoding: ClusterRecoding, sizes: Any, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    """What each value and item of each cluster became."""
    yield "class", "rows", "column", "original", "published"
    for column, values in recoding.values.items():
        for number, value in enumerate(values):
            yield str(number + 1), str(sizes[number]), column, "", value
    for number, item, token, rows in recoding.item_rules():
        yield str(number + 1), str(rows), "items", item, written(token) if token else ""


def shift_warnings(shift: Mapping[str, float], kept: Sequence[str]) -> Iterator[str]:
    """That dates are not those of the original."""
    for most in dict.fromkeys(shift.values()):
        names = [name for name, days in shift.items() if days == most]
        together = (
            " In a row they moved together, so that the time between them is as it was." if len(names) > 1 else ""
        )
        yield (
            f"Dates of {name_list(names)} were moved by up to {most:g} days either way, in each row by a number that was drawn at random "
            f"and not recorded: no date is to be trusted more closely than that.{together} What is said to be kept of them is about the "
            "moved dates."
        )
    for name in (name for name in kept if name in shift):
        yield f"Column {name!r} is published with its moved dates: whoever knows it of a person about as closely may use it."


def warnings_of(
    kept: Iterable[str], trees: Mapping[str, Hierarchy | None], missing: Mapping[str, str] = {}
) -> Iterator[str]:
    """About columns that are published as they are, trees whose labels name values that may be rare, and rows that were left out."""
    for name, reading in missing.items():
        if reading == "drop":
            yield f"Rows without a value of column {name!r}, if there were any, were left out."
    for name in kept:
        yield f"Column {name!r} is published as it is: whoever knows it of a person may use it."
    for column, tree in trees.items():
        if tree is not None and tree.source.startswith("named:"):
            yield (
                f"Groups of column {column!r} are called by their first and last value ({tree.source}): these are published however rare "
                "they are."
            )
