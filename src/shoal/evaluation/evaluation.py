"""Evaluation: what a release costs and what an attacker still learns, from the two files and what lies between them.

    evaluate("baskets.csv", "public.csv", hierarchy="tree.csv")

It works on any pair of files, whatever tool made the second from the first. Published rows are shuffled, so nothing relies on their
order unless the user says that rows correspond. A measure that a pair does not define is None, and `not_defined` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

from shoal.analysis.reconstruction import is_in_chunks
from shoal.errors import number_of
from shoal.evaluation.measures import MEASURES, Line, Undefined
from shoal.evaluation.pair import Pair, Side, read_chunked_pair, read_pair
from shoal.evaluation.request import Request, with_own_words, with_standards
from shoal.records.database.address import with_query
from shoal.records.formats.one_hot import ITEMS, OneHot
from shoal.showing import Plotted, watching


@dataclass(frozen=True)
class Evaluation(Plotted):
    """What a release costs and what an attacker still learns. For its owner: `to_dict` has counts and shares, and names the ten commonest
    items with what became of them.

    A measure is had by its name: `evaluation["loss.items"]`.

    Attributes:
        original: The raw side: its name, rows and items.
        published: The published side.
        k: The crowd that risks are measured against.
        m: How many items an attacker knows.
        seed: What random queries and people were drawn with.
        same_order: Whether rows of the two correspond.
        not_defined: Why a measure is None, by its name.
        notes: What else the owner should know.

    >>> import shoal
    >>> found = shoal.evaluate([["milk", "gin"]] * 4, [["milk"]] * 4, k=2, queries=0)
    >>> found["kept.exact"]
    0.5
    """

    original: Side
    published: Side
    k: int
    m: int
    seed: int
    same_order: bool
    measures: Mapping[str, Any]
    """By name, in the order of `measures.MEASURES`; None where one is not defined."""
    not_defined: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kept = self.measures.get("kept.info")
        told = "" if kept is None else f": {kept:.1%} of the information kept"
        return f"Evaluation({self.published.source} against {self.original.source}{told})"

    def __getitem__(self, name: str) -> Any:
        return self.measures[name]

    def lines(self, part: str) -> Iterator[Line]:
        """The measures of `loss` or `utility` in words."""
        for measure in MEASURES:
            value = self.measures.get(measure.name) if measure.name.startswith(f"{part}.") else None
            if value is not None and (measure.beside is None or self.measures[measure.beside] is not None):
                yield from measure.lines(value)

    def surprises(self) -> Iterator[tuple[str, str]]:
        """Measures that a user may expect and that are not defined, with the reason."""
        for measure in MEASURES:
            reason = self.not_defined.get(measure.name)
            if measure.title and reason and reason not in [need.reason for need in measure.needs]:
                yield measure.title, reason

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON has them. A key that is null has its reason in `not_defined`."""
        facts: dict[str, Any] = {
            "original": self.original.to_dict(),
            "published": self.published.to_dict(),
            "k": self.k,
            "m": self.m,
            "seed": self.seed,
            "same_order": self.same_order,
        }
        for name, value in self.measures.items():
            *parts, last = name.split(".")
            at = facts
            for part in parts:
                at = at.setdefault(part, {})
            at[last] = _plain(value)
        return facts | {"not_defined": dict(self.not_defined), "notes": list(self.notes)}


def evaluate(original: Any, published: Any, **asked: Unpack[Request]) -> Evaluation:
    """Compare a release with its original (paths, Baskets, Records, data frames).

    What published values mean comes from `hierarchy` (as for `anonymize`) or from the `rules` file of the release. A `Release` knows
    that, the roles of columns and its k and m by itself. `same_order` says
    that rows of the two correspond. `weights` say how much the loss of a column counts, 1 unless given. `queries` random queries of each
    kind are asked, and those of a `workload` file. The most frequent `pairs` are followed, and a `sample` of people is looked for by
    m items each. How files are read (`quasi`, `sensitive`, `keep`, `items`, `format`, ...) is said as for `anonymize`.

    Args:
        original: The raw data, as for `anonymize`.
        published: The release of them, whichever tool made it.
        k: The crowd that risks are measured against, 5 unless given.
        m: How many items an attacker knows, 2 unless given.
        seed: What random queries and people are drawn with.

    Raises:
        InputError: One of the two cannot be read, or a published value has no meaning that is known.

    >>> import shoal
    >>> found = shoal.evaluate([["milk", "gin"]] * 4, [["milk"]] * 4, k=2, queries=0)
    >>> found["kept.exact"], found["loss.items"].deleted
    (0.5, 0.5)
    """
    request = with_standards(with_own_words(asked, published))
    if request.get("one_hot"):
        original, request["items"] = OneHot.of(with_query(original, request.get("query")), request), ITEMS
    with watching(request.get("progress")) as watch:
        tell = watch or (lambda doing, share: None)
        tell("reading", 0.0)
        in_chunks = is_in_chunks(getattr(published, "published", published)) and not is_in_chunks(original)
        pair = read_chunked_pair if in_chunks else read_pair
        return evaluate_pair(pair(original, published, request), tell)


def evaluate_pair(pair: Pair, tell: Callable[[str, float], None]) -> Evaluation:
    """The measures of two files that were read."""
    request = pair.asked
    values: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    doing = "reading"
    for measure in sorted(MEASURES, key=lambda measure: measure.stage.share):
        if measure.stage.doing != doing:
            doing = measure.stage.doing
            tell(doing, measure.stage.share)
        try:
            values[measure.name] = measure.value(pair)
        except Undefined as undefined:
            (reason,) = undefined.args
            if reason:
                values[measure.name], reasons[measure.name] = None, reason
    return Evaluation(
        pair.first,
        pair.second,
        request["k"],
        request["m"],
        request["seed"],
        request["same_order"],
        {measure.name: values[measure.name] for measure in MEASURES if measure.name in values},
        reasons,
        tuple(_notes(pair)),
    )


def _notes(pair: Pair) -> Iterator[str]:
    if pair.chunks is not None:
        yield (
            "the release is in chunks: what is kept is measured on it, all else on one set of records that it may have come from, drawn "
            f"with the seed {pair.asked['seed']} for k = {pair.asked['k']}"
        )
    difference = len(pair.original) - len(pair.published)
    if difference:
        rows = number_of(abs(difference), "row")
        yield f"the release has {rows} {'fewer' if difference > 0 else 'more'} than the original"


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value
