"""Tables: clusters of rows that are published alike in their quasi-identifier columns, with items generalized inside each.

For (k,k^m)-anonymity, (k,l^m)-diversity, and k-anonymity of tables without items. The relational side loses NCP, the items lose
UL and `items_ncp`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.algorithms import algorithm, entry, kind_of
from shoal.algorithms.km.learning import learner
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.certificate.disclosure import Figure, disclose, untold_leaves
from shoal.certificate.facts import hierarchy_facts
from shoal.errors import InputError, option
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.missing import check_named
from shoal.hierarchy.spec import Values, column_hierarchy, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.relational import ANYTHING
from shoal.models import Proposal, Roles, basket_details, basket_notes
from shoal.price.ncp import published_ncp
from shoal.records.formats.peek import column_names
from shoal.records.records import Records
from shoal.records.set_cells import check_single_values
from shoal.records.source import Source, load_records, mark_sensitive

WORTH_A_LOOK = 0.2
"""Items that lose more than this under a hierarchy are worth trying without one."""
RT = ("delta", "formation", "transaction", "ordering", "weights", "item_weights")


def read(data: Any, guarantee: Any, roles: Roles, reading: Mapping[str, Any]) -> tuple[Source, Any]:
    """The table with a role for every column; sensitive are columns, or items by name or in a column of their own."""
    asked = {name: value for name, value in reading.items() if value is not None}
    if asked.pop("id", None) is not None:
        raise InputError(
            f"{option('id')} is for long tables of items; {option('model', guarantee.model)} needs one row per person"
        )
    with_items = kind_of(guarantee) != "table"
    columns = [] if isinstance(data, Records) else column_names(data, asked.get("format"))
    if with_items and "items" not in asked and "items" in columns:
        asked["items"] = "items"
    if not with_items and "items" in asked:
        raise InputError(
            f"{guarantee} is about tables without items; leave out {option('items')}, or ask for {option('model', 'rt')}"
        )
    given = {"quasi": roles.quasi, "keep": roles.keep}
    named, items = _sensitive(roles.sensitive, columns, with_items)
    if items is not None and len(items) == 1 and items[0] in columns:
        given["sensitive_sets"], items = items[0], None
    source = load_records(data, sensitive=named, **asked, **{role: names for role, names in given.items() if names})
    if not len(source.records):
        raise InputError(f"{source.name} has no rows; there is nothing to publish")
    records = source.records
    if not records.of_role("quasi"):
        raise InputError(
            f"{source.name}: no column is named as quasi-identifier; name what an attacker may know with {option('quasi')}"
        )
    if not with_items and guarantee.l > 1:
        check_single_values(records, source.name, asked.get("separator"))
    if items is not None:
        records = mark_sensitive(records, items)
        source = replace(source, records=records)
    return source, guarantee


def _sensitive(given: Any, columns: list[str], with_items: bool) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """(columns of single values, names of items or the column that holds them)."""
    if given is None:
        return (), None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not with_items:
        return names, None
    return (), names


def proposal(source: Source, guarantee: Any, request: Mapping[str, Any], options: Options) -> Proposal:
    """Cluster, merge and generalize. `request` has `algorithm`, `hierarchy` (a spec per column) and the options of the RT paper."""
    records = source.records
    kind = kind_of(guarantee)
    name, home = entry(kind, request["algorithm"])
    if guarantee.model == "lm" and not records.sensitive_items:
        raise InputError(f"{guarantee} needs sensitive items; name them, or their column, with {option('sensitive')}")
    if kind == "table":
        check_named(guarantee.missing, [column.name for column in records.of_role("sensitive")])
    if kind == "table" and guarantee.l > 1 and not records.of_role("sensitive"):
        raise InputError(f"l = {guarantee.l}, but no column is named as sensitive; name it with {option('sensitive')}")
    trees = hierarchies(records, request["hierarchy"], request["unknown"], guarantee, options)
    rt = RTOptions(**{name: request[name] for name in RT if request[name] is not None})
    recoding: ClusterRecoding = algorithm(kind, name)(records, guarantee, trees, options, rt)
    options.tell("recoding", 0.0)
    published = recoding.apply(records)
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
        "ncp_by_column": dict(recoding.ncp_by_column),
        "facts": dict(recoding.facts),
        "hierarchy": {column: None if tree is None else tree.source for column, tree in trees.items()},
    }
    if records.items is not None and published.items is not None:
        details |= basket_details(records.items, published.items)
    warnings = tuple(warnings_of([column.name for column in records.of_role("keep")], trees))
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=recoding,
        algorithm=name,
        loss=recoding.loss,
        parameters=parameters_of(request, home.options, options, rt),
        optimal=recoding.optimal,
        bound=recoding.bound,
        details=details,
        certified=lambda: (
            certified_facts(
                {**recoding.loss, **_items_ncp(recoding, published, trees.get(records.items_name))},
                recoding.ncp_by_column,
                trees,
                records.items_name,
                guarantee.k,
                unclear={name for name, told in recoding.values.items() if trees[name] is None and ANYTHING in told}
                | ({"ul"} if rt.item_weights else set()),
                unknown=request["unknown"],
            )
            | {"columns": details["columns"]}
            | (
                {}
                if published.items is None
                else {"changes": {"tokens": int(np.count_nonzero(published.items.supports()))}}
            )
        ),
        warnings=warnings,
        notes=source.notes
        + (basket_notes(records.items, empty_stay=True) if records.items is not None else ())
        + recoding.notes
        + _advice(recoding, trees.get(records.items_name))
        + _bound_advice(recoding, rt)
        + warnings,
        rules=lambda written: _rules(recoding, sizes, written),
        rules_note="names every original item of every cluster, rare ones too",
    )


def parameters_of(request: Mapping[str, Any], used: Collection[str], options: Options, rt: RTOptions) -> dict[str, Any]:
    """What the run was asked for, of the options that the algorithm used."""
    given = {name: request[name] for name in used if name in request}
    given |= {"delta": rt.bound} if "delta" in used else {}
    return (
        given
        | {name: getattr(options, name) for name in used if hasattr(options, name)}
        | {"unknown": request["unknown"]}
    )


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
            f"there is no quasi-identifier column {strange[0]!r} for {option('hierarchy')}; there are {columns}"
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
    unclear: Collection[str],
    unknown: str | None,
) -> dict[str, Any]:
    """What a certificate says of losses, of which `items_ncp` must be that of the published occurrences.

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
            loss={
                name: Figure(lost, worst if name == "ncp" else 0 if name in unclear else of_items)
                for name, lost in loss.items()
            },
            ncp_by_column={name: Figure(lost, untold[name]) for name, lost in by_column.items()},
        ),
        "hierarchy": {column: None if tree is None else hierarchy_facts(tree) for column, tree in trees.items()},
    }


