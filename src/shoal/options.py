"""The table of options: what a release can be asked for, each said once.

`Keywords` lists every option with its type, as a caller of `shoal.anonymize` gives it, and with all that the other faces need to know
about it: range, default, help, its flag on the command line and its place in a plan. Flags, the model of plans, the keywords of the front
door, the fields of the app, the reference and all checks of values come from here. A new option is a line here and its use in an algorithm,
which names it in `shoal.algorithms`.
"""

# No `from __future__ import annotations`: the table is read from these annotations when the module is imported.
import difflib
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from shoal.errors import InputError, Message, option

if TYPE_CHECKING:
    from shoal.hierarchy.tree import Hierarchy

Place = tuple[str | int, ...]
"""Where something stands in a plan: keys from the outside in."""
Columns = str | Collection[str]
"""Names of columns: one text with commas, or several."""
File = str | os.PathLike[str]

READING, PROMISE, TREE, SEARCH = "Reading DATA", "The promise", "The hierarchy", "The search"
KNOWLEDGE, RUNNING, WRITING = "What the attacker knows", "Running", "Writing"
AGAIN = "Publishing again"

LARGEST = 10**9
"""Of k, l, m and the like: more people than any table holds, and safe in every counter."""
LONGEST = 1e9
"""Seconds that a time limit may have: thirty years."""
SPECS = (
    "A file (ARX csv, Amnesia txt, parent-child csv, nested json), `learned:N` (learned from the rows for the promise, usually loses "
    "least), `frequency:N` (groups of N items of similar frequency), `balanced:N` (groups of N neighbours by name) or `prefix` (codes by "
    "their leading characters)."
)


@dataclass(frozen=True)
class Text:
    """A text, such as a name or a path."""


@dataclass(frozen=True)
class Texts:
    """Names of columns, in one text with commas between them or in several."""


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Whole:
    """A whole number of at least `least`, and of at most `most` where each takes time or room."""

    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class Share:
    """A number from 0 to 1."""

    example: str
    least: float = 0
    most: float = 1


@dataclass(frozen=True)
class Seconds:
    """A time that can be waited for."""


@dataclass(frozen=True)
class Size:
    """An amount of memory, such as 2GB."""


@dataclass(frozen=True)
class Numbers:
    """A number of at least 0, and of at most `most`, for each of several names."""

    example: str
    most: float | None = None


@dataclass(frozen=True)
class Widths:
    """How wide a value may be published, a number or a word, for each of several columns."""

    example: str


