"""`profile`, `evaluate`, `attack` and `rules`: what is at risk, what a release lost, and what an attacker learns."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from shoal.attacks.homogeneity import Homogeneity
from shoal.cli.schemas.parts import Count, Document, Mined, Sha256, Share, absent, like
from shoal.evaluation.pair import Side
from shoal.guarantees.km import Exposure
from shoal.loss.worth import ColumnRemains, ItemsRemains
from shoal.records.values import Kind

Range = tuple[float, float]
"""From the lowest to the highest that is expected."""


class RareCategories(Document):
    names: list[str]
    support: Count
    from_m: Count


class LostRanges(Document):
    info: Range = absent()


class KeptRanges(Document):
    exact: Range = absent()
    pairs: Range = absent()
    cells: Range = absent()


class Outlook(Document):
    """What a release would keep, tried on a sample."""

    guarantee: str
    algorithm: str
    sample: Count
    rows: Count
    loss: LostRanges
    kept: KeptRanges


class Profile(Document):
    """What known items single out in raw data."""

    source: str
    input_sha256: Sha256
    k: Count
    rows: Count
    items: Count
    occurrences: Count
    longest: Count
    average: float
    empty: Count
    duplicates: Count
    exposures: list[Exposure]
    columns: list[str]
    kinds: dict[str, Kind]
    hierarchy: str | None
    rare_categories: list[RareCategories]
    outlook: Outlook | None
    notes: list[str]


class Kept(Document):
    """Shares of what is published as it was."""

    info: Share = absent()
    exact: Share = absent()
    items: ItemsRemains = absent()
    pairs: Share = absent()
    cells: Share = absent()
    columns: dict[str, ColumnRemains] = absent()
    estimated: bool = absent()


class ItemsLoss(Document):
    ncp: Share
    generalized: Share
    deleted: Share
    estimated: bool


class ColumnsLoss(Document):
    ncp: Share
    by_column: dict[str, Share]
    suppressed_rows: Count


class EditsLoss(Document):
    il: float
    added: float
    removed: float


class UlLoss(Document):
    original: float
    published: float


class ClassSizes(Document):
    classes: Count
    smallest: Count
    largest: Count
    average: float
    relative: float
    discernibility: Count
    discernibility_share: float


class ClassesLoss(Document):
    before: ClassSizes
    after: ClassSizes
    buckets: ClassSizes = absent()


class Loss(Document):
    """Null where a measure is not defined: `not_defined` says why."""

    info: Share = absent()
    info_columns: Share = absent()
    info_items: Share = absent()
    items: ItemsLoss | None
    columns: ColumnsLoss | None
    edits: EditsLoss | None
    ul: UlLoss | None
    ambiguity: Share | None
    classes: ClassesLoss | None


class FrequencyErrors(Document):
    items: Count
    mean: float
    median: float
    weighted: float
    worst: float
    exact: Share


class PairErrors(Document):
    top: Count
    least_support: Count
    survival: Share
    lost: Count
    support_error: float


class RuleErrors(Document):
    rules: Count
    confidence_error: float | None
    shown: Count
    missed: float | None
    extra: float | None


class PairRuleErrors(RuleErrors):
    min_support: Count
    min_confidence: Share


class Errors(Document):
    are: float
    median: float
    worst: float


class QueryErrors(Errors):
    queries: Count
    paper: Errors | None = absent()
    """In the reading of the 2013 paper."""


class Queries(Document):
    relational: QueryErrors | None
    items: QueryErrors | None
    mixed: QueryErrors | None
    workload: QueryErrors = absent()


class Utility(Document):
    frequencies: FrequencyErrors | None
    pairs: PairErrors | None
    rules: PairRuleErrors | None
    associations: RuleErrors | None
    queries: Queries


class Prosecutor(Document):
    rows: Count
    over: Count
    share_over: Share
    unique: Count
    highest: Share
    average: Share


class Prosecutors(Document):
    before: Prosecutor
    after: Prosecutor


class Point(Document):
    """What m known items give away."""

    m: Count
    itemsets: Count
    rare: Count
    over: Count
    share_over: Share
    unique: Count
    share_unique: Share


class Curves(Document):
    before: list[Point]
    after: list[Point]


class Crowds(Document):
    singled_out: Count
    fewer_than_k: Count
    not_found: Count
    smallest: Count
    median: float


class Linkage(Document):
    people: Count
    items_known: Count
    columns_known: list[str]
    before: Crowds
    after: Crowds


class Risk(Document):
    """Null for releases in chunks, of which no row is published."""

    prosecutor: Prosecutors | None
    prosecutor_m: Prosecutors | None
    uniqueness: Curves | None
    linkage: Linkage | None


class Evaluation(Document):
    """What a release costs, and what an attacker still learns from it."""

    original: Side
    published: Side
    k: Count
    m: Count
    seed: Count
    same_order: bool
    kept: Kept = absent()
    loss: Loss
    utility: Utility
    risk: Risk
    not_defined: dict[str, str]
    """Per measure that is null, why."""
    notes: list[str]


class LinkageAttack(Document):
    """Looking for people of the raw data."""

    input: str
    raw: str
    found: bool
    linkage: Linkage
    risk: Risk


class Attack(Document):
    input: str
    input_sha256: Sha256


class BackgroundAttack(Attack):
    """Ruling out values of rows in buckets."""

    l: Count  # noqa: E741
    rows: Count
    buckets: Count
    rules: Count
    crossed_out: Count
    narrowed: Count
    narrowed_share: Share
    certain: Count
    contradicted: Count
    by_values: list[Count]
    """Rows with 0, 1, 2, ... values left."""
    examples: list[str]


class Guessed(Attack):
    found: bool


class GuessedHomogeneity(Guessed, like(Homogeneity)):  # type: ignore[misc]
    """Guessing what most of a crowd have."""


class Step(Document):
    """What a release and the next give away together."""

    checked: Count
    """Sets of tokens that were compared."""
    changed: Count
    """Those that 1 to k - 1 rows more, or fewer, hold than before."""
    mixed: Count
    """Pairs of a token of each that fit 1 to k - 1 people at most."""
    linked: Count
    """Rows that say the same as one row of the other, and no other of either."""
    rows: Count
    """Rows of the second of the two."""
    compared: Share
    """Of the occurrences of both, those that were compared as they are, not as what lies above them."""


class PeopleFound(Document):
    """Who is found among the people of the originals."""

    people: Count
    together: Count
    """Who shares what can be known of all releases with fewer than k."""
    alone: list[Count]
    """Who does so in one release, release by release."""
    unmatched: Count
    guessed: bool
    """Whether rows were given to people whom they fit, because they do not stand in the order of their originals."""
    """Published rows that fit no row of their original that is left."""


class SeriesAttack(Document):
    """Putting releases of the same people together."""

    inputs: list[str]
    originals: list[str]
    found: bool | None
    k: Count
    m: Count
    steps: list[Step]
    people: PeopleFound | None


class Rule(Document):
    """Who meets all conditions never has the value."""

    rule: str
    conditions: dict[str, str] = Field(alias="if")
    never: str
    support: float | None
    exceptions: float
    redundant: bool
    given: bool


class Rules(Document):
    """Rules that an attacker could know."""

    count: Count
    rules: list[Rule]
    impossible: dict[str, Count]
    """By the number of values that a row cannot have, how many rows."""
    mined: Mined
    input: str
    input_sha256: Sha256
    rows: Count
    output: str | None


OUTPUTS: dict[str, tuple[Any, ...]] = {
    "profile": (Profile,),
    "evaluate": (Evaluation,),
    "attack": (LinkageAttack, BackgroundAttack, GuessedHomogeneity, SeriesAttack),
    "rules": (Rules,),
}
