"""An original and its release: both read in the same roles, and what published values mean.

Published rows are shuffled, and a release may lack columns that were dropped, have a column of buckets, or part items by another mark: each
file is read for what it is, until published names mean something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.algorithms.km.learning import learner
from shoal.analysis.chunk_worth import chunk_worth
from shoal.analysis.reconstruction import drawing, read_chunks, release_in_chunks
from shoal.errors import VALUES, InputError, number_of, option
from shoal.evaluation.between import RulesFile, rules_file, with_blanks, without_guards, workload_file
from shoal.evaluation.request import Request
from shoal.evaluation.shuffled_fates import shuffled_column_fates, shuffled_item_fates
from shoal.guarantees.chunks import Chunks
from shoal.guarantees.diversity import BUCKET
from shoal.guarantees.k import open_and_sensitive
from shoal.guarantees.km import KmAnonymity
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
from shoal.loss.common_pairs import pairs_kept
from shoal.loss.fates import Coverage, column_fates, dealt_fates, row_fates
from shoal.loss.pairs import Pairs, pair_survival
from shoal.loss.queries import Query
from shoal.loss.worth import Names, Worth, columns_worth, items_worth, table_worth
from shoal.options import Reading
from shoal.price.information import Fates
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets, sensitive_views
from shoal.records.formats.peek import column_names, source_name
from shoal.records.layout import GUARDED
from shoal.records.records import Records
from shoal.records.roles import OR_QUASI, NoRoleError, SetRoles, comma_parts, texts_of
from shoal.records.source import Source, load_records, load_sets, mark_sensitive


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

    @classmethod
    def of(cls, records: Records, source: str, sha256: str) -> Side:
        sets = records.items
        return cls(
            source,
            sha256,
            len(records),
            0 if sets is None else len(sets.vocabulary),
            0 if sets is None else sets.occurrences,
            {column.name: column.role for column in records.columns}
            | ({} if sets is None or not records.columns else {records.items_name: "items"})
            | ({} if records.sensitive_name is None else {records.sensitive_name: "sensitive"}),
        )

    def to_dict(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


class Reader:
    """How both files are read. A release lacks the columns that were dropped, and may have one more, of buckets."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.quasi, self.keep = texts_of(asked.get("quasi")), texts_of(asked.get("keep"))
        self.sensitive = asked.get("sensitive")
        given = {
            name: asked.get(name)
            for name in Reading.__annotations__
            if name not in ("quasi", "sensitive", "keep", "one_hot")
        }
        self.reading = {name: value for name, value in given.items() if value is not None and value != ()}

    def read(self, data: Any, like: Records | None = None) -> tuple[Records, Side]:
        """The records in one of the files; `like` is the original, once it is read."""
        if isinstance(data, Records):
            return data, Side.of(data, "the Records", load_records(data).sha256)
        columns = [] if isinstance(data, Baskets) else column_names(data, self.reading.get("format"))
        named = [name for name in _parts(texts_of(self.sensitive)) if name in columns]
        asked = dict(self.reading)
        if like is not None and "drop" in asked:
            asked["drop"] = tuple(name for name in _parts(texts_of(asked["drop"])) if name in columns)
        for role in ("id", "person"):
            if (
                like is not None and asked.get(role) not in (None, *columns) and columns
            ):  # never published, but of long tables
                del asked[role]
        is_table = bool(self.quasi or named)
        source = self._table(data, columns, named, asked, like) if is_table else self._sets(data, asked)
        records = source.records
        if like is not None and source.layout.format in GUARDED:
            records = without_guards(records, like)
        marked = None if named else self.sensitive
        if like is not None and records.items is not None and (marked is not None or not is_table):
            held = like.sensitive_items & frozenset(records.items.vocabulary)
            records = replace(records, sensitive_items=held)
        elif like is None and marked is not None:
            records = mark_sensitive(records, marked)
        return records, Side.of(records, source.name, source.sha256)

    def _sets(self, data: Any, asked: dict[str, Any]) -> Source:
        for name, given in (*((name, name in asked) for name in ("numeric", "spelling")), ("keep", self.keep)):
            if given:
                raise InputError(
                    f"{option(name)} is for the columns of tables; name what an attacker may know with {option('quasi')}"
                )
        try:
            return load_sets(data, **asked)
        except NoRoleError as error:
            raise error.within("", OR_QUASI) from None

    def _table(
        self, data: Any, columns: list[str], named: list[str], asked: dict[str, Any], like: Records | None
    ) -> Source:
        dropped = texts_of(asked.get("drop", ()))
        placed = set(_parts((*self.quasi, *self.keep, *texts_of(self.sensitive), *dropped)))
        sets = asked.get("items") or ("items" if "items" in columns and "items" not in placed else None)
        if not self.quasi and sets is None:
            sets = SetRoles(drop=(*named, *dropped)).set_column(columns, source_name(data))
        if sets is not None:
            asked["items"] = sets
        keep = self.keep
        if like is not None:
            asked.pop("numeric", None)  # numbers may be ranges now
            if BUCKET in columns and BUCKET not in placed and BUCKET not in like.names:
                keep = (*keep, BUCKET)
        sensitive: dict[str, Any] = {}
        if named:
            sensitive = {"sensitive_sets": named[0]} if sets is not None and len(named) == 1 else {"sensitive": named}
        return load_records(data, quasi=self.quasi, keep=keep, **asked, **sensitive)