@dataclass(frozen=True)
class Choices:
    """One of a few words for each of several names."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Specs:
    """A hierarchy for all, or one for each column."""


@dataclass(frozen=True)
class Words:
    """One of a few words for all columns, or one for each."""

    example: str


@dataclass(frozen=True)
class Switch:
    """Yes or no."""


Kind = Text | Texts | Choice | Whole | Share | Seconds | Size | Numbers | Widths | Choices | Specs | Words | Switch


@dataclass(frozen=True)
class Option:
    """What there is to know about an option, whoever asks."""

    group: str
    """The heading it stands under in `--help`."""
    kind: Kind
    help: str
    """Words in backticks are typed as they stand."""
    metavar: str | None = None
    default: str | None = None
    """What happens unless it is given, in words."""
    flag: str = ""
    """How the command line calls it, unless by its name."""
    place: Place = ()
    """Where a plan has it, unless under `options`."""
    name: str = ""


class Reading(TypedDict, total=False):
    """How data are read: the roles of columns, and what the file does not tell by itself."""

    quasi: Annotated[
        Columns | None,
        Option(
            READING,
            Texts(),
            "The columns of a table that an attacker may know; may be repeated.",
            "COL,COL",
            place=("the role quasi",),
        ),
    ]
    items: Annotated[
        Columns | None,
        Option(
            READING,
            Text(),
            f"The column that holds the sets (or the item, with {option('id')}); in a table with {option('quasi')} also several, COL,COL.",
            "COL",
            place=("the role items",),
        ),
    ]
    sensitive: Annotated[
        Columns | File | None,
        Option(
            PROMISE,
            Text(),
            "What an attacker wants to learn; it is published unchanged. A column, a list of items, or a file with one on each line; of a "
            "table several columns of one value a row as well.",
            "COL|ITEM,ITEM|FILE",
            place=("the role sensitive",),
        ),
    ]
    keep: Annotated[
        Columns | None,
        Option(
            READING, Texts(), "Columns to publish as they are; may be repeated.", "COL,COL", place=("the role keep",)
        ),
    ]
    numeric: Annotated[
        Columns | None,
        Option(
            READING,
            Texts(),
            "The columns of a table that hold numbers, or none; by default the spelling of the values decides.",
            "COL,COL|none",
            place=("input", "numeric"),
        ),
    ]
    spelling: Annotated[
        Mapping[str, str] | None,
        Option(
            READING,
            Choices(("comma", "point", "dmy", "mdy", "ymd")),
            "How the numbers or dates of a column of a table are spelled, if not as programs do: `comma` (3,5 or 1.234,50), `point` "
            "(1,234.50), `dmy` (03.04.2024 is in April), `mdy` or `ymd`. They are published alike. May be repeated.",
            "COL=comma|point|dmy|mdy|ymd",
            "3.5 and 2024-04-03",
            place=("input", "spelling"),
        ),
    ]
    id: Annotated[
        str | None,
        Option(
            READING,
            Text(),
            "The column that says which rows belong together: of a long table, an item each; where it is said what separates the items of "
            "a cell, or in a table with columns that others may know, rows to be joined to one record, with all of their items and the "
            "values that they share. Its values are not published.",
            "COL",
            place=("the role id",),
        ),
    ]
    person: Annotated[
        str | None,
        Option(
            READING,
            Text(),
            "The column that says whose a row is, where a person may have several: the promise then counts people instead of rows. The "
            "column is not published.",
            "COL",
            "every row is a person",
            place=("the role person",),
        ),
    ]
    drop: Annotated[
        Columns | None,
        Option(READING, Texts(), "Columns to leave out; may be repeated.", "COL,COL", place=("the role drop",)),
    ]
    one_hot: Annotated[
        bool | None,
        Option(
            READING,
            Switch(),
            f"Every item has a column, which says 1 or true where a row holds it: the columns that {option('items')} names (there, counts "
            "are taken as well), or all that have no other role. They are read as one column of sets, `items`.",
            place=("input", "one_hot"),
        ),
    ]
    separator: Annotated[
        str | None,
        Option(
            READING,
            Text(),
            "What separates the items of a cell; by default worked out from the cells.",
            place=("input", "separator"),
        ),
    ]
    format: Annotated[
        str | None,
        Option(
            READING,
            Choice(("dat", "csv", "tsv", "long", "jsonl", "parquet", "arrow")),
            "dat, csv, tsv, long, jsonl, parquet or arrow, if the name does not tell.",
            place=("input", "format"),
        ),
    ]
    query: Annotated[
        str | None,
        Option(
            READING,
            Text(),
            "What to read from a database whose address names no table.",
            "SELECT",
            place=("input", "query"),
        ),
    ]
    input_limit: Annotated[
        int | str | None,
        Option(
            READING,
            Size(),
            "The most memory that the input may take; a line of text, a tree or a list may take 1/32 of it.",
            "SIZE",
            "2GB, or 64 times the size of the file",
            place=("input", "limit"),
        ),
    ]


class Auditing(Reading, total=False):
    """The keywords of `shoal.audit`."""

    hierarchy: Annotated[
        "Hierarchy | File | Mapping[str, Any] | Any | None",
        Option(
            TREE,
            Specs(),
            SPECS
            + " For tables give one per column, `COL=SPEC`, also `bands:10`, `round:5`, `top:90` and `intervals:5,10,20` (numbers), "
            "`bands` (bands such as 50-59), `dates` (days into months, quarters and years; `dates:year,month`, `dates:dmy`), "
            "`dates:ranges` and `bands:ranges` (from the first to the last of a class), `durations`, `prefix:3,2` and `mask` (codes), and "
            "`named:N` (as balanced, named by the first and last value); numbers without one become ranges, items without one sets.",
            "[COL=]SPEC",
            "frequency:5, tables: none",
            place=("hierarchies",),
        ),
    ]
    knowledge: Annotated[
        File | None,
        Option(
            KNOWLEDGE,
            Text(),
            'diversity: rules that you add or strike, one JSON object per line: {"if": {"sex": "M"}, "never": "Ovarian cancer"}, with '
            '"strike": true to strike it.',
            "FILE",
        ),
    ]
    threads: Annotated[int | None, Option(RUNNING, Whole(1, 1_024), "Threads to use; by default all cores.")]
    memory_limit: Annotated[
        int | str | None,
        Option(
            RUNNING,
            Size(),
            "km with exact, and audits: use at most this much memory (800MB or more, such as 2GB); the rest goes to scratch files.",
            "SIZE",
        ),
    ]


class Keywords(Auditing, total=False):
    """The keywords of `shoal.anonymize`: all options but those of the promise, which a guarantee holds."""

    unknown: Annotated[
        str | None, Option(TREE, Choice(("root",)), "root: hang items that the hierarchy lacks under its root.", "root")
    ]
    algorithm: Annotated[
        str | None,
        Option(
            SEARCH,
            Text(),
            "km: `local` (an item stands as it is, else as a category, else not at all, row by row), `exact` (one cut for all rows, the "
            "proven optimum), `hybrid` (a cut, and single deletions), lra (a cut for each part of the rows), vpa (aa in parts of the "
            "domain, then in all of it), or oa, da, aa of the 2008 paper. k: `split` (loses least), or pta, gsc, gray-tsp of the 2017 "
            "paper; in tables `better-of-two` (tries cluster and mondrian), or one of these, or, the same for a value wherever it stands, "
            "`full-domain` (one level a column, the proven optimum), top-down or bottom-up (cuts). rt and lm: `joint` (columns and items "
            "under one objective), or of the 2013 paper "
            f"rmerge-r, -t or -rt (relational loss within {option('delta')}), tmerge-r, -t or -rt "
            "(item loss within it), rfirst, tfirst. diversity: injector, balanced (smaller buckets) or anatomy (ignores rules, "
            "takes several sensitive columns). constraints: `weigh` (sets of items and single deletions, by what they cost), or "
            "coat or pcta of the papers of 2011.",
            "NAME",
            "the first of each",
            place=("algorithm",),
        ),
    ]
    suppress: Annotated[
        float | None,
        Option(
            SEARCH,
            Share("0.02"),
            "Up to this share of item occurrences may be deleted: single ones (local, hybrid, weigh), whole items (coat, pcta) or "
            "whole top-level categories (exact). With 0, nothing is.",
            "SHARE",
            "local, constraints: 0.1 (in tables 0.05), hybrid: 0.05, snapshots: no limit, else 0",
        ),
    ]
    suppress_rows: Annotated[
        float | None,
        Option(
            SEARCH,
            Share("0.02"),
            f"Tables: up to this share of the rows may be left out: those that {option('limits')} leaves fewer than k alike, then those "
            "that are farthest from the rows of their class or, beside items, whose items lose most; full-domain, top-down and bottom-up "
            "choose levels with them. They count as lost.",
            "SHARE",
            "0",
        ),
    ]
    price: Annotated[
        str | None,
        Option(
            SEARCH,
            Choice(("information", "ncp")),
            "What the search for items, or with full-domain, top-down and bottom-up for columns, makes cheap. `information`: what readers "
            "no longer know about them. `ncp`: the share of the domain that each token stands for, as in the 2008 paper.",
            default="information; oa, da, aa, vpa: ncp",
        ),
    ]
    time_limit: Annotated[
        float | None,
        Option(
            SEARCH,
            Seconds(),
            "Stop searching after this time and take the best so far (local, after its first pass, exact, hybrid, lra, "
            "split and full-domain).",
            "SECONDS",
        ),
    ]
    segments: Annotated[
        int | None,
        Option(
            SEARCH,
            Whole(1, LARGEST),
            "pta and gray-tsp: cut the sorted rows into N parts. By default a part has about 100 rows, or 4k if that is "
            "more, so that the distances in a segment fit the cache of a processor. lra: at most N parts with a cut of "
            "their own. vpa: at most N parts of the domain (by default, the categories below the root).",
            "N",
            "rows / 100",
        ),
    ]
    population: Annotated[int | None, Option(SEARCH, Whole(1, 100_000), "gray-tsp: tours that evolve.", "N", "50")]
    generations: Annotated[
        int | None, Option(SEARCH, Whole(0, 1_000_000), "gray-tsp: rounds of evolution.", "N", "100")
    ]
    cluster_size: Annotated[
        int | None,
        Option(
            SEARCH,
            Whole(2, LARGEST),
            "disassociation: the records that a cluster may have, 2k or more. Larger clusters have fewer items in their rests and say less "
            "of which items were together.",
            "N",
            "30, or 2k if that is more",
        ),
    ]
    seed: Annotated[
        int | None,
        Option(
            SEARCH,
            Whole(0, 2**63 - 1),
            "Fixes the random choices of split, gray-tsp and cluster (from which the merges start).",
            "N",
            "0",
        ),
    ]
    delta: Annotated[
        float | None,
        Option(
            SEARCH,
            Share("0.65"),
            "rmerge: the largest loss (NCP) of the quasi columns; tmerge: the largest loss (UL) of the items. The other side loses as "
            "little as it can.",
            "SHARE",
            "0.65",
        ),
    ]
    balance: Annotated[
        float | None,
        Option(
            SEARCH,
            Share("0.5"),
            "joint: how much the information of the quasi columns counts against that of the items: with 0.9 the columns stay finer, "
            "with 0.1 the items.",
            "SHARE",
            "0.5",
        ),
    ]
    formation: Annotated[
        str | None,
        Option(
            SEARCH,
            Choice(("cluster", "mondrian")),
            "rt and lm: how clusters are formed before they are merged, cluster or mondrian (faster).",
            default="cluster",
        ),
    ]
    transaction: Annotated[
        str | None,
        Option(
            SEARCH,
            Choice(("local", "hybrid", "exact", "aa", "sets")),
            "rt and lm: how items are generalized inside a class: local, hybrid, exact or aa along the hierarchy (as for km), or sets: "
            "items that need not have anything in common, put together.",
            default="local",
        ),
    ]
    ordering: Annotated[
        str | None,
        Option(
            SEARCH,
            Choice(("btd", "ul")),
            "rt and lm: how the items of two clusters are compared: btd (fast) or ul (the paper's slow baseline).",
            default="btd",
        ),
    ]
    rum: Annotated[
        str | None,
        Option(
            SEARCH,
            Choice(("ncp", "discernibility", "c-avg")),
            f"rmerge and tmerge: what counts as the loss of the quasi columns, for the order of merges and rmerge's {option('delta')}. "
            "`ncp`: how coarse values are. `discernibility`: rows of every class squared, over all rows squared. `c-avg`: the average "
            "class, as a share of all rows.",
            default="ncp",
        ),
    ]
    weights: Annotated[
        Mapping[str, float] | None,
        Option(
            SEARCH,
            Numbers("age=2"),
            "Tables: how much the loss of a column counts; may be repeated.",
            "COL=NUMBER",
            "1 each",
            "--weight",
        ),
    ]
    limits: Annotated[
        Mapping[str, str | float] | None,
        Option(
            SEARCH,
            Widths("age=10"),
            "Tables: never publish a column more coarsely than this: `age=10` (numbers and bands, at most so wide), `admitted=month` "
            "(dates), `stay=7d` (durations), `zip=3` (with `prefix` or `mask`: so many characters stay) or, under other hierarchies, "
            "categories of at most so many values. May be repeated.",
            "COL=WIDTH",
            flag="--limit",
        ),
    ]
    missing_quasi: Annotated[
        Mapping[str, str] | None,
        Option(
            READING,
            Choices(("value", "unknown", "drop")),
            "Tables: what a missing value of a quasi-identifier is. `value`: a value of its own. `unknown`: published as *, as "
            "if it had been generalized. `drop`: the row is left out.",
            "COL=value|unknown|drop",
            "value",
            "--missing",
        ),
    ]
    shift: Annotated[
        Mapping[str, float] | None,
        Option(
            READING,
            Numbers("admitted=30", most=36_500),
            "Tables: move the dates of a column by up to so many days either way, each row by a number drawn anew and not recorded. "
            "Columns with the same number move together, so that the time between them stays. The certificate says so. May be "
            "repeated.",
            "COL=DAYS",
        ),
    ]
    item_weights: Annotated[
        Mapping[str, float] | None,
        Option(
            SEARCH,
            Numbers("HIV=1", most=1),
            "rt and lm: how much an item matters for UL, from 0 to 1; may be repeated.",
            "ITEM=NUMBER",
            "1 each",
            "--item-weight",
        ),
    ]
    min_exp: Annotated[
        float | None,
        Option(
            KNOWLEDGE,
            Share("0.9"),
            "diversity: how unlikely a rule must be to occur by chance before we assume that an attacker knows it.",
            "SHARE",
            "0.9",
        ),
    ]
    min_conf: Annotated[
        float | None,
        Option(
            KNOWLEDGE,
            Share("0.95"),
            "diversity: a rule may have exceptions, up to 1 - SHARE of its rows.",
            "SHARE",
            "1",
        ),
    ]
    max_length: Annotated[
        int | None,
        Option(KNOWLEDGE, Whole(0, LARGEST), "diversity: the most conditions in a rule; 0 for any number.", "N", "1"),
    ]
    fuzzy: Annotated[
        Mapping[str, float] | None,
        Option(
            KNOWLEDGE,
            Numbers("age=5"),
            "diversity: when mining rules, let membership in the nodes of this numeric column fade over DISTANCE. "
            "May be repeated.",
            "COL=DISTANCE",
        ),
    ]
    series: Annotated[
        File | None,
        Option(
            AGAIN,
            Text(),
            "km on sets: go on with the series that this file is the ledger of, or begin one. Rows that would break the promise wait "
            "there, encrypted, for a later release. The ledger is yours alone: keep it, and a backup of it.",
            "LEDGER",
            place=("series", "ledger"),
        ),
    ]
    series_kind: Annotated[
        str | None,
        Option(
            AGAIN,
            Choice(("batches", "snapshots")),
            "With a series, what it consists of. `batches`: other rows each time, each published once. `snapshots`: the same people again, "
            "grown or changed; all releases together keep the promise.",
            default="batches, then as the series began",
            place=("series", "kind"),
        ),
    ]
    wait: Annotated[
        int | None,
        Option(
            AGAIN,
            Whole(0, 10_000),
            "With a series: for how many further batches a row may wait; then the cut becomes coarser for it. With snapshots: for how many "
            "releases in a row a person may wait; where somebody would have to wait longer, there is no release.",
            "N",
            "batches: 4, snapshots: no limit; then as before",
            place=("series", "wait"),
        ),
    ]
    keep_order: Annotated[
        bool,
        Option(WRITING, Switch(), "Do not shuffle the rows. Their order can give people away.", place=("keep_order",)),
    ]


class _Promise(TypedDict, total=False):
    """What a guarantee is made from, where it is said in words."""

    model: Annotated[
        str,
        Option(
            PROMISE,
            Choice(("km", "k", "rt", "lm", "diversity", "constraints", "chunks")),
            "What is promised. `km`: whoever knows up to m items faces k rows. `k`: whoever knows all items (in a table, all "
            f"{option('quasi')} columns) faces k equal rows. `rt`: whoever knows all {option('quasi')} columns and up to m items faces k "
            "rows. `lm`: the same, and is never surer than 1/l of a sensitive item or value. `diversity`: sensitive values are in buckets, "
            f"and whoever knows the {option('quasi')} columns and rules about the values faces l of them. `constraints`: whoever knows "
            f"items that the {option('policy')} protects together faces k rows. "
            "`chunks`: items as they are, but in pieces, and whoever knows up to m items of a record is left with k that may be it.",
            default="km",
            place=("guarantee", "model"),
        ),
    ]
    k: Annotated[
        int | None,
        Option(
            PROMISE,
            Whole(1),
            "The crowd: nobody is narrowed down to fewer than k rows. Not for diversity.",
            default="5",
            place=("guarantee", "k"),
        ),
    ]
    m: Annotated[
        int | None,
        Option(
            PROMISE,
            Whole(1),
            "km, rt, lm, chunks: how many items of a person an attacker may know.",
            default="2",
            place=("guarantee", "m"),
        ),
    ]
    l: Annotated[  # noqa: E741
        int | None,
        Option(
            PROMISE,
            Whole(1),
            f"k: every class of equal rows holds at least l different sensitive values ({option('l_kind')} says what is counted). "
            "lm: no sensitive item, or value of a sensitive column, is likelier than 1/l. "
            "diversity: at least l sensitive values stay possible for every row.",
            default="1, lm: 2, diversity: 3",
            place=("guarantee", "l"),
        ),
    ]
    missing: Annotated[
        str | Mapping[str, str] | None,
        Option(
            PROMISE,
            Words("COL=value"),
            f"k with {option('l')} or {option('t')}, rt with {option('t')}, lm, diversity: what a missing sensitive value is. "
            "`unknown`: it may be any value; it does not count. `value`: a value of its own. For all sensitive columns, or per column; "
            "may be repeated. For a quasi-identifier of a table (in a plan and in Python: missing_quasi): `value`, `unknown` (published as "
            "*) or `drop` (the row is left out).",
            "[COL=]unknown|value|drop",
            "unknown, quasi columns: value",
            place=("guarantee", "missing"),
        ),
    ]
    l_kind: Annotated[
        str | None,
        Option(
            PROMISE,
            Choice(("distinct", "frequency")),
            f"k on a table: what {option('l')} counts. `distinct`: different values in every class. `frequency`: no value stands in more "
            "than 1/l of the rows of a class. With lm it is always by frequency.",
            default="distinct",
            place=("guarantee", "l_kind"),
        ),
    ]
    policy: Annotated[
        "File | None",
        Option(
            PROMISE,
            Text(),
            "constraints: the file (YAML or JSON) that says which sets of items are protected, and which items may be put together.",
            "FILE",
            place=("guarantee", "policy"),
        ),
    ]
    t: Annotated[
        float | None,
        Option(
            PROMISE,
            Share("0.2"),
            "k on a table, rt, lm: how far the sensitive values of a class (with rt and lm also of its rows with the same up to m items) "
            "may be from those of the whole table, from 0 (the same shares) to 1.",
            "SHARE",
            place=("guarantee", "t"),
        ),
    ]
    distance: Annotated[
        str | Mapping[str, str] | None,
        Option(
            PROMISE,
            Words("COL=ordered"),
            f"With {option('t')}: how far two sensitive values are from each other. `equal`: any two are equally far. `ordered`: as "
            "far as their ranks, numbers by size and other values by name. For all sensitive columns, or per column; may be repeated.",
            "[COL=]equal|ordered",
            "ordered for numbers, else equal",
            place=("guarantee", "distance"),
        ),
    ]


class _Outputs(TypedDict, total=False):
    """What is written, and where the counting runs."""

    output: Annotated[
        File | None,
        Option(
            WRITING,
            Text(),
            "The file to publish, in the format of its name; - for standard output; for a database, an address with a new table.",
            "OUT",
            "none: only show what it would cost",
            "-o",
            place=("outputs", "data"),
        ),
    ]
    certificate: Annotated[
        File | None,
        Option(
            WRITING,
            Text(),
            "Where the certificate goes: .json, .html or .pdf.",
            "FILE",
            "OUT.certificate.json; for a table it must be named",
            place=("outputs", "certificate"),
        ),
    ]
    rules: Annotated[
        File | None,
        Option(
            WRITING,
            Text(),
            "A CSV that says what each original item, or class of rows, became. For you, not for publication.",
            "FILE",
            place=("outputs", "rules"),
        ),
    ]
    report: Annotated[
        File | None,
        Option(
            WRITING,
            Text(),
            "A JSON file with all figures, exact, including those that the certificate rounds or withholds. For you, not for publication.",
            "FILE",
            place=("outputs", "report"),
        ),
    ]
    sign: Annotated[
        File | None,
        Option(
            WRITING,
            Text(),
            f"Sign the certificate with this private key (ed25519, PEM; {option('shell', 'shoal verify --new-key')} makes one).",
            "KEY",
            place=("outputs", "sign"),
        ),
    ]
    engine: Annotated[
        str | None,
        Option(
            RUNNING,
            Text(),
            "Where the counting runs. On spark, DATA and -o are Parquet folders (also hdfs://..., s3a://...) or table:NAME.",
            "local|spark[=MASTER]",
            "local",
            place=("engine",),
        ),
    ]


KEYWORDS: dict[str, Option] = {}
"""The keywords of `shoal.anonymize`, by name."""
OPTIONS: dict[str, Option] = {}
"""All options, by name."""
for _part in (_Outputs, _Promise, Keywords):
    for _name, _hint in _part.__annotations__.items():
        _row: Option = _hint.__metadata__[0]
        _flag = _row.flag or f"--{_name.replace('_', '-')}"
        OPTIONS[_name] = replace(_row, name=_name, flag=_flag, place=_row.place or ("options", _name))
        if _part is Keywords:
            KEYWORDS[_name] = OPTIONS[_name]


def check_keywords(given: Iterable[str], known: Iterable[str], function: str) -> None:
    """Raises for a keyword that a function of the front door does not take, with the one that may be meant."""
    for name in given:
        if name not in known:
            own = inspect.signature(getattr(sys.modules["shoal"], function)).parameters
            near = difflib.get_close_matches(name, [*known, *own], 1)
            hint = f"is {near[0]} meant?" if near else f"help(shoal.{function}) lists those it takes"
            raise InputError(f"{function} takes no keyword {name!r}; {hint}")


def signature_of(function: Callable[..., Any], keywords: Iterable[str]) -> inspect.Signature:
    """The signature of a function that takes these keywords, one by one, as `help` shows it."""
    signature = inspect.signature(function)
    own = [given for given in signature.parameters.values() if given.kind is not given.VAR_KEYWORD]
    hints = Keywords.__annotations__
    rows = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints[name].__origin__)
        for name in keywords
    ]
    return signature.replace(parameters=[*own, *rows])


def help_of(name: str) -> Message:
    """What an option is for, to be said in the words of a face."""
    return Message(OPTIONS[name].help)
