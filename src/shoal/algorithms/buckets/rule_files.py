"""Rules in a file, one JSON object a line, for an owner to read, add to and strike from.

    {"if": {"sex": "M"}, "never": "Ovarian Cancer"}                         add this rule
    {"if": {"education": "Doctorate"}, "never": "Sales", "strike": true}    strike this one from the mined rules

What is written has further figures on each line (support, exceptions, redundant, given); on reading, `support` and `exceptions` are
taken over and everything else is worked out anew. Empty lines and lines that begin with # are passed over.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.algorithms.buckets.negative_rules import mark_redundant
from shoal.errors import VALUES, InputError, short_list
from shoal.hierarchy.tree import Hierarchy
from shoal.limits import unique_keys
from shoal.numbers import Bools, Codes, Ints
from shoal.records.knowledge import Covers, Rules, covers
from shoal.records.records import Column, Records

KEYS = ("if", "never", "strike", "support", "exceptions", "redundant", "given")


@dataclass(frozen=True, eq=False)
class RuleEdits:
    """What an owner's file asks for."""

    added: Rules
    struck: Rules


def rule_lines(rules: Rules) -> Iterator[str]:
    """The rules as lines of a file, the most general first."""
    for rule in rules:
        facts: dict[str, Any] = {"if": dict(rule.conditions), "never": rule.value}
        if rule.support is not None:
            facts |= {"support": _plain(rule.support), "exceptions": _plain(rule.exceptions)}
        facts |= {"redundant": True} if rule.redundant else {}
        facts |= {"given": True} if rule.given else {}
        yield json.dumps(facts, ensure_ascii=False)


def rule_edits(
    lines: Iterable[str], hierarchies: Mapping[str, Hierarchy], sensitive: Column, *, source: str = "rules"
) -> RuleEdits:
    """Rules to add and to strike; raises with the line that is wrong. `source` is the name of the file, for messages."""
    nodes_of = {name: _nodes_by_name(tree) for name, tree in hierarchies.items()}
    value_of = {name: code for code, name in enumerate(sensitive.values)}
    found: dict[bool, list[tuple[list[int], int, float, float]]] = {True: [], False: []}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{source}, line {number}"
        rule = _object(line, where)
        conditions, never = rule.get("if"), rule.get("never")
        if (
            not isinstance(conditions, dict)
            or not conditions
            or not all(isinstance(v, str) for v in conditions.values())
        ):
            raise InputError(
                f'{where}: "if" must give one or more columns with a value or category each, as in {{"sex": "M"}}'
            )
        if not isinstance(never, str):
            raise InputError(f'{where}: "never" must give the value of {sensitive.name!r} that such rows do not have')
        if never not in value_of:
            raise InputError(
                f'{where}: "never" names no value of {sensitive.name!r}, which has {len(sensitive.values):,}; correct it'
            )
        strike = rule.get("strike", False)
        if not isinstance(strike, bool):
            raise InputError(f'{where}: "strike" must be true or false')
        nodes = [-1] * len(hierarchies)
        for name, label in conditions.items():
            if name not in hierarchies:
                raise InputError(
                    f"{where}: it has a condition on what is not a quasi column; there are {short_list(list(hierarchies))}"
                )
            node = nodes_of[name].get(label)
            if node is None:
                raise InputError(
                    f"{where}: the condition on {name!r} is not a value or category of it{VALUES}; see its hierarchy",
                    values=[label],
                )
            if node == hierarchies[name].root:
                raise InputError(
                    f"{where}: the condition on {name!r} is the root of its hierarchy and says nothing; leave the column out"
                )
            nodes[list(hierarchies).index(name)] = node
        figures = (_figure(rule, "support", math.nan, where), _figure(rule, "exceptions", 0.0, where))
        found[strike].append((nodes, value_of[never], *figures))
    return RuleEdits(*(_rules(found[strike], hierarchies, sensitive) for strike in (False, True)))


def apply_edits(
    rules: Rules, edits: RuleEdits, records: Records | None = None, *, count: Callable[[Rules], Rules] | None = None
) -> Rules:
    """The rules with the owner's added and without the struck ones. With `records`, or by `count`, the rows of added rules are counted.

    Striking takes out that one rule. More special rules that follow from it stay if they are among the rules: mine with
    `redundant=True` where rules may be struck.
    """
    known = {_key(rules, i): i for i in range(len(rules))}
    kept = np.ones(len(rules), np.bool_)
    for i in range(len(edits.struck)):
        place = known.get(_key(edits.struck, i))
        if place is None:
            raise InputError(
                f"rule {i + 1:,} of the {len(edits.struck):,} that are to be struck is not among the rules; strike a rule as it is printed"
            )
        kept[place] = False
    new = [i for i in range(len(edits.added)) if (p := known.get(_key(edits.added, i))) is None or not kept[p]]
    added = edits.added.take(np.array(new, np.int64))
    added = replace(added, given=np.ones(len(added), np.bool_))
    if len(added) and count is not None:
        added = count(added)
    elif len(added) and records is not None:
        added = with_counts(added, records)
    left = rules.take(kept)
    columns = ("nodes", "value", "support", "exceptions", "redundant", "given")
    both: dict[str, Any] = {name: np.concatenate((getattr(left, name), getattr(added, name))) for name in columns}
    return mark_redundant(replace(left, **both))