class Meanings:
    """What published values mean."""

    def __init__(self, original: Records, published: Records, asked: Request, rules: RulesFile | None) -> None:
        self.rules = rules
        specs, unknown = _specs(asked.get("hierarchy"), original), asked.get("unknown")
        quasi = {column.name: column for column in original.of_role("quasi")}
        self.trees: dict[str, Hierarchy | None] = {
            name: column_hierarchy(column, specs.get(name), unknown=unknown) for name, column in quasi.items()
        }
        self.cells: dict[str, CellMeanings] = {
            name: cell_meanings(published[name], column, self.trees[name]) for name, column in quasi.items()
        }
        self.tokens: TokenMeanings | None = None
        self.items = published.items
        """The published sets, by the names that tokens have in the original and in the hierarchy."""
        self.crossing = False
        """Whether tokens of the rules overlap, so that no tree says what they mean."""
        if original.items is None:
            return
        if published.items is None:
            raise InputError(
                f"the original has items and the release has none; name their column with {option('items')}"
            )
        open_items = open_and_sensitive(original.items, original.sensitive_items)[0]
        spec, tree = specs.get(original.items_name), None
        if spec is not None and open_items.vocabulary:
            # With k and m of the release, a learned tree is the same again.
            learn = learner(open_items, KmAnonymity(asked["k"], asked["m"]))
            tree = resolve(spec, Values.of_items(open_items), unknown=unknown, learn=learn)
        _check_rules(rules, original.items)
        told = () if rules is None else rules.items_of
        self.items = with_blanks(published.items, {*original.items.vocabulary, *(tree.names if tree else ()), *told})
        self.tokens = token_meanings(
            self.items.vocabulary,
            original.items.vocabulary,
            tree,
            rules=None if rules is None else rules.items_of,
            sensitive=original.sensitive_items,
        )
        query_tree = self._tree_for_queries(self.tokens, original.items, tree)
        if query_tree is not None:
            self.trees[original.items_name] = query_tree

    def _tree_for_queries(self, meanings: TokenMeanings, original: Baskets, tree: Hierarchy | None) -> Hierarchy | None:
        """The tree that queries read tokens by: the one that is given, or one that says the same as the rules."""
        items = set(original.vocabulary)
        known = items | (set(tree.names) if tree else set())
        if all(token in known or set_members(token, items) for token in meanings.tokens):
            return tree
        made = tree_of_tokens(meanings, [token for token in meanings.tokens if token not in set(meanings.domain)])
        self.crossing = made is None
        return made


def _specs(hierarchy: Any, original: Records) -> dict[str, Any]:
    """The hierarchies that are given, by column; raises for columns that are not there."""
    specs = dict(hierarchy) if isinstance(hierarchy, Mapping) else ({} if hierarchy is None else {"": hierarchy})
    if "" in specs and original.items is not None:
        specs[original.items_name] = specs.pop("")
    names = [column.name for column in original.of_role("quasi")]
    names += [original.items_name] if original.items is not None else []
    strange = [name for name in specs if name not in names]
    if strange == [""]:
        raise InputError(f"a hierarchy needs its column: give {option('hierarchy', 'COL=SPEC')}")
    if strange:
        raise InputError(f"there is no column {strange[0]!r} for {option('hierarchy')}; there are {', '.join(names)}")
    return specs


