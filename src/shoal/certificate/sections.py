"""What a certificate says, in words, tables and plots: the one text that the page and the PDF both set.

Names in it (columns, tokens, files) come from strangers. Here they lose what would steer a terminal or a page (control characters,
marks that turn the direction of text); whoever sets them escapes them for the format at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.drawing.bars import Bar, bars


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Points:
    """Sentences, each on its own."""

    points: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells; without a header, the first cell of each row names it."""

    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plot:
    """An SVG."""

    svg: str


Block = Text | Points | Table | Plot


@dataclass(frozen=True)
class Section:
    """A part of the certificate under a title of its own."""

    title: str
    blocks: tuple[Block, ...]


def title(content: Mapping[str, Any]) -> str:
    return f"Certificate of release {shown(content['output']['file'])}"


def verdict(content: Mapping[str, Any]) -> str:
    """The one sentence on top."""
    name = shown(content["guarantee"]["name"])
    rows = f"{content['output']['rows']:,} rows"
    return f"{name} {'holds' if content['holds'] else 'does not hold'} for all {rows}"


def sections(content: Mapping[str, Any]) -> tuple[Section, ...]:
    """The whole text. Parts about which the certificate says nothing are left out."""
    made = (
        ("The attacker it stops", _points(content["promised"])),
        ("The attackers it does not stop", _points(content["not_promised"])),
        ("What to keep in mind", _points(content["warnings"])),
        ("What was released", _released(content)),
        ("From which input", _input(content)),
        ("How it was checked", _checked(content)),
        ("What an attacker learns, before and after", _risk(content)),
        ("What it cost", _cost(content)),
        ("What was changed", _changes(content)),
        ("How it was made", _making(content)),
        ("How to check this certificate", _checking(content)),
    )
    found = ((name, tuple(blocks)) for name, blocks in made)
    return tuple(Section(name, blocks) for name, blocks in found if blocks)


