"""Buckets: exact quasi-identifiers, and sensitive values separated from them, one bucket of rows at a time.

The release is one table: every row with its bucket, and the values of each bucket dealt to its rows by randomness of the system that is
not recorded. Nothing but the link between a row and its value is lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms import algorithm, entry
from shoal.algorithms.buckets.bucketization import Bucketization, chances, figures
from shoal.algorithms.buckets.eligibility import known_values
from shoal.algorithms.buckets.negative_rules import negative_rules, value_hierarchies
from shoal.algorithms.buckets.rule_files import apply_edits, rule_edits
from shoal.algorithms.recoding import Options
from shoal.certificate.disclosure import Figure, disclose
from shoal.errors import InputError, option
from shoal.guarantees.diversity import BUCKET, MatchingDiversity
from shoal.guarantees.values.missing import UNKNOWN, Missing, check_named
from shoal.hierarchy.spec import column_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.fates import dealt_fates
from shoal.models import Proposal, Roles
from shoal.price.information import Fates
from shoal.records.buckets import Buckets, sensitive_column, sensitive_views
from shoal.records.formats.peek import column_names
from shoal.records.knowledge import Rules
from shoal.records.records import Column, Records
from shoal.records.roles import texts_of
from shoal.records.source import Source, load_records
from shoal.records.spelling.set_cells import check_single_values
from shoal.records.storage.streams import display_name, list_lines

MIN_EXP = 0.9
MAX_LENGTH = 1
"""Longer rules soon leave some rows a single possible value: then no buckets can be formed."""
KNOWLEDGE = ("min_exp", "min_conf", "max_length", "fuzzy", "knowledge")
"""What may be asked about the knowledge of the attacker."""
KEPT = {"cells": 1.0}
"""Quasi-identifiers stand as they were."""
DEALT = (
    "All columns but the sensitive one are exact. The sensitive value in a row is one of its bucket's, dealt at random: it need not be the "
    "row's own."
)
DEALT_EACH = (
    "All columns but the sensitive ones ({}) are exact. The promise is about each of these by itself. A sensitive value in a row is one "
    "of its bucket's, dealt at random, each column on its own: it need not be the row's own, and two in a row need not belong together."
)


def read(data: Any, guarantee: Any, roles: Roles, reading: Mapping[str, Any]) -> tuple[Source, Any]:
    """The table with its sensitive columns; a column called `bucket` without a role is that of a published release."""
    asked = {name: value for name, value in reading.items() if value is not None}
    items = asked.pop("items", None)
    if items not in (None, roles.sensitive):
        raise InputError(
            f"{option('model', 'diversity')} is about tables with one sensitive value per row; leave out {option('items')} "
            "(or name the sensitive column with it, if its cells are sets of one)"
        )
    have_roles = isinstance(data, Records) and bool(data.of_role("sensitive"))
    if roles.sensitive is None and not have_roles:
        raise InputError(
            f"{option('model', 'diversity')} needs the column that an attacker wants to learn; name it with {option('sensitive')}"
        )
    keep = texts_of(roles.keep)
    columns = [] if isinstance(data, Records) else column_names(data, asked.get("format"))
    elsewhere = (*_names(roles.keep), *_names(roles.quasi), *_names(roles.sensitive), *_names(asked.get("drop")))
    if BUCKET in columns and BUCKET not in elsewhere:
        keep = (*keep, BUCKET)
    if items is not None:
        source = load_records(data, quasi=roles.quasi or (), items=items, keep=keep, **asked)
        source = replace(source, records=_single_items(source.records, source.name))
    else:
        source = load_records(data, quasi=roles.quasi or (), sensitive=roles.sensitive or (), keep=keep, **asked)
    if not len(source.records):
        raise InputError(f"{source.name} has no rows; there is nothing to publish")
    if not source.records.of_role("quasi"):
        raise InputError(
            f"{source.name}: no column is named as quasi-identifier; name what an attacker may know with {option('quasi')}"
        )
    check_named(guarantee.missing, [sensitive_column(view).name for view in sensitive_views(source.records)])
    if items is None:
        check_single_values(source.records, source.name, asked.get("separator"))
    return source, guarantee


def _single_items(records: Records, source: str) -> Records:
    """The items as the sensitive column, where every row has exactly one."""
    assert records.items is not None
    other = np.flatnonzero(records.items.lengths != 1)
    if len(other):
        row, held = int(other[0]), int(records.items.lengths[other[0]])
        raise InputError(
            f"{source}: row {row + 1:,} holds {held:,} items in {records.items_name!r}; buckets take exactly one sensitive value per row: "
            f"ask for {option('model', 'rt')} or lm, or give one item to each"
        )
    column = Column(records.items_name, "sensitive", records.items.items, records.items.vocabulary)
    return Records((*records.columns, column))


def proposal(source: Source, guarantee: Any, request: Mapping[str, Any], options: Options) -> Proposal:
    """Mine what an attacker may know, and form buckets that hold against it."""
    records = source.records
    if any(column.name == BUCKET for column in records.columns):
        raise InputError(
            f"{source.name}: a release gets a column {BUCKET!r}, and there is one already; rename or drop it"
        )
    name, home = entry(guarantee.model, request["algorithm"])
    check_makeable(guarantee)
    trees = hierarchies(records, request["hierarchy"], request["unknown"])
    asked = {option: request[option] for option in KNOWLEDGE}
    if "min_exp" in home.options and guarantee.rules is None:
        options.tell("mining rules", 0.0)
        guarantee = replace(
            guarantee, rules=knowledge(records, trees, asked, missing=guarantee.missing, options=options)
        )
    found: Bucketization = algorithm(guarantee.model, name)(records, guarantee, trees, options)
    buckets = found.apply()
    every = {each.sensitive: each for each in (buckets, *found.others)}
    published = _table(every, records)
    fates = [dealt_fates(each) for each in every.values()]
    missed = 1 - float(np.mean([chances(each, records[column]).mean() for column, each in every.items()]))
    details = {
        "columns": {column.name: column.role for column in records.columns},
        "buckets": figures(buckets),
        "knowledge": None if guarantee.rules is None else guarantee.rules.to_dict(),
        "facts": dict(found.facts),
        "hierarchy": {column: tree.source for column, tree in trees.items()},
    }
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=found,
        algorithm=name,
        loss={"info": _info(fates), "ambiguity": missed},
        kept=KEPT,
        parameters={option: value for option, value in effective(asked).items() if option in home.options}
        | {"seed": options.seed, "unknown": request["unknown"]},
        details=details,
        # The file tells it: how often each value stands in a bucket is all that the chances depend on.
        certified=partial(_certified, guarantee.l, missed, details),
        warnings=(DEALT_EACH.format(", ".join(every)) if found.others else DEALT,),
        notes=source.notes + found.notes,
        rules=partial(_rules, guarantee.rules),
        rules_note="lists what an attacker is taken to know, mined from your data",
    )


def _certified(l: int, missed: float, details: Mapping[str, Any]) -> dict[str, Any]:  # noqa: E741
    return {
        **disclose(l, loss={"ambiguity": Figure(missed)}),
        "columns": details["columns"],
        "buckets": details["buckets"],
    }


def _info(fates: Sequence[Fates]) -> float:
    """The share of what the values of all sensitive columns say that is lost."""
    if len(fates) == 1:
        return fates[0].info
    bits = sum(each.bits for each in fates)
    return sum(each.lost_bits for each in fates) / bits if bits else 0.0


def check_makeable(guarantee: Any) -> None:
    """Raises for kinds of diversity that are for audits only."""
    if not isinstance(guarantee, MatchingDiversity):
        raise InputError(f"{guarantee} can be audited, not made; ask for shoal.MatchingDiversity(l)")


def knowledge(
    records: Records,
    trees: Mapping[str, Hierarchy],
    asked: Mapping[str, Any],
    *,
    redundant: bool = False,
    missing: Missing = UNKNOWN,
    options: Options | None = None,
    mine: Callable[..., Rules] = negative_rules,
    count: Callable[[Rules], Rules] | None = None,
) -> Rules:
    """The rules that the data shows, with those that a file adds and without those that it strikes; `asked` has the options of `KNOWLEDGE`.

    A missing value that is unknown may be any, so that there are no rules about it.
    Another engine mines, and counts the rows of added rules, by functions of its own; of the records it gives names and values.
    """
    given = effective({name: asked.get(name) for name in KNOWLEDGE})
    file = given["knowledge"]
    mined = mine(
        records,
        trees,
        min_exp=given["min_exp"],
        min_conf=given["min_conf"],
        max_length=given["max_length"] or None,
        fuzzy=given["fuzzy"],
        redundant=redundant or file is not None,
        threads=options.threads if options else None,
        progress=(lambda share: options.tell("mining rules", share)) if options else None,
    )
    mined = mined.take(known_values(sensitive_column(records), missing)[mined.value])
    if file is None:
        return mined
    return apply_edits(mined, edits_of(records, trees, file), records, count=count)


def possible_pairs(buckets: Buckets) -> Records:
    """Every row once with each value of its bucket: what is never in this table is known to be impossible from the release alone."""
    lengths = np.diff(buckets.offsets)[buckets.of_row]
    row = np.repeat(np.arange(len(buckets.of_row), dtype=np.int64), lengths)
    first = np.cumsum(lengths) - lengths
    place = np.repeat(buckets.offsets[buckets.of_row] - first, lengths) + np.arange(len(row))
    value = Column(buckets.sensitive, "sensitive", buckets.values[place], buckets.vocabulary)
    pairs = buckets.rows.take(row)
    return replace(pairs, columns=(*pairs.columns, value))


def with_knowledge(
    guarantee: Any, records: Records, path: str | os.PathLike[str], given: Any = None
) -> MatchingDiversity:
    """The guarantee against an attacker who knows the rules of a file, which may speak of nodes of the given hierarchies."""
    if not isinstance(guarantee, MatchingDiversity):
        raise InputError(f"knowledge has no use for {guarantee}; leave it out")
    return replace(guarantee, rules=edits_of(records, hierarchies(records, given, None), path).added)


def edits_of(records: Records, trees: Mapping[str, Hierarchy], path: str | os.PathLike[str]) -> Any:
    """What a file of rules asks for."""
    lines = list_lines(path, "a file of rules")
    return rule_edits(lines, value_hierarchies(records, trees), sensitive_column(records), source=display_name(path))


def hierarchies(records: Records, given: Any, unknown: str | None) -> dict[str, Hierarchy]:
    """The hierarchies over the values of quasi columns in which rules are looked for; a column without one has a flat one."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"a hierarchy needs its column: give {option('hierarchy', 'COL=SPEC')}")
    quasi = {column.name: column for column in records.of_role("quasi")}
    found = {}
    for name, spec in (given or {}).items():
        if name not in quasi:
            raise InputError(
                f"there is no quasi-identifier column {name!r} for {option('hierarchy')}; there are {', '.join(quasi)}"
            )
        tree = column_hierarchy(quasi[name], spec, unknown=unknown)
        assert tree is not None
        found[name] = tree
    return found