@dataclass(frozen=True, eq=False)
class Pair:
    """Both files, read and understood, and what is asked about them."""

    original: Records
    published: Records
    first: Side
    second: Side
    meanings: Meanings
    asked: Request
    workload: tuple[Query, ...] | None
    chunks: Chunks | None = None
    """The release, where it is in chunks; `published` is then a set of records that were drawn from it."""

    @property
    def sides(self) -> dict[str, Records]:
        return {"before": self.original, "after": self.published}

    @property
    def sets(self) -> tuple[Baskets, Baskets, TokenMeanings]:
        """The items of both files and what they mean, where there are items."""
        assert self.original.items is not None
        assert self.published.items is not None
        assert self.meanings.tokens is not None
        return self.original.items, self.published.items, self.meanings.tokens

    @cached_property
    def open_sets(self) -> tuple[Baskets, Baskets]:
        """The same without the sensitive items, which are published as they are."""
        before, after, _ = self.sets
        return open_and_sensitive(before, self.original.sensitive_items)[0], open_and_sensitive(
            after, self.original.sensitive_items
        )[0]

    @cached_property
    def followed(self) -> Pairs:
        """The most frequent pairs of items, and what became of them."""
        return pair_survival(*self.sets, self.asked["pairs"], sensitive=self.original.sensitive_items)

    @cached_property
    def worth(self) -> tuple[Worth, bool]:
        """(what the release is worth, whether that is estimated from counts)."""
        if self.chunks is not None:
            return chunk_worth(self.sets[0], self.chunks, self.asked["k"]), False
        items, columns, guesses = None, None, list[bool]()
        if self.meanings.tokens is not None:
            fates, guessed = self.item_fates
            meanings = self.meanings.tokens
            names = Names(meanings.domain, meanings.tokens, meanings.breadth)
            items = items_worth(fates, pairs_kept(*self.open_sets), names)
            guesses.append(guessed)
        if self.meanings.cells:
            of_columns = {name: self._column_fates(name) for name in self.meanings.cells}
            guesses += [guessed for _, guessed in of_columns.values()]
            fates_of = {name: fates for name, (fates, _) in of_columns.items()}
            columns = columns_worth(fates_of, self.asked.get("weights") or {}, self.meanings.cells)
        if self.buckets and columns is not None:  # what is lost there is whose the sensitive values are
            dealt = [dealt_fates(each) for each in self.buckets]
            bits = sum(each.bits for each in dealt)
            info = sum(each.lost_bits for each in dealt) / bits if bits else 0.0
            return Worth({"info": info}, columns.kept, columns.remains), False
        worth = table_worth(columns, items) if columns is not None else items
        assert worth is not None
        return worth, any(guesses)

    @cached_property
    def item_fates(self) -> tuple[Fates, bool]:
        """What became of the items that are not sensitive, row by row if rows correspond, and whether that is an estimate."""
        before, after, meanings = self.sets
        if not self.asked["same_order"]:
            return shuffled_item_fates(*self.open_sets, meanings, may_delete=not self.meanings.cells)
        fates = row_fates(before, after, Coverage.of_meanings(meanings))
        hidden = np.array([name in self.original.sensitive_items for name in meanings.domain], np.bool_)
        shown = ~hidden[fates.item]
        return Fates(fates.item[shown], fates.token[shown], fates.times[shown], fates.as_it_is[shown]), False

    def _column_fates(self, name: str) -> tuple[Fates, bool]:
        before, after = self.original[name], self.published[name]
        if self.asked["same_order"]:
            return column_fates(before, after, self.meanings.trees[name]), False
        return shuffled_column_fates(before, after, self.meanings.cells[name])

    @cached_property
    def deleted(self) -> float:
        """The share of the items that is missing, as a certificate would tell it; 0 where items were added instead."""
        before, after = self.open_sets
        own = dict(zip(before.vocabulary, before.supports().tolist(), strict=True))
        if any(
            rows > own.get(name, rows) for name, rows in zip(after.vocabulary, after.supports().tolist(), strict=True)
        ):
            return 0.0
        fates = self.item_fates[0]
        return float(fates.times[fates.token < 0].sum() / max(1.0, float(fates.times.sum())))

    @cached_property
    def buckets(self) -> tuple[Buckets, ...]:
        """A bucketized release as what it is, once for each sensitive column; nothing for other releases."""
        column = next((c for c in self.published.of_role("keep") if c.name == BUCKET), None)
        if column is None or BUCKET in self.original.names:
            return ()
        if self.published.items is not None or not self.published.of_role("sensitive"):
            return ()
        others = replace(self.published, columns=tuple(c for c in self.published.columns if c is not column))
        return tuple(Buckets.of(view, column.codes, names=column.values) for view in sensitive_views(others))


