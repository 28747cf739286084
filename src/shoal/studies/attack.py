"""Playing the attacker: whoever links people of the raw data to a release, guesses from a crowd, or crosses out values in buckets.

attack("public.csv", raw="baskets.csv", k=5, m=2)                        linkage
attack("public.csv", quasi="age,sex", sensitive="diagnosis")             homogeneity
attack("buckets.csv", raw="adult.csv", quasi="age", sensitive="job")     background knowledge, where there is a column `bucket`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from shoal.algorithms.recoding import Options, Progress, listener
from shoal.analysis.reconstruction import is_in_chunks
from shoal.attacks.background import BackgroundAttack, background_attack
from shoal.attacks.homogeneity import Homogeneity, homogeneity
from shoal.drawing.risk_plots import before_after_plot, confidence_plot, values_left_plot
from shoal.errors import InputError, option
from shoal.evaluation.evaluation import Evaluation, evaluate
from shoal.evaluation.pair import Reader
from shoal.guarantees.diversity import BUCKET, MatchingDiversity, buckets_of
from shoal.models import Roles
from shoal.models import buckets as model
from shoal.options import File, Reading, check_keywords
from shoal.records.database.address import with_query, without_password
from shoal.records.formats.peek import column_names, source_name
from shoal.records.roles import named_columns, texts_of
from shoal.showing import Shown, watching


class AttackRequest(Reading, total=False):
    """What the attacker knows and wants, by keyword."""

    raw: Any
    """The raw data: whom the attacker looks for or, for buckets, whose rules the attacker knows."""
    k: int
    m: int
    l: int  # noqa: E741
    hierarchy: Any
    rules: File | None
    """Linkage: the rules file of the release, which says what published values mean, as a hierarchy does."""
    sample: int
    """Linkage: how many people to look for."""
    seed: int
    knowledge: File | None
    min_exp: float
    max_length: int
    missing: str | Mapping[str, str]
    examples: int
    """How many are shown, where they are."""
    threads: int | None


@dataclass(frozen=True)
class Attack(Shown):
    """What came of an attack. It is true where somebody was found: `assert not shoal.attack(...)`.

    Attributes:
        found: Whether somebody was found.
        outcome: All that was counted: an Evaluation, or what homogeneity or background knowledge gave.

    >>> import shoal
    >>> rows = [["milk", "bread"]] * 9 + [["gin", "rum"]]
    >>> shoal.attack(rows, raw=rows, k=2, m=2)
    Attack(linkage: somebody is found)
    """

    kind: str
    """`linkage`, `homogeneity` or `background`."""
    found: bool
    outcome: Evaluation | Homogeneity | BackgroundAttack
    facts: Mapping[str, Any]
    """As `shoal attack` gives them with JSON."""

    def __bool__(self) -> bool:
        return self.found

    def __repr__(self) -> str:
        return f"Attack({self.kind}: {'somebody is found' if self.found else 'nobody is found'})"

    def to_dict(self) -> dict[str, Any]:
        return dict(self.facts)

    def svg(self) -> str:
        """A picture of it."""
        if isinstance(self.outcome, BackgroundAttack):
            return values_left_plot(self.outcome)
        if isinstance(self.outcome, Homogeneity):
            return confidence_plot(self.outcome)
        return before_after_plot(self.outcome)


def attack(published: Any, *, progress: Progress | bool | None = None, **asked: Unpack[AttackRequest]) -> Attack:
    """Play the attacker on a release (a path, a data frame, a Release, which knows the roles of its columns and its numbers).

    With `raw`, people of the raw data are looked for by all `quasi` columns and up to `m` of their items: how many are found alone, or
    among fewer than `k`? With `sensitive` and no `raw`, whoever finds the rows that agree takes the value that most of them have: of how
    many people is that certain, or likelier than 1/l? In a table with a column `bucket`, the attacker knows rules: those of `knowledge`,
    those that the raw table shows, or those that the release itself shows; how many rows have fewer than l values left?

    Args:
        published: The release: a path, a data frame, a Release.

    Raises:
        InputError: The data or an option is not usable, or it is not said whom or what the attacker looks for.

    >>> import shoal
    >>> rows = [["milk", "bread"]] * 9 + [["milk", "gin"]] * 3
    >>> release = shoal.anonymize(rows, shoal.KmAnonymity(k=3, m=2))
    >>> bool(shoal.attack(release, raw=rows, k=3, m=2))
    False
    """
    check_keywords(asked, AttackRequest.__annotations__, "attack")
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    raw, examples = given.pop("raw", None), given.pop("examples", 5)
    people: dict[str, Any] = {name: given.pop(name) for name in ("sample", "seed") if name in given}
    data = with_query(published, given.pop("query", None))
    given.pop("input_limit", None)
    own = getattr(published, "request", {})
    with watching(progress) as watch:
        return _attack(data, raw, (given, own, people), examples, watch)


def _attack(
    data: Any, raw: Any, asked: tuple[Mapping[str, Any], ...], examples: int, progress: Progress | None
) -> Attack:
    """The attack that fits what is asked: what is given, what a release knows of how it was made, and whom to look for."""
    given, own, people = asked
    if is_in_chunks(getattr(data, "published", data), given.get("format")):
        raise InputError(
            f"{source_name(data)} is a release in chunks, in which no row is a person's, so that none can be found; shoal audit says what "
            "can be concluded from it"
        )
    if BUCKET in column_names(data, given.get("format")):
        why = f"is for linkage, and {source_name(data)} has buckets; leave it out"
        _refuse(why, given, "items", "m", "rules", "id", "one_hot")
        known = {name: own[name] for name in ("quasi", "sensitive", "keep", "drop", "hierarchy", "l") if name in own}
        return _background(data, raw, {**known, **given}, examples, progress)
    _refuse(f"is for buckets, and there is no column {BUCKET!r}; leave it out", given, "knowledge")
    if raw is not None:
        _refuse(f"is for homogeneity and buckets; leave it out, or leave out {option('raw')}", given, "missing", "l")
        return _linkage(raw, data, {**given, **people}, progress)
    if "sensitive" in given or "sensitive" in own:
        unused = ("m", "rules", "hierarchy", "min_exp", "one_hot")
        _refuse(f"has no use without {option('raw')}; leave it out", given, *unused)
        known = {name: own[name] for name in ("quasi", "sensitive", "keep", "items", "separator", "l") if name in own}
        return _homogeneity(data, {**known, **given}, examples)
    raise InputError(
        f"whom does the attacker look for? give the raw data with {option('raw')}, or what the attacker wants to learn with "
        f"{option('sensitive')} (a column {BUCKET!r} would make it buckets)"
    )


def _refuse(why: str, given: Mapping[str, Any], *names: str) -> None:
    """Raises for an option that was given and has no use."""
    for name in names:
        if given.get(name) is not None:
            raise InputError(f"{option(name)} {why}")


def _background(data: Any, raw: Any, given: Mapping[str, Any], examples: int, progress: Progress | None) -> Attack:
    """Rule out values of rows in buckets by rules that the attacker knows."""
    how = {"missing": given.get("missing", "unknown")}
    knowledge, threads = given.get("knowledge"), given.get("threads")
    reading: dict[str, Any] = {name: given[name] for name in ("drop", "numeric", "spelling", "format") if name in given}
    roles = Roles(*(given.get(name) for name in ("sensitive", "quasi", "keep")))
    promise = MatchingDiversity(given.get("l", 3), **how)
    source, _ = model.read(data, promise, roles, _with_own_drops(data, reading))
    records = source.records
    if raw is not None:
        records = model.read(raw, promise, roles, _with_own_drops(raw, {**reading, "format": None}))[0].records
    trees = model.hierarchies(records, given.get("hierarchy"), None)
    if raw is None and knowledge is not None:
        known = model.edits_of(records, trees, knowledge).added
    else:
        mined = records if raw is not None else model.possible_pairs(buckets_of(records))
        asked = {name: given.get(name) for name in ("min_exp", "max_length", "knowledge")}
        searching = Options(threads=threads, progress=listener(progress))
        known = model.knowledge(mined, trees, asked, options=searching, **how)
    found = background_attack(buckets_of(source.records), known, promise.l, examples=examples, threads=threads, **how)
    facts = found.to_dict() | {"input": _told(data), "input_sha256": source.sha256}
    return Attack("background", bool(found.narrowed), found, facts)


def _with_own_drops(data: Any, reading: Mapping[str, Any]) -> dict[str, Any]:
    """How one of the two is read: what is dropped from the other need not be in it."""
    there = column_names(data, reading.get("format"))
    dropped = [name for name in named_columns(texts_of(reading.get("drop")), there) if name in there]
    return {**reading, "drop": tuple(dropped)} if "drop" in reading else dict(reading)


def _homogeneity(data: Any, given: Mapping[str, Any], examples: int) -> Attack:
    """Guess what is sensitive from the crowd that a person is in."""
    records, side = Reader(given).read(data)
    how = {"missing": given.get("missing", "unknown"), "separator": given.get("separator")}
    found = homogeneity(records, given.get("l"), examples=examples, **how)
    named = {"input": _told(data), "input_sha256": side.sha256, "found": bool(found.likely)}
    return Attack("homogeneity", bool(found.likely), found, found.to_dict() | named)


def _linkage(raw: Any, data: Any, given: Mapping[str, Any], progress: Progress | None) -> Attack:
    """Look for people of the raw data in the release."""
    asked: dict[str, Any] = {name: value for name, value in given.items() if name not in ("min_exp", "max_length")}
    found = evaluate(raw, data, queries=0, pairs=0, progress=progress, **asked)
    risk = found.to_dict()["risk"]
    after = risk["linkage"]["after"]
    won = bool(after["fewer_than_k"] or after["singled_out"])
    named = {"input": _told(data), "raw": _told(raw), "found": won}
    return Attack("linkage", won, found, named | {"linkage": risk["linkage"], "risk": risk})


def _told(data: Any) -> str:
    return without_password(data) if isinstance(data, str) else source_name(data)
