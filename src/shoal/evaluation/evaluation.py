"""Evaluation: what a release costs and what an attacker still learns, from the two files and what lies between them.

    evaluate("baskets.csv", "public.csv", hierarchy="tree.csv")

It works on any pair of files, whatever tool made the second from the first. Published rows are shuffled, so nothing relies on their
order unless the user says that rows correspond. A measure that a pair does not define is None, and `not_defined` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from shoal.algorithms.km.learning import learner
from shoal.attacks.linkage import SAMPLE, Linkage, linkage
from shoal.attacks.prosecutor import ProsecutorRisk, crowds, prosecutor
from shoal.errors import VALUES, InputError, Message, option
from shoal.evaluation.between import RulesFile, rules_file, without_guards, workload_file
from shoal.evaluation.uniqueness import uniqueness
from shoal.guarantees.diversity import BUCKET
from shoal.guarantees.k import parted
from shoal.guarantees.km import Exposure, KmAnonymity
from shoal.guarantees.rt import told_apart
from shoal.guarantees.table import classes as column_classes
from shoal.hierarchy.meanings import (
    CellMeanings,
    TokenMeanings,
    cell_meanings,
    set_members,
    token_meanings,
    tree_of_tokens,
)
from shoal.hierarchy.spec import Values, column_hierarchy, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.associations import associations, confidence_error, identification_error
from shoal.loss.class_sizes import class_figures
from shoal.loss.frequencies import FrequencyError, frequency_error
from shoal.loss.pairs import TOP, Pairs, RuleErrors, pair_survival, rule_errors
from shoal.loss.published import ItemsLoss, columns_loss, items_loss
from shoal.loss.queries import Query, relative_errors
from shoal.loss.workloads import random_workload
from shoal.numbers import whole_number
from shoal.price.edits import edits
from shoal.price.ul import ul
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets
from shoal.records.columns import OR_QUASI, Choice, NoRoleError, comma_parts, set_column
from shoal.records.formats.peek import column_names, source_name
from shoal.records.layout import GUARDED
from shoal.records.reading import load
from shoal.records.record_reading import load_records, mark_sensitive
from shoal.records.records import Records
from shoal.records.roles import texts_of

Path = str | os.PathLike[str]
Progress = Callable[[str, float], None]

QUERIES = 100
ASSOCIATED = 2
"""Conditions in a rule about a sensitive column, at most."""


@dataclass(frozen=True)
class Side:
    """One of the two files."""

    source: str
    sha256: str
    rows: int
    items: int
    """Different items, or tokens."""
    occurrences: int
    columns: Mapping[str, str]
    """Role of each column."""

    def to_dict(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


@dataclass(frozen=True)
class Evaluation:
    """What a release costs and what an attacker still learns. For its owner; `to_dict` has counts and shares only."""

    original: Side
    published: Side
    k: int
    m: int
    seed: int
    same_order: bool
    items: ItemsLoss | None
    """NCP of the items."""
    columns: Mapping[str, Any] | None
    """NCP of the quasi-identifier columns."""
    edits: Mapping[str, float] | None
    """Items added and removed, row by row."""
    ul: Mapping[str, float] | None
    """UL of the published items, and of the original ones: the measure is not 0 where nothing is generalized."""
    ambiguity: float | None
    """Of a bucketized release: the chance to miss a row's own sensitive value when guessing by its bucket."""
    classes: Mapping[str, Mapping[str, Any]]
    """Class sizes, `before` and `after`; of a bucketized release also `buckets`."""
    frequencies: FrequencyError | None
    pairs: Pairs | None
    rules: RuleErrors | None
    associations: Mapping[str, Any] | None
    """Of a bucketized release: rules X => s about its sensitive column, their confidence and which there are."""
    queries: Mapping[str, Mapping[str, Any] | None]
    """ARE by kind of query: relational, items, mixed, and the user's own workload."""
    prosecutor: Mapping[str, ProsecutorRisk]
    """`before` and `after`, for who knows everything."""
    uniqueness: Mapping[str, tuple[Exposure, ...]]
    """`before` and `after`, for who knows m = 0 (in tables), 1, 2, ... items."""
    prosecutor_m: Mapping[str, ProsecutorRisk]
    """`before` and `after`, for who knows up to m items."""
    linkage: Linkage | None
    not_defined: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For `--json`. A key that is null has its reason in `not_defined`."""
        return {
            "original": self.original.to_dict(),
            "published": self.published.to_dict(),
            "k": self.k,
            "m": self.m,
            "seed": self.seed,
            "same_order": self.same_order,
            "loss": {
                "items": self.items and self.items.to_dict(),
                "columns": self.columns,
                "edits": self.edits,
                "ul": self.ul,
                "ambiguity": self.ambiguity,
                "classes": self.classes,
            },
            "utility": {
                "frequencies": self.frequencies and self.frequencies.to_dict(),
                "pairs": None if self.pairs is None else self.pairs.to_dict(),
                "rules": self.rules and self.rules.to_dict(),
                "associations": self.associations,
                "queries": dict(self.queries),
            },
            "risk": {
                "prosecutor": {side: risk.to_dict() for side, risk in self.prosecutor.items()},
                "prosecutor_m": {side: risk.to_dict() for side, risk in self.prosecutor_m.items()},
                "uniqueness": {
                    side: [_exposure(one, getattr(self, _SIDES[side]).rows) for one in curve]
                    for side, curve in self.uniqueness.items()
                },
                "linkage": None if self.linkage is None else self.linkage.to_dict(),
            },
            "not_defined": dict(self.not_defined),
            "notes": list(self.notes),
        }


_SIDES = {"before": "original", "after": "published"}


def evaluate(
    original: Any,
    published: Any,
    *,
    hierarchy: Hierarchy | Path | Mapping[str, Hierarchy | Path] | None = None,
    rules: Path | None = None,
    unknown: str | None = None,
    quasi: str | Collection[str] | None = None,
    sensitive: str | Collection[str] | None = None,
    keep: str | Collection[str] | None = None,
    weights: Mapping[str, float] | None = None,
    same_order: bool = False,
    queries: int = QUERIES,
    workload: Path | None = None,
    pairs: int = TOP,
    sample: int = SAMPLE,
    k: int = 5,
    m: int = 2,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Evaluation:
    """Compare a release with its original (paths, Baskets, Records, data frames).

    What published values mean comes from `hierarchy` (as for `anonymize`) or from the `rules` file of the release. `same_order` says
    that rows of the two correspond. `weights` say how much the loss of a column counts, 1 unless given. `queries` random queries of each
    kind are asked, and those of a `workload` file. The most frequent `pairs` are followed, and a `sample` of people is looked for by
    m items each. `reading` is as for `anonymize`.
    """
    for name, value, least in (("k", k, 1), ("m", m, 1), ("seed", seed, 0), ("queries", queries, 0)):
        whole_number(name, value, least)
    for name, value in (("pairs", pairs), ("sample", sample)):
        whole_number(name, value, 0)
    if threads is not None:
        whole_number("threads", threads, 1)
    if _is_stdin(original) and _is_stdin(published):
        raise InputError("only one of the two files can come from standard input; name the other")
    tell: Progress = progress or (lambda doing, share: None)
    tell("reading", 0.0)
    told = None if rules is None else rules_file(rules)
    asked = None if workload is None else workload_file(workload)
    wanted = _Wanted(texts_of(quasi), sensitive, texts_of(keep), reading)
    before, first, after, second, between = _understood(
        original,
        published,
        wanted,
        lambda one, other: _Between(one, other, hierarchy, told, unknown, KmAnonymity(k, m)),
    )
    if same_order and first.rows != second.rows:
        raise InputError(
            f"{first.source} has {first.rows:,} rows and {second.source} {second.rows:,}; leave out {option('same_order')}, "
            "rows do not correspond"
        )
    _check_workload(asked, before)
    pair = _Pair(
        before,
        after,
        between,
        k,
        m,
        seed,
        same_order,
        threads,
    )
    reasons: dict[str, str] = {}
    lost = pair.items_loss(reasons)
    columns = pair.columns_loss(reasons, weights or {})
    changed = pair.edits(reasons)
    tell("counting items and pairs", 0.15)
    frequencies, survived, mined = pair.frequencies_and_pairs(pairs, reasons)
    tell("asking queries", 0.3)
    answered = pair.queries(queries, asked, reasons)
    tell("counting classes", 0.55)
    sizes = pair.class_sizes()
    risk = {side: prosecutor(data, k, threads=threads) for side, data in (("before", before), ("after", after))}
    tell("counting itemsets", 0.65)
    curves = {side: _uniqueness(data, k, m, threads) for side, data in (("before", before), ("after", after))}
    risk_m = {side: prosecutor(data, k, m, threads=threads) for side, data in (("before", before), ("after", after))}
    tell("linking people", 0.9)
    linked = pair.linkage(sample)
    return Evaluation(
        first,
        second,
        int(k),
        int(m),
        int(seed),
        same_order,
        lost,
        columns,
        changed,
        pair.ul(reasons),
        pair.ambiguity(reasons),
        sizes,
        frequencies,
        survived,
        mined,
        pair.associations(reasons),
        answered,
        risk,
        curves,
        risk_m,
        linked,
        reasons,
        tuple(pair.notes()),
    )


def read_release(
    data: Any,
    *,
    quasi: str | Collection[str] | None = None,
    sensitive: str | Collection[str] | None = None,
    keep: str | Collection[str] | None = None,
    **reading: Any,
) -> tuple[Records, Side]:
    """The records of a single file with roles, read as `evaluate` reads the original."""
    return _Wanted(texts_of(quasi), sensitive, texts_of(keep), reading).read(data)


class _Wanted:
    """How both files are to be read. A release lacks the columns that were dropped, and may have one more, of buckets."""

    def __init__(
        self, quasi: tuple[str, ...], sensitive: Any, keep: tuple[str, ...], reading: Mapping[str, Any]
    ) -> None:
        self.quasi, self.sensitive, self.keep = quasi, sensitive, keep
        self.reading = {name: value for name, value in reading.items() if value is not None and value != ()}

    @property
    def separator(self) -> str | None:
        """What is said to part the items of a cell."""
        found: str | None = self.reading.get("separator")
        return found

    def parted_by(self, separator: str | None) -> _Wanted:
        """The same, with another separator, or with one that is to be found out."""
        return _Wanted(self.quasi, self.sensitive, self.keep, {**self.reading, "separator": separator})

    def read(self, data: Any, like: Records | None = None) -> tuple[Records, Side]:
        """The records in one of the files; `like` is the original, once it is read."""
        if isinstance(data, Records):
            return data, _side(data, "the Records", load_records(data).sha256)
        columns = [] if isinstance(data, Baskets) else column_names(data, self.reading.get("format"))
        named = [name for name in _parts(texts_of(self.sensitive)) if name in columns]
        if not self.quasi and not named:
            return self._sets(data, columns, like)
        return self._table(data, columns, named, like)

    def _sets(self, data: Any, columns: list[str], like: Records | None) -> tuple[Records, Side]:
        asked = dict(self.reading)
        if "numeric" in asked:
            raise InputError(
                f"{option('numeric')} is for the columns of tables; name what an attacker may know with {option('quasi')}"
            )
        if self.keep:
            raise InputError(
                f"{option('keep')} is for the columns of tables; name what an attacker may know with {option('quasi')}"
            )
        if like is not None and "drop" in asked:
            asked["drop"] = _among(asked["drop"], columns)
        try:
            source = load(data, **asked)
        except NoRoleError as error:
            raise error.within("", OR_QUASI) from None
        records = Records((), source.baskets)
        if like is not None and source.layout.format in GUARDED:
            records = without_guards(records, like)
        if like is not None and like.sensitive_items:
            assert records.items is not None
            records = replace(records, sensitive_items=like.sensitive_items & frozenset(records.items.vocabulary))
        elif self.sensitive is not None:
            records = mark_sensitive(source.baskets, self.sensitive)
        return records, _side(records, source.name, source.sha256)

    def _table(self, data: Any, columns: list[str], named: list[str], like: Records | None) -> tuple[Records, Side]:
        asked = dict(self.reading)
        if asked.pop("id", None) is not None:
            raise InputError(
                f"{option('id')} is for long tables of items; a table with {option('quasi')} has one row per person"
            )
        keep = list(self.keep)
        sets = asked.get("items") or ("items" if "items" in columns and "items" not in self._placed() else None)
        if not self.quasi and sets is None:
            choice = Choice(None, None, None, (*named, *texts_of(asked.get("drop", ()))))
            sets = set_column(columns, choice, source_name(data))
        if sets is not None:
            asked["items"] = sets
        if like is not None:
            asked.pop("numeric", None)  # numbers may be ranges now
            if "drop" in asked:
                asked["drop"] = _among(asked["drop"], columns)
            if BUCKET in columns and BUCKET not in self._placed() and BUCKET not in like.names:
                keep.append(BUCKET)
        roles: dict[str, Any] = {"quasi": self.quasi, "keep": tuple(keep)}
        marked: Any = None
        if sets is not None and len(named) == 1:
            roles["sensitive_sets"] = named[0]
        elif named:
            roles["sensitive"] = tuple(named)
        elif self.sensitive is not None:
            marked = self.sensitive
        source = load_records(data, **asked, **roles)
        records = source.records
        if like is not None and source.layout.format in GUARDED:
            records = without_guards(records, like)
        if marked is not None and like is None:
            records = mark_sensitive(records, marked)
        elif marked is not None and like is not None and records.items is not None:
            held = like.sensitive_items & frozenset(records.items.vocabulary)
            records = replace(records, sensitive_items=held)
        return records, _side(records, source.name, source.sha256)

    def _placed(self) -> set[str]:
        """Columns that have a role already."""
        return set(
            _parts((*self.quasi, *self.keep, *texts_of(self.sensitive), *texts_of(self.reading.get("drop", ()))))
        )


def _understood(
    original: Any, published: Any, wanted: _Wanted, understood: Callable[[Records, Records], _Between]
) -> tuple[Records, Side, Records, Side, _Between]:
    """Both files, read, and what lies between them.

    One separator is given, and the files may have two: a release takes another mark if its names hold the one of the original, or
    has lists. So the separator is taken for both files, else for the original alone, else for the release alone, until published names mean
    something; what it is not taken for is found out.
    """
    given = wanted.separator
    ways = [(given, given)]
    if given is not None and not _is_stdin(published):
        ways += [(given, None)] if _is_stdin(original) else [(given, None), (None, given)]
    first_fault: InputError | None = None
    read: dict[str | None, tuple[Records, Side]] = {}
    for one, other in ways:
        try:
            if one not in read:
                read[one] = wanted.parted_by(one).read(original)
            before, first = read[one]
            if not first.rows:
                raise InputError(f"{first.source} has no rows; there is nothing to compare")
            after, second = wanted.parted_by(other).read(published, like=before)
            return before, first, after, second, understood(before, after)
        except InputError as fault:
            first_fault = first_fault or fault
    assert first_fault is not None
    raise first_fault


class _Between:
    """What published values mean."""

    def __init__(
        self,
        original: Records,
        published: Records,
        hierarchy: Any,
        rules: RulesFile | None,
        unknown: str | None,
        promise: KmAnonymity,
    ) -> None:
        self.rules = rules
        specs = dict(hierarchy) if isinstance(hierarchy, Mapping) else ({} if hierarchy is None else {"": hierarchy})
        if "" in specs and original.items is not None:
            specs[original.items_name] = specs.pop("")
        quasi = {column.name: column for column in original.of_role("quasi")}
        sets = [original.items_name] if original.items is not None else []
        strange = [name for name in specs if name not in quasi and name not in sets]
        if strange == [""]:
            raise InputError(f"a hierarchy needs its column: give {option('hierarchy', 'COL=SPEC')}")
        if strange:
            raise InputError(
                f"there is no column {strange[0]!r} for {option('hierarchy')}; there are {', '.join([*quasi, *sets])}"
            )
        self.trees: dict[str, Hierarchy | None] = {
            name: column_hierarchy(column, specs.get(name), unknown=unknown) for name, column in quasi.items()
        }
        self.cells: dict[str, CellMeanings] = {
            name: cell_meanings(published[name], column, self.trees[name]) for name, column in quasi.items()
        }
        self.tokens: TokenMeanings | None = None
        self.query_tree: Hierarchy | None = None
        self.unanswerable = ""
        if original.items is None or published.items is None:
            if original.items is not None:
                raise InputError(
                    f"the original has items and the release has none; name their column with {option('items')}"
                )
            return
        open_items = parted(original.items, original.sensitive_items)[0]
        spec = specs.get(original.items_name)
        tree = (
            resolve(
                spec,
                Values.of_items(open_items),
                unknown=unknown,
                learn=learner(open_items, promise),  # the same tree again, if k and m are those of the release
            )
            if spec is not None and open_items.vocabulary
            else None
        )
        if rules is not None and rules.model == "diversity":
            raise InputError(f"the rules are about buckets, but the files hold items; leave {option('rules')} out")
        _check_rules(rules, original.items)
        self.tokens = token_meanings(
            published.items.vocabulary,
            original.items.vocabulary,
            tree,
            rules=None if rules is None else rules.items_of,
            sensitive=original.sensitive_items,
        )
        self.query_tree = self._tree_for_queries(original.items, tree)
        if self.query_tree is not None:
            self.trees[original.items_name] = self.query_tree

    def _tree_for_queries(self, original: Baskets, tree: Hierarchy | None) -> Hierarchy | None:
        """The tree that queries read tokens by: the one that is given, or one that says the same as the rules."""
        assert self.tokens is not None
        known = set(original.vocabulary) | (set(tree.names) if tree else set())
        others = [t for t in self.tokens.tokens if t not in known and not set_members(t, set(original.vocabulary))]
        if not others:
            return tree
        wanted = [t for t in self.tokens.tokens if t not in set(self.tokens.domain)]
        made = tree_of_tokens(self.tokens, wanted)
        if made is None:
            self.unanswerable = "tokens of the rules overlap: give the hierarchy that they come from"
        return made


@dataclass(frozen=True, eq=False)
class _Pair:
    """Both files, read and understood. Each method is one measure; where it is not defined it says why in `reasons`."""

    original: Records
    published: Records
    between: _Between
    k: int
    m: int
    seed: int
    same_order: bool
    threads: int | None

    @property
    def buckets(self) -> Buckets | None:
        """A bucketized release as what it is."""
        column = next((c for c in self.published.of_role("keep") if c.name == BUCKET), None)
        if column is None or any(c.name == BUCKET for c in self.original.columns):
            return None
        if self.published.items is not None or len(self.published.of_role("sensitive")) != 1:
            return None
        others = tuple(c for c in self.published.columns if c is not column)
        return Buckets.of(replace(self.published, columns=others), column.codes, names=column.values)

    def items_loss(self, reasons: dict[str, str]) -> ItemsLoss | None:
        if self.original.items is None or self.published.items is None or self.between.tokens is None:
            reasons["loss.items"] = _NO_ITEMS
            return None
        found = items_loss(
            self.original.items,
            self.published.items,
            self.between.tokens,
            sensitive=self.original.sensitive_items,
            same_order=self.same_order,
        )
        if found.added or (self.between.rules is not None and self.between.rules.model == "k"):
            reasons["loss.items"] = "not defined for releases that add items: items added and removed are the measure"
            return None
        return found

    def columns_loss(self, reasons: dict[str, str], weights: Mapping[str, float]) -> Mapping[str, Any] | None:
        if not self.between.cells:
            if weights:
                raise InputError("weights are for the columns of tables, and there are none; leave them out")
            reasons["loss.columns"] = "not defined for files of sets: there are no quasi-identifier columns"
            return None
        return columns_loss(self.original, self.published, self.between.cells, weights)

    def edits(self, reasons: dict[str, str]) -> Mapping[str, float] | None:
        if self.original.items is None or self.published.items is None:
            reasons["loss.edits"] = _NO_ITEMS
            return None
        rules = self.between.rules
        if not self.same_order and rules is not None and rules.added is not None and rules.removed is not None:
            own = parted(self.original.items, self.original.sensitive_items)[0].occurrences
            added, removed = rules.added / max(1, own), rules.removed / max(1, own)
            return {"il": added + removed, "added": added, "removed": removed}
        if not self.same_order:
            reasons["loss.edits"] = Message(
                f"not defined where rows are shuffled; pass {option('same_order')} if rows correspond, or the {option('rules')} of a "
                "k-anonymous release"
            )
            return None
        before, after = (
            parted(sets, self.original.sensitive_items)[0] for sets in (self.original.items, self.published.items)
        )
        if set(after.vocabulary) - set(before.vocabulary):
            reasons["loss.edits"] = "not defined for releases that generalize items: a token is not an item"
            return None
        return edits(before, after).loss()

    def ul(self, reasons: dict[str, str]) -> Mapping[str, float] | None:
        if self.original.items is None or self.published.items is None or self.between.tokens is None:
            reasons["loss.ul"] = _NO_ITEMS
            return None
        meanings = self.between.tokens
        sizes = dict(zip(meanings.tokens, meanings.sizes.tolist(), strict=True))
        after = parted(self.published.items, self.original.sensitive_items)[0]
        before = parted(self.original.items, self.original.sensitive_items)[0]
        return {
            "original": ul(before, np.ones(len(before.vocabulary), np.int64))["ul"],
            "published": ul(after, np.array([sizes[token] for token in after.vocabulary], np.int64))["ul"],
        }

    def ambiguity(self, reasons: dict[str, str]) -> float | None:
        buckets = self.buckets
        if buckets is None:
            reasons["loss.ambiguity"] = _NO_BUCKETS
            return None
        total = len(buckets.of_row)
        owner = np.repeat(np.arange(len(buckets)), np.diff(buckets.offsets))
        # A value that c of n rows of a bucket have is guessed right for these c with a chance of c / n.
        right = float((buckets.counts * (buckets.counts / buckets.sizes[owner])).sum())
        return 1 - right / total if total else 0.0

    def class_sizes(self) -> dict[str, Mapping[str, Any]]:
        with_items = not self.between.cells
        gone = max(0, len(self.original) - len(self.published))
        found: dict[str, Mapping[str, Any]] = {
            "before": class_figures(crowds(self.original, items=with_items)[1], self.k),
            "after": class_figures(crowds(self.published, items=with_items)[1], self.k, gone),
        }
        buckets = self.buckets
        if buckets is not None:
            found["buckets"] = class_figures(buckets.sizes, self.k, gone)
        return found

    def frequencies_and_pairs(
        self, n: int, reasons: dict[str, str]
    ) -> tuple[FrequencyError | None, Pairs | None, RuleErrors | None]:
        if self.original.items is None or self.published.items is None or self.between.tokens is None:
            for name in ("frequencies", "pairs", "rules"):
                reasons[f"utility.{name}"] = _NO_ITEMS
            return None, None, None
        hidden = self.original.sensitive_items
        files = self.original.items, self.published.items, self.between.tokens
        frequencies = frequency_error(*files, hidden)
        followed = pair_survival(*files, n, sensitive=hidden)
        if not len(followed):
            reasons["utility.pairs"] = reasons["utility.rules"] = "no two items of the original share two rows"
            return frequencies, None, None
        return frequencies, followed, rule_errors(followed, *files, sensitive=hidden)

    def associations(self, reasons: dict[str, str]) -> Mapping[str, Any] | None:
        buckets = self.buckets
        if buckets is None:
            reasons["utility.associations"] = _NO_BUCKETS
            return None
        trees = {name: tree for name, tree in self.between.trees.items() if tree is not None}
        true, shown = (
            associations(data, trees, max_length=ASSOCIATED, threads=self.threads) for data in (self.original, buckets)
        )
        error = identification_error(true, shown)
        return {
            "rules": len(true),
            "confidence_error": confidence_error(true, buckets, threads=self.threads),
            "shown": len(shown),
            "missed": error.false_negative,
            "extra": error.false_positive if len(true) or not len(shown) else None,
        }

    def queries(
        self, n: int, own: tuple[Query, ...] | None, reasons: dict[str, str]
    ) -> dict[str, Mapping[str, Any] | None]:
        found: dict[str, Mapping[str, Any] | None] = {}
        buckets = self.buckets
        names = [column.name for column in self.original.of_role("quasi")]
        if buckets is not None:
            names.append(buckets.sensitive)
        has_items = self.original.items is not None
        for kind, possible in (("relational", bool(names)), ("items", has_items), ("mixed", has_items and bool(names))):
            if not possible:
                lacking = "items" if kind != "relational" and not has_items else "quasi-identifier columns"
                found[kind], reasons[f"utility.queries.{kind}"] = None, f"not defined: there are no {lacking}"
                continue
            if not n:
                found[kind], reasons[f"utility.queries.{kind}"] = None, "none were asked for"
                continue
            if kind != "relational" and self.between.unanswerable:
                found[kind], reasons[f"utility.queries.{kind}"] = None, self.between.unanswerable
                continue
            try:
                drawn = random_workload(
                    self.original,
                    n,
                    kind,  # type: ignore[arg-type]
                    self.seed,
                    columns=names or None,
                    n_items=2 if has_items and self._longest > 1 else 1,
                )
            except InputError as error:
                found[kind], reasons[f"utility.queries.{kind}"] = None, str(error)
                continue
            found[kind] = self._answered(drawn)
        if own is not None:
            if self.between.unanswerable and any(query.items for query in own):
                raise InputError(self.between.unanswerable)
            found["workload"] = self._answered(own)
        return found

    @property
    def _longest(self) -> int:
        return self.original.items.longest if self.original.items is not None else 0

    def _answered(self, workload: tuple[Query, ...]) -> dict[str, Any]:
        errors = relative_errors(
            self.original, self.buckets or self.published, workload, self.between.trees, threads=self.threads
        )
        return {
            "queries": len(workload),
            "are": float(errors.mean()) if len(errors) else 0.0,
            "median": float(np.median(errors)) if len(errors) else 0.0,
            "worst": float(errors.max(initial=0.0)),
        }

    def linkage(self, sample: int) -> Linkage:
        trees = {name: tree for name, tree in self.between.trees.items() if name in self.between.cells}
        return linkage(
            self.original,
            self.published,
            trees,
            meanings=self.between.tokens,
            sample=sample,
            m=self.m,
            k=self.k,
            seed=self.seed,
        )

    def notes(self) -> list[str]:
        found = []
        difference = len(self.original) - len(self.published)
        if difference:
            rows = "1 row" if abs(difference) == 1 else f"{abs(difference):,} rows"
            found.append(f"the release has {rows} {'fewer' if difference > 0 else 'more'} than the original")
        return found


_NO_ITEMS = "not defined for tables without items"
_NO_BUCKETS = "not defined for releases without buckets"


def _check_rules(rules: RulesFile | None, original: Baskets) -> None:
    """Raises if the rules are about other data."""
    if rules is None or rules.model == "k":
        return
    known = set(original.vocabulary)
    named = [item for items in (*rules.items_of.values(), rules.dropped) for item in items]
    strange = [item for item in named if item not in known]
    if strange:
        raise InputError(
            f"the rules name {len(strange):,} items that the original does not hold{VALUES}; give its own rules",
            values=strange,
        )


def _check_workload(workload: tuple[Query, ...] | None, original: Records) -> None:
    """Raises if a query asks for what the original never had: a slip of the pen, of which the answer 0 would say nothing."""
    known = set() if original.items is None else set(original.items.vocabulary)
    for query in workload or ():
        if query.items and original.items is None:
            raise InputError(
                f"the workload asks for items, and the table has none; name their column with {option('items')}"
            )
        strange = sorted(query.items - known)
        if strange:
            raise InputError(
                f"the workload asks for {len(strange):,} items that the original does not hold{VALUES}; correct it",
                values=strange,
            )
        for condition in query.conditions:
            original[condition.column]


def _uniqueness(records: Records, k: int, m: int, threads: int | None) -> tuple[Exposure, ...]:
    """What m = 1, 2, ... known items give away, in tables with the columns and beginning with m = 0, the columns alone."""
    found = list[Exposure]()
    sets = None if records.items is None else parted(records.items, records.sensitive_items)[0]
    if not records.of_role("quasi"):
        return tuple(uniqueness(sets, k, m, examples=0, threads=threads)) if sets is not None else ()
    of_row, sizes = column_classes(records)
    small = sizes < k
    found.append(
        Exposure(
            0,
            len(sizes),
            int(np.count_nonzero(small)),
            int(sizes[small].sum()),
            int(np.count_nonzero(sizes == 1)),
            (),
        )
    )
    if sets is not None:
        apart, _ = told_apart(sets, of_row)
        found += uniqueness(apart, k, m, examples=0, threads=threads, known=sizes[of_row])
    return tuple(found)


def _exposure(exposure: Exposure, rows: int) -> dict[str, Any]:
    return {
        "m": exposure.m,
        "itemsets": exposure.itemsets,
        "rare": exposure.rare,
        "over": exposure.exposed,
        "share_over": exposure.exposed / max(1, rows),
        "unique": exposure.unique,
        "share_unique": exposure.unique / max(1, rows),
    }


def _side(records: Records, source: str, sha256: str) -> Side:
    sets = records.items
    return Side(
        source,
        sha256,
        len(records),
        0 if sets is None else len(sets.vocabulary),
        0 if sets is None else sets.occurrences,
        {column.name: column.role for column in records.columns}
        | ({} if sets is None or not records.columns else {records.items_name: "items"})
        | ({} if records.sensitive_name is None else {records.sensitive_name: "sensitive"}),
    )


def _is_stdin(data: Any) -> bool:
    return isinstance(data, str) and data == "-"


def _parts(texts: Collection[str]) -> tuple[str, ...]:
    """Every name in some texts, alone or with commas between them."""
    return tuple(dict.fromkeys(name for text in texts for name in (str(text), *comma_parts(str(text)))))


def _among(texts: Any, columns: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in _parts(texts_of(texts)) if name in columns)