def effective(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, or else the defaults; a length of 0 means any."""
    defaults = {"min_exp": MIN_EXP, "min_conf": 1.0, "max_length": MAX_LENGTH}
    return {name: defaults.get(name) if value is None else value for name, value in asked.items()}


def _names(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    texts = (given,) if isinstance(given, str) else tuple(given)
    return tuple(name.strip() for text in texts for name in (text, *text.split(",")))


def _table(every: Mapping[str, Buckets], records: Records) -> Records:
    """One table: buckets numbered, and the values of each sensitive column dealt inside each, by randomness of the system that is not
    kept."""
    random = np.random.default_rng()
    buckets = next(iter(every.values()))
    number = random.permutation(len(buckets))
    texts = tuple(map(str, range(1, len(buckets) + 1)))
    label = Column(BUCKET, "keep", number[buckets.of_row].astype(np.int32), texts)
    dealt = {name: each.deal(random) for name, each in every.items()}
    columns = tuple(dealt.get(column.name, column) for column in records.columns)
    return replace(records, columns=(*columns, label))


def _rules(rules: Rules | None, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    yield "if", "never", "rows", "exceptions", "redundant", "given"
    for rule in rules or ():
        conditions = " & ".join(f"{name}={node}" for name, node in rule.conditions.items())
        figures = ("" if rule.support is None else f"{rule.support:g}", f"{rule.exceptions:g}")
        yield conditions, rule.value, *figures, *("yes" if mark else "" for mark in (rule.redundant, rule.given))