def _items_ncp(recoding: ClusterRecoding, published: Records, tree: Hierarchy | None) -> dict[str, float]:
    """NCP of the items over published occurrences, without sensitive ones, which are published as they are."""
    if recoding.rules is None or published.items is None:
        return {}
    sizes = dict(zip(recoding.rules.tokens, recoding.rules.sizes.tolist(), strict=True))
    items = published.items.split_off(published.sensitive_items)[0]
    domain = len(recoding.rules.vocabulary) if tree is None else tree.n_leaves
    leaves = np.array([sizes[name] for name in items.vocabulary], np.int64)
    return {"items_ncp": published_ncp(items.supports(), leaves, domain)}


def _advice(recoding: ClusterRecoding, tree: Hierarchy | None) -> tuple[str, ...]:
    """What to try where a real hierarchy costs the items their detail."""
    if tree is None or recoding.items_ncp is None or recoding.items_ncp <= WORTH_A_LOOK:
        return ()
    return (
        f"the items lose {recoding.items_ncp:.0%} under {tree.source}: rare combinations inside a cluster push whole branches up; without "
        "a hierarchy for the items they are put together in sets, which often loses far less",
    )


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
    for number, item, token in recoding.item_rules():
        yield str(number + 1), str(sizes[number]), "items", item, written(token)


def warnings_of(kept: Iterable[str], trees: Mapping[str, Hierarchy | None]) -> Iterator[str]:
    """About columns that are published as they are, and about trees whose labels name values that may be rare."""
    for name in kept:
        yield f"Column {name!r} is published as it is: whoever knows it of a person may use it."
    for column, tree in trees.items():
        if tree is not None and tree.source.startswith("named:"):
            yield (
                f"Groups of column {column!r} are called by their first and last value ({tree.source}): these are published however rare "
                "they are."
            )