def shown(value: object) -> str:
    """A value as text that does nothing but stand there, on one line."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{shown(name)}: {shown(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(value))


def _points(sentences: Iterable[str]) -> Iterator[Block]:
    found = tuple(map(shown, sentences))
    if found:
        yield Points(found)


_ROLES = {
    "quasi": "quasi-identifier: an attacker may know it; it was generalized",
    "items": "items",
    "sensitive": "sensitive: what an attacker wants to learn; published as it is",
    "sensitive items": "sensitive items: published as they are",
    "keep": "kept: published as it is",
}


def _released(content: Mapping[str, Any]) -> Iterator[Block]:
    output = content["output"]
    rows = [("file", shown(output["file"])), ("SHA-256", shown(output["sha256"]))]
    if "format" in output:
        rows.append(("format", shown(output["format"])))
    rows.append(("rows", shown(output["rows"])))
    if output.get("empty"):
        rows.append(("rows without items", shown(output["empty"])))
    rows.append(("order of the rows", shown(content["row_order"])))
    yield Table(tuple(rows))
    roles = output.get("columns") or content.get("columns") or {}
    if roles:
        exact = dict(_ROLES)
        if content["guarantee"]["model"] == "diversity":
            exact["quasi"] = "quasi-identifier: an attacker may know it; published as it is"
            exact["sensitive"] = "sensitive: dealt by lot inside each bucket"
        yield Table(
            tuple((shown(name), exact.get(role, shown(role))) for name, role in roles.items()), ("column", "role")
        )


def _input(content: Mapping[str, Any]) -> Iterator[Block]:
    given = content.get("input", {})
    rows = [("rows", shown(given["rows"]))] if "rows" in given else []
    if "hmac_sha256" in given:
        rows += [("keyed hash (HMAC-SHA-256)", shown(given["hmac_sha256"])), ("key", shown(content.get("key_id")))]
    if rows:
        yield Table(tuple(rows))
    if "hmac_sha256" in given:
        yield Text(
            "The hash of the input is keyed: only the owner, who keeps the key, can check which input it was, and nobody else can test a "
            "guess of it."
        )


_FACTS = {
    "classes": "classes of equal rows",
    "smallest_class": "rows of the smallest class",
    "largest_class": "rows of the largest class",
    "average_class": "rows of a class on average",
    "fewest_sensitive": "fewest different sensitive values in a class",
    "buckets": "buckets",
    "smallest_bucket": "rows of the smallest bucket",
    "largest_bucket": "rows of the largest bucket",
    "average_bucket": "rows of a bucket on average",
    "fewest_values": "fewest possible sensitive values of a row",
    "certain_rows": "rows of which one value is certain",
    "contradicted_rows": "rows that the rules contradict",
    "largest_share": "largest share of one value in a bucket",
    "rare": "itemsets and classes that are too rare",
    "inferences": "sensitive items that are too likely",
}
_TOLD = ("looked_at", "checked", "violations", "by_size", "complete")


def _checked(content: Mapping[str, Any]) -> Iterator[Block]:
    audit = content["audit"]
    yield Text(
        f"An audit that knows neither the algorithm nor the original looked at {shown(audit['looked_at'])}. It counted "
        f"{audit['checked']:,} cases; {audit['violations']:,} break the promise."
    )
    if audit.get("by_size"):
        counted = tuple(
            (shown(size), shown(found["checked"]), shown(found["violations"]))
            for size, found in audit["by_size"].items()
        )
        yield Table(counted, ("items known", "counted", "break the promise"))
    facts = tuple((_FACTS.get(name, shown(name)), shown(value)) for name, value in audit.items() if name not in _TOLD)
    if facts:
        yield Table(facts)


def _risk(content: Mapping[str, Any]) -> Iterator[Block]:
    risk = content.get("risk")
    if not risk:
        return
    rows, after = max(1, risk["rows"]), risk["after"]
    what = {
        "fewer_than_k": f"among fewer than {content['guarantee'].get('k')}",
        "singled_out": "singled out",
        "value_certain": "sensitive value certain",
    }
    if not risk["before"]:
        yield Text(f"Of the release, none of the {shown(risk['rows'])} rows. {_TOO_SMALL}")
        return
    plotted, told = [], []
    for known in risk["before"]:
        for measure in (name for name in what if name in known):
            shares = {"before": known[measure], "after": after[measure] / rows}
            if known is risk["before"][-1]:
                figures = {"before": f"{shares['before']:.1%} or more", "after": f"{shares['after']:.1%}"}
                plotted += [Bar(f"{what[measure]}, {when}", shares[when], figures[when], when) for when in shares]
            told.append(
                (shown(known["knows"]), what[measure], f"{shares['before']:.1%} or more", f"{shares['after']:.1%}")
            )
    knows = shown(risk["before"][-1]["knows"])
    yield Text(f"Of all rows, those of which whoever knows {knows} of a person would learn what the promise is about:")
    yield Plot(bars(plotted, f"Share of rows at risk from whoever knows {knows}, before and after"))
    yield Table(tuple(told), ("the attacker knows", "rows that are", "raw data", "release"))
    if "in_steps_of" in risk:
        yield Text(f"Shares of the raw data are rounded down, in steps of {_percent(risk['in_steps_of'])}. {_COARSE}")
    else:
        yield Text("Of the raw data, only rows are counted that the release shows to be like no other.")


_COARSE = "Figures about the original are coarse on purpose: an exact one could tell how few people have something."
_TOO_SMALL = (
    "What the original gave away is not said: of data of this size, every figure could tell how few people have something. Its owner "
    "can have it (--report)."
)


LOSSES = {
    "ncp": "detail lost by published items (NCP)",
    "deleted": "item occurrences that were dropped",
    "il": "items added and removed, over original occurrences",
    "added": "items added",
    "removed": "items removed",
    "ul": "detail of items lost (UL)",
    "items_ncp": "detail lost by published items (NCP)",
    "ambiguity": "rows dealt another value than their own",
}
"""What a certificate calls the losses that it holds."""


def _cost(content: Mapping[str, Any]) -> Iterator[Block]:
    names = LOSSES | ({"ncp": "detail of columns lost (NCP)"} if "ncp_by_column" in content else {})

    def label(part: str, name: str) -> str:
        return names.get(name, shown(name)) if part == "loss" else f"column {shown(name)} (NCP)"

    parts = ("loss", "ncp_by_column")
    losses = [
        (label(part, name), float(lost), content.get("rounded_to", {}).get(part, {}).get(name))
        for part in parts
        for name, lost in content.get(part, {}).items()
    ]
    if losses:
        lines = [(name, lost, _share(lost, step)) for name, lost, step in losses]
        yield Plot(bars([Bar(*line) for line in lines], "What the release cost, as shares"))
        yield Table(tuple((name, figure) for name, _, figure in lines))
    if any(step is not None for _, _, step in losses):
        yield Text(f"What is called about so much is rounded. {_COARSE}")
    withheld = [label(part, name) for part in parts for name in content.get("withheld", {}).get(part, ())]
    if withheld:
        yield Text(
            f"Not said, because on data of this size or kind it could tell how few people have something: {', '.join(withheld)}. The "
            "owner can have it (--report)."
        )
    if content.get("optimal"):
        yield Text("It is proven that no release of this kind loses less.")


def _share(share: float, step: float | None) -> str:
    return f"{share:.2%}" if step is None else f"about {_percent(share)}"


def _percent(share: float) -> str:
    """A rounded share, without digits that it does not have."""
    return f"{share * 100:.1f}".removesuffix(".0") + "%"


def _changes(content: Mapping[str, Any]) -> Iterator[Block]:
    rows = []
    changes = content.get("changes", {})
    if "tokens" in changes:
        rows.append(("different items that are published", shown(changes["tokens"])))
    if "exact" in changes:
        rows.append(("published items that are no categories", f"{changes['exact']:.1%} of all that stand in rows"))
    figures = content.get("buckets")
    if isinstance(figures, Mapping):
        rows += [(_FACTS.get(name, f"buckets: {shown(name)}"), shown(value)) for name, value in figures.items()]
    if rows:
        yield Table(tuple(rows))
        yield Text("No item or value that occurs in fewer rows than the promise asks for is named in this certificate.")


def _making(content: Mapping[str, Any]) -> Iterator[Block]:
    rows = [("algorithm", shown(content["algorithm"]))]
    asked = content["parameters"].items()
    rows += [(shown(name).replace("_", " "), shown(value)) for name, value in asked if value is not None]
    rows += _hierarchies(content.get("hierarchy") or {})
    rows += [(f"version of {shown(name)}", shown(version)) for name, version in content["versions"].items()]
    rows.append(("day", shown(content["created"])))
    yield Table(tuple(rows))


def _hierarchies(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column, tree in [("", facts)] if isinstance(facts.get("source"), str) else list(facts.items()):
        name = f"hierarchy of {shown(column)}" if column else "hierarchy"
        if tree is None:
            yield name, "none: ranges of numbers, or sets"
        elif isinstance(tree, Mapping):
            yield name, shown(tree["source"])
            if "hmac_sha256" in tree:
                yield f"{name}, keyed hash", shown(tree["hmac_sha256"])


def _checking(content: Mapping[str, Any]) -> Iterator[Block]:
    signed = content.get("signer")
    yield Text(
        "shoal verify CERTIFICATE DATA tells whether a file is this release and whether the promise still holds"
        + ("; with --key PUBLIC, also whether it was signed by the holder of that key." if signed else ".")
    )
    if signed:
        yield Table((("signed with", f"{shown(signed['algorithm'])} key"), ("public key", shown(signed["public_key"]))))
    else:
        yield Text("It is not signed: whoever may change it and the data together can also change what it says.")