def with_counts(rules: Rules, records: Records) -> Rules:
    """The same rules with the rows that they cover and their exceptions counted on records. For few rules: each takes a pass."""
    place = {name: code for code, name in enumerate(records[rules.sensitive].values)}
    never = [place.get(rules.values[value], -1) for value in rules.value.tolist()]
    above = covers(records, rules.hierarchies)
    support, exceptions = rows_covered(covered_values(rules, above), above.codes, never, records[rules.sensitive].codes)
    return replace(rules, support=support.astype(np.float64), exceptions=exceptions.astype(np.float64))


CoveredValues = list[dict[int, Bools]]
"""Per rule, for each attribute that it speaks of, which values satisfy it."""


def covered_values(rules: Rules, above: Covers) -> CoveredValues:
    """The values that satisfy the conditions of each rule."""
    ends = [*above.base[1:].tolist(), len(above.start) - 1]
    bounds = list(zip(above.base.tolist(), ends, strict=True))

    def under(node: int, first: int, last: int) -> Bools:
        return np.array([node in above.node[above.start[v] : above.start[v + 1]] for v in range(first, last)], np.bool_)

    return [{a: under(node, *bounds[a]) for a, node in enumerate(nodes) if node >= 0} for nodes in rules.nodes.tolist()]


def rows_covered(
    covered: CoveredValues, codes: Codes | Sequence[Codes], never: Sequence[int], has: Codes
) -> tuple[Ints, Ints]:
    """(rows that satisfy each rule, those among them that have its value): `codes` by attribute, `never` the value of each rule."""
    support, exceptions = np.zeros(len(covered), np.int64), np.zeros(len(covered), np.int64)
    for i, conditions in enumerate(covered):
        rows = np.ones(len(has), np.bool_)
        for a, values in conditions.items():
            rows &= values[codes[a]]
        support[i] = np.count_nonzero(rows)
        exceptions[i] = np.count_nonzero(rows & (has == never[i]))
    return support, exceptions


def _rules(
    found: list[tuple[list[int], int, float, float]], hierarchies: Mapping[str, Hierarchy], sensitive: Column
) -> Rules:
    n = len(found)
    return mark_redundant(
        Rules(
            hierarchies,
            sensitive.name,
            sensitive.values,
            np.array([rule[0] for rule in found], np.int32).reshape(n, len(hierarchies)),
            np.array([rule[1] for rule in found], np.int32),
            np.array([rule[2] for rule in found], np.float64),
            np.array([rule[3] for rule in found], np.float64),
            np.zeros(n, np.bool_),
            np.ones(n, np.bool_),
        )
    )


def _key(rules: Rules, i: int) -> tuple[Any, ...]:
    """A rule in words that do not depend on how attributes and values are numbered."""
    rule = rules[i]
    return (frozenset(rule.conditions.items()), rule.value)


def _nodes_by_name(tree: Hierarchy) -> dict[str, int]:
    """Nodes by the names they are published under, and by their labels where those are clear."""
    labels: dict[str, list[int]] = {}
    for v, label in enumerate(tree.labels):
        labels.setdefault(label, []).append(v)
    clear = {label: nodes[0] for label, nodes in labels.items() if len(nodes) == 1}
    return clear | {name: v for v, name in enumerate(tree.names)}


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        rule = json.loads(line, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        rule = None
    if not isinstance(rule, dict):
        raise InputError(f'{where}: it is not a JSON object; write {{"if": {{"sex": "M"}}, "never": "Ovarian Cancer"}}')
    unknown = [key for key in rule if key not in KEYS]
    if unknown:
        raise InputError(f"{where}: it has a key that means nothing in a rule; there are {', '.join(KEYS)}")
    return rule


def _figure(rule: dict[str, Any], name: str, otherwise: float, where: str) -> float:
    if name not in rule:
        return otherwise
    figure = rule[name]
    if isinstance(figure, bool) or not isinstance(figure, int | float) or not 0 <= figure <= sys.float_info.max:
        raise InputError(f"{where}: {name!r} must be a number of rows; correct it")
    return float(figure)


def _plain(figure: float) -> int | float:
    return int(figure) if figure.is_integer() else figure