def read_pair(original: Any, published: Any, asked: Request) -> Pair:
    """Both files and what lies between them.

    One separator is given, and the files may have two: a release takes another mark if its names hold the one of the original, or
    has lists. So the separator is taken for both files, else for the original alone, else for the release alone, until published names mean
    something; what it is not taken for is found out.
    """
    if _is_stdin(original) and _is_stdin(published):
        raise InputError("only one of the two files can come from standard input; name the other")
    rules, workload = asked.get("rules"), asked.get("workload")
    told = None if rules is None else rules_file(rules)
    own = None if workload is None else workload_file(workload)
    given = asked.get("separator")
    ways = [(given, given)]
    if given is not None and not _is_stdin(published):
        ways += [(given, None)] if _is_stdin(original) else [(given, None), (None, given)]
    first_fault: InputError | None = None
    read: dict[str | None, tuple[Records, Side]] = {}
    for one, other in ways:
        try:
            if one not in read:
                read[one] = Reader({**asked, "separator": one}).read(original)
            before, first = read[one]
            if not first.rows:
                raise InputError(f"{first.source} has no rows; there is nothing to compare")
            after, second = Reader({**asked, "separator": other}).read(published, like=before)
            meanings = Meanings(before, after, asked, told)
            if meanings.items is not after.items and meanings.items is not None:
                hidden = before.sensitive_items & frozenset(meanings.items.vocabulary)
                after = replace(after, items=meanings.items, sensitive_items=after.sensitive_items | hidden)
            pair = Pair(before, after, first, second, meanings, asked, own)
            break
        except InputError as fault:
            first_fault = first_fault or fault
    else:
        assert first_fault is not None
        raise first_fault
    _check_pair(pair)
    return pair


def read_chunked_pair(original: Any, published: Any, asked: Request) -> Pair:
    """An original and its release in chunks, by a set of records that may have been the original."""
    if asked["same_order"]:
        raise InputError(f"a release in chunks has no rows that could correspond; leave out {option('same_order')}")
    if asked.get("rules") is not None or asked.get("hierarchy") is not None:
        raise InputError(
            f"items are as they are in a release in chunks; leave out {option('rules')} and {option('hierarchy')}"
        )
    chunks, k = release_in_chunks(published, asked["k"])
    drawn = drawing(chunks, k, asked["seed"])
    pair = read_pair(original, drawn, asked)
    data = getattr(published, "published", published)
    own = read_chunks(data, {})
    return replace(pair, chunks=chunks, second=replace(pair.second, source=own.name, sha256=own.sha256))


def _check_pair(pair: Pair) -> None:
    first, second = pair.first, pair.second
    if pair.asked["same_order"] and first.rows != second.rows:
        raise InputError(
            f"{first.source} has {first.rows:,} rows and {second.source} {second.rows:,}; leave out {option('same_order')}, "
            "rows do not correspond"
        )
    _check_workload(pair.workload or (), pair.original)
    if pair.asked.get("weights") and not pair.meanings.cells:
        raise InputError("weights are for the columns of tables, and there are none; leave them out")


def _check_rules(rules: RulesFile | None, original: Baskets) -> None:
    """Raises if the rules are about other data."""
    if rules is None or rules.model == "k":
        return
    if rules.model == "diversity":
        raise InputError(f"the rules are about buckets, but the files hold items; leave {option('rules')} out")
    known = set(original.vocabulary)
    named = [item for items in (*rules.items_of.values(), rules.dropped) for item in items]
    strange = [item for item in named if item not in known]
    if strange:
        raise InputError(
            f"the rules name {number_of(len(strange), 'item')} that the original does not hold{VALUES}; give its own rules",
            values=strange,
        )


def _check_workload(workload: tuple[Query, ...], original: Records) -> None:
    """Raises if a query asks for what the original never had: a slip of the pen, of which the answer 0 would say nothing."""
    known = set() if original.items is None else set(original.items.vocabulary)
    for query in workload:
        if query.items and original.items is None:
            raise InputError(
                f"the workload asks for items, and the table has none; name their column with {option('items')}"
            )
        strange = sorted(query.items - known)
        if strange:
            raise InputError(
                f"the workload asks for {number_of(len(strange), 'item')} that the original does not hold{VALUES}; correct it",
                values=strange,
            )
        for condition in query.conditions:
            original[condition.column]


def _is_stdin(data: Any) -> bool:
    return isinstance(data, str) and data == "-"


def _parts(texts: Collection[str]) -> tuple[str, ...]:
    """Every name in some texts, alone or with commas between them."""
    return tuple(dict.fromkeys(name for text in texts for name in (str(text), *comma_parts(str(text)))))
