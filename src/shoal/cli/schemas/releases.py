"""`anonymize`, `run` and `demo`: a release, by its model, made here or on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, create_model

from shoal.certificate.owner import OWNER
from shoal.cli.schemas import parts
from shoal.cli.schemas.measures import Profile
from shoal.cli.schemas.parts import Count, Counts, Document, Figures, Sha256, Share, absent, join
from shoal.loss.worth import ColumnRemains, ItemsRemains
from shoal.plan.model import Role, RunOptions

if TYPE_CHECKING:
    Parameters = BaseModel
else:
    Parameters = create_model(
        "Parameters",
        __base__=Document,
        __doc__="The options that the algorithm takes, as it took them.",
        keep_order=(bool, ...),
        **{name: (field.annotation, absent()) for name, field in RunOptions.model_fields.items()},
    )


class Release(Document):
    """What the owner may know of a release."""

    owner: Literal[OWNER] = Field(alias="for")  # type: ignore[valid-type]
    algorithm: str
    holds: bool
    optimal: bool | None
    """True when nothing loses less; null when the algorithm does not know."""
    bound: Share | None
    """Nothing that keeps the promise loses less than this."""
    rows: Count
    seconds: float
    peak_mb: float | None
    input_sha256: Sha256
    output: str | None
    certificate: str | None
    notes: list[str]


class Exposed(Document):
    """What an attacker would learn from the raw data."""

    knows: str
    fewer_than_k: Count
    singled_out: Count


class Certain(Document):
    """What an attacker would learn from the raw data about sensitive values."""

    knows: str
    value_certain: Count


class InSeries(Document):
    """The place of a release in its series."""

    published: bool
    repeated: bool
    """Whether the same input was read before: then nothing is written, and the rest says what became of it."""
    read: Count
    waiting: Count
    rows: Count = absent()
    output: str | None = absent()
    output_sha256: Sha256 | None = absent()


class Batch(InSeries):
    """Of rows that are published once each."""

    kind: Literal["batches"]
    batch: Count | None
    """Which release of the series it is; null where nothing could be published yet."""
    ages: dict[str, Count]
    """How many rows wait, by the number of batches that they have waited for."""
    cut_changed: bool
    loss: dict[str, Share] = absent()


class Snapshot(InSeries):
    """Of people who may have been published before. Those who wait are people."""

    kind: Literal["snapshots"]
    release: Count | None
    """Which release of the series it is; null where nobody could be published."""
    people: Count
    """Who was in the input, ..."""
    new: Count
    """... those among them who were in no release before."""
    longest_wait: Count
    """For how many releases in a row somebody has waited, this one included."""
    staying: Count
    """People who are gone from the input, and are published as before until enough others are gone as well."""
    outdated: Share
    """Of what is published, what is gone from the input."""
    kept: Share
    """Of the tokens of all people in the input, those that are published."""


class Written(Release):
    """A release whose rows were in the memory of this machine."""

    input: str
    output_sha256: Sha256 | None
    row_order: Literal["kept", "shuffled"]
    parameters: Parameters
    format: str
    separator: str | None
    rules: str | None
    report: str | None
    risk: list[Exposed | Certain]


class Here(Written):
    """A release that was made on this machine."""

    series: Batch | Snapshot = absent()


class OnSpark(Release):
    """A release that was made on Spark."""

    checked: Count
    output_sha256: Sha256 | None
    """Null where nothing was published."""
    engine: str
    series: Batch = absent()


class Sets(Document):
    items: Count
    tokens: Count
    """Different published items."""
    empty: Count
    duplicates: Count


class CutLoss(Document):
    info: Share
    ncp: Share
    generalized: Share
    deleted: Share


class EditLoss(Document):
    info: Share
    il: float
    added: float
    removed: Share


class ColumnLoss(Document):
    info: Share
    ncp: Share


class BothLoss(ColumnLoss):
    info_columns: Share
    info_items: Share
    ul: float
    items_ncp: Share
    deleted: Share


class BucketLoss(Document):
    info: Share
    ambiguity: Share


class SetsKept(Document):
    exact: Share
    """Of the item occurrences, those that are published as they were."""
    pairs: Share = absent()
    """Of the 100 commonest pairs, those that can be counted within 10%."""


class CutKept(SetsKept):
    items: ItemsRemains


class CellsKept(Document):
    cells: Share
    """Of the quasi-identifier cells, those that are published as they were."""


class ColumnsKept(CellsKept):
    columns: dict[str, ColumnRemains]


class BothKept(CutKept, ColumnsKept):
    pass


class Suppressed(Document):
    share: Share
    occurrences: Count
    categories: Count


class Level(Document):
    levels_up: Count | None
    """Null for what was dropped."""
    items: Count
    occurrences: Count
    share: Share


class Tree(Document):
    source: str
    leaves: Count
    height: Count


class Local(Document):
    items_at_several_levels: Count
    passes: Count = absent()
    parts: Count = absent()
    blocks: Count = absent()
    """On Spark, where the rows did not fit one task."""
    loss_of_cut: Share = absent()


class KmOnSpark(Sets):
    guarantee: parts.Km
    loss: CutLoss
    suppressed: Suppressed
    levels: list[Level]
    kept: CutKept
    deleted_shares: dict[str, Share]
    """Per published token, the share of its occurrences that was deleted."""
    local: Local = absent()
    hierarchy: Tree


class Km(KmOnSpark):
    audit: Counts


class WaitsOnSpark(Document):
    """A turn of a series in which nothing is published."""

    guarantee: parts.Km
    loss: dict[str, Share]
    kept: dict[str, Share]


class Waits(WaitsOnSpark):
    audit: Counts


class StackSeries(Document):
    kind: Literal["batches"]
    batches: list[Count]
    """Which of its releases are in the stack, ..."""
    of: Count
    """... of how many."""


class StackLoss(Document):
    info: Share
    ncp: Share
    deleted: Share


class Stack(Sets, Written):
    """Batches of a series, put together. Losses are those that a reader can see."""

    guarantee: parts.Km
    loss: StackLoss
    kept: SetsKept
    hierarchy: Tree
    audit: Counts
    series: StackSeries


class PutTogether(Document):
    """Published sets of items."""

    count: Count
    items: Count
    largest: Count


class Dropped(Document):
    share: Share
    occurrences: Count


class ConstraintsLoss(CutLoss):
    ul: Share


class Constraints(Sets):
    guarantee: parts.Constraints
    loss: ConstraintsLoss
    suppressed: Dropped
    kept: CutKept
    deleted_shares: dict[str, Share]
    """Per published item, the share of its occurrences that was deleted."""
    sets: PutTogether
    facts: Figures
    audit: Counts


class Edits(Document):
    added: Count
    removed: Count


class Classes(Document):
    count: Count
    smallest: Count
    largest: Count
    average: float


class EditedClasses(Classes):
    size: list[Count]
    added: list[Count]
    removed: list[Count]


class Grouped(Sets):
    guarantee: parts.K
    loss: EditLoss
    kept: SetsKept
    facts: Figures


class SetCounts(Counts, parts.SetFacts):
    pass


class K(Grouped):
    edits: dict[str, Edits]
    """Per item."""
    classes: EditedClasses
    audit: SetCounts


class KOnSpark(Grouped):
    classes: Classes


class Columns(Document):
    columns: dict[str, Role]
    facts: Figures


class Clustered(Columns):
    classes: Classes
    ncp_by_column: dict[str, Share]
    suppressed_rows: Count = absent()
    hierarchy: dict[str, str | None]
    """Per column, where its hierarchy comes from; null for ranges and sets."""


class TableOnSpark(Clustered):
    guarantee: parts.Table
    loss: ColumnLoss
    kept: ColumnsKept


class TableCounts(Counts, parts.TableFacts):
    pass


class Table(TableOnSpark):
    audit: TableCounts


class RtOnSpark(Clustered, Sets):
    guarantee: parts.Rt
    loss: BothLoss
    kept: BothKept


class CrowdCounts(Counts, parts.CrowdFacts):
    pass


class Rt(RtOnSpark):
    audit: CrowdCounts


class LmOnSpark(Clustered, Sets):
    guarantee: parts.Lm
    loss: BothLoss
    kept: BothKept


class InferenceCounts(Counts, parts.InferenceFacts):
    pass


class Lm(LmOnSpark):
    audit: InferenceCounts


class DiversityOnSpark(Columns):
    guarantee: parts.Diversity
    loss: BucketLoss
    kept: CellsKept
    buckets: parts.Buckets
    knowledge: parts.Mined | None
    hierarchy: dict[str, str]


class BucketCounts(Counts, parts.BucketFacts):
    pass


class Diversity(DiversityOnSpark):
    audit: BucketCounts


class ChunkLoss(Document):
    info: Share
    """The share of the information that is lost: what rests list, and which pieces belong together."""
    listed: Share
    """Of the item occurrences, those that rests list without their numbers."""


class ChunkCounts(Counts, parts.ChunkFacts):
    pass


class ChunkFigures(Document):
    clusters: Count
    shared: Count
    """Chunks over the records of several clusters."""
    chunks: Count
    covered_clusters: Count


class Chunks(Sets):
    guarantee: parts.Chunks
    loss: ChunkLoss
    kept: SetsKept
    chunks: ChunkFigures
    facts: Figures
    audit: ChunkCounts


class Planned(Document):
    plan: str
    plan_sha256: Sha256


class Estimate(Document):
    seconds: float
    itemsets: Count | None
    pairs: Count | None


class Checked(Planned):
    """With --check: a plan that can be run."""

    input: str
    input_sha256: Sha256
    guarantee: str
    algorithm: str
    rows: Count
    items: Count | None
    occurrences: Count | None
    columns: dict[str, Role]
    hierarchies: dict[str, str]
    estimate: Estimate
    outputs: dict[str, str] | None
    notes: list[str]


class Greedy(Document):
    """What the 2008 paper's heuristic makes of the same data."""

    loss: CutLoss
    kept: SetsKept


_WAITS = (join(Waits, Here), join(WaitsOnSpark, OnSpark))
_HERE = tuple(join(kind, Here) for kind in (Km, K, Table, Rt, Lm, Diversity, Constraints, Chunks))
_ON_SPARK = (KmOnSpark, KOnSpark, TableOnSpark, RtOnSpark, LmOnSpark, DiversityOnSpark)
RELEASES = (*_HERE, *_WAITS, *(join(kind, OnSpark) for kind in _ON_SPARK))


class Demo(Document):
    """The tour."""

    folder: str
    profile: Profile
    release: _HERE[0]  # type: ignore[valid-type]
    aa: Greedy
    files: list[str]
    next: list[str]
    """Commands to try."""


OUTPUTS: dict[str, tuple[Any, ...]] = {
    "anonymize": RELEASES,
    "run": (*(join(kind, Planned) for kind in RELEASES), Checked),
    "demo": (Demo,),
    "stack": (Stack,),
}
