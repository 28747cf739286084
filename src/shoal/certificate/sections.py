"""What a certificate says, in words, tables and plots: the one text that the page and the PDF both set.

Names in it (columns, tokens, files) come from strangers. Here they lose what would steer a terminal or a page (control characters,
marks that turn the direction of text); whoever sets them escapes them for the format at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.certificate.disclosure import KEPT, LOSSES, at_least
from shoal.certificate.facts import limits_of
from shoal.drawing.bars import Bar, bars
from shoal.errors import visible
from shoal.loss.worth import width_words


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
    return f"Certificate of release {plain_text(content['output']['file'])}"


def verdict(content: Mapping[str, Any]) -> str:
    """The one sentence on top."""
    name = plain_text(content["guarantee"]["name"])
    what = f"{content['output']['rows']:,} rows"
    if "records" in content["audit"]:  # its rows are pieces of them
        what = f"{plain_text(content['audit']['records'])} records, in {what}"
    return f"{name} {'holds' if content['holds'] else 'does not hold'} for all {what}"


def sections(content: Mapping[str, Any]) -> tuple[Section, ...]:
    """The whole text. Parts about which the certificate says nothing are left out."""
    written = ((name, tuple(blocks(content))) for name, blocks in _SECTIONS)
    return tuple(Section(name, blocks) for name, blocks in written if blocks)


def plain_text(value: object) -> str:
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
        return ", ".join(f"{plain_text(name)}: {plain_text(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, value))
    return visible(str(value))


def _points(part: str) -> Callable[[Mapping[str, Any]], Iterator[Block]]:
    def points(content: Mapping[str, Any]) -> Iterator[Block]:
        if content[part]:
            yield Points(tuple(map(plain_text, content[part])))

    return points


def _table(rows: Iterable[tuple[object, ...]], header: tuple[str, ...] = ()) -> Iterator[Block]:
    """A table of what is called so, in plain text; nothing if there are no rows."""
    if plain := tuple(tuple(map(plain_text, row)) for row in rows):
        yield Table(plain, header)


_ROLES = {
    "quasi": "quasi-identifier: an attacker may know it; it was generalized",
    "items": "items",
    "sensitive": "sensitive: what an attacker wants to learn; published as it is",
    "sensitive items": "sensitive items: published as they are",
    "keep": "kept: published as it is",
}
_BUCKET_ROLES = _ROLES | {
    "quasi": "quasi-identifier: an attacker may know it; published as it is",
    "sensitive": "sensitive: dealt at random inside each bucket",
}


def _output(content: Mapping[str, Any]) -> Iterator[Block]:
    output = content["output"]
    rows = [("file", output["file"]), ("SHA-256", output["sha256"])]
    rows += [("format", output["format"])] if "format" in output else []
    rows.append(("rows", output["rows"]))
    rows += [("rows without items", output["empty"])] if output.get("empty") else []
    yield from _table([*rows, ("order of the rows", content["row_order"])])
    roles = output.get("columns") or content.get("columns") or {}
    names = _BUCKET_ROLES if content["guarantee"]["model"] == "diversity" else _ROLES
    yield from _table(((column, names.get(role, role)) for column, role in roles.items()), ("column", "role"))


def _input(content: Mapping[str, Any]) -> Iterator[Block]:
    given = content.get("input", {})
    rows = [("rows", given["rows"])] if "rows" in given else []
    if "hmac_sha256" not in given:
        yield from _table(rows)
        return
    keyed = [("keyed hash (HMAC-SHA-256)", given["hmac_sha256"]), ("key", content.get("key_id"))]
    yield from _table([*rows, *keyed])
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
    "likeliest_sensitive": "largest share of a sensitive value in a class",
    "farthest_class": "largest distance of a class from the table",
    "farthest_crowd": "largest distance of a crowd (a class, or its rows with the same items) from the table",
    "telling_crowds": "crowds that tell too much of a sensitive column",
    "buckets": "buckets",
    "smallest_bucket": "rows of the smallest bucket",
    "largest_bucket": "rows of the largest bucket",
    "average_bucket": "rows of a bucket on average",
    "fewest_values": "fewest possible sensitive values of a row",
    "certain_rows": "rows of which one value is certain",
    "contradicted_rows": "rows that the rules contradict",
    "largest_share": "largest share of one value in a bucket",
    "records": "records that the rows are pieces of",
    "clusters": "clusters of records",
    "smallest_cluster": "records of the smallest cluster",
    "largest_cluster": "records of the largest cluster",
    "chunks": "chunks",
    "covered_clusters": "clusters in which an item stands in every record",
    "rare": "itemsets and classes that are too rare",
    "inferences": "sensitive items that are too likely",
}
_SAID_IN_WORDS = ("looked_at", "checked", "violations", "by_size", "complete")


def _audit(content: Mapping[str, Any]) -> Iterator[Block]:
    audit = content["audit"]
    yield Text(
        f"An audit that knows neither the algorithm nor the original looked at {plain_text(audit['looked_at'])}. It counted "
        f"{audit['checked']:,} cases; {audit['violations']:,} break the promise."
    )
    counts = (audit.get("by_size") or {}).items()
    by_size = ((size, count["checked"], count["violations"]) for size, count in counts)
    yield from _table(by_size, ("items known", "counted", "break the promise"))
    yield from _table((_FACTS.get(name, name), value) for name, value in audit.items() if name not in _SAID_IN_WORDS)


_COARSE = "Figures about the original are coarse on purpose: an exact one could tell how few people have something."
_TOO_SMALL = (
    "What the original gave away is not said: of data of this size, every figure could tell how few people have something. Its owner "
    "finds it in the owner's report."
)


def _risk(content: Mapping[str, Any]) -> Iterator[Block]:
    risk = content.get("risk")
    if not risk:
        return
    if not risk["before"]:
        yield Text(f"Of the release, none of the {plain_text(risk['rows'])} rows. {_TOO_SMALL}")
        return
    rows, after = max(1, risk["rows"]), risk["after"]
    what = {
        "fewer_than_k": f"among fewer than {content['guarantee'].get('k')}",
        "singled_out": "singled out",
        "value_certain": "sensitive value certain",
    }
    lines, plotted = list[tuple[object, ...]](), list[Bar]()
    for known in risk["before"]:
        plotted = []  # the last attacker knows most
        for measure in (name for name in what if name in known):
            shares = {"before": known[measure], "after": after[measure] / rows}
            figures = {"before": f"{shares['before']:.1%} or more", "after": f"{shares['after']:.1%}"}
            plotted += [Bar(f"{what[measure]}, {when}", shares[when], figures[when], when) for when in shares]
            lines.append((known["knows"], what[measure], *figures.values()))
    knows = plain_text(risk["before"][-1]["knows"])
    yield Text(f"Of all rows, those of which whoever knows {knows} of a person would learn what the promise is about:")
    yield Plot(bars(plotted, f"Share of rows at risk from whoever knows {knows}, before and after"))
    yield from _table(lines, ("the attacker knows", "rows that are", "raw data", "release"))
    if "in_steps_of" in risk:
        yield Text(f"Shares of the raw data are rounded down, in steps of {_percent(risk['in_steps_of'])}. {_COARSE}")
    else:
        yield Text("Of the raw data, only rows are counted that the release shows to be like no other.")


_COUNTED = {
    "info": "Information is what the items that stand there say; a category is taken for any item below it, all equally likely.",
    "exact": "Items as they are: of all that stand in rows, those that are no category.",
    "pairs": "Pairs as they are: of the 100 commonest in the release, those of two such items.",
    "cells": "Cells as they are: of all cells of quasi-identifier columns, those with a single value.",
}


def _worth(content: Mapping[str, Any]) -> Iterator[Block]:
    """What a reader has of it, in figures that the release itself tells."""
    loss, kept = content.get("loss", {}), content.get("kept", {})
    told = {name: words for name, words in KEPT.items() if name in kept}
    lines = [(words, kept[name], f"{kept[name]:.1%}") for name, words in told.items()]
    if "info" in loss:
        least = at_least(1 - loss["info"], 0.001)
        lines.insert(0, ("information kept", least, f"{least:.1%} or more"))
    if "removed" in loss:
        lines.append(("items still in their rows", 1 - loss["removed"], f"about {_percent(1 - loss['removed'])}"))
    if not lines:
        return
    yield Plot(bars([Bar(*line, "after") for line in lines], "What the release keeps, as shares"))
    yield from _table((words, figure) for words, _, figure in lines)
    yield from _table(_widths(kept), ("", "as it was", "median width"))
    if counted := [words for name, words in _COUNTED.items() if name in kept or (name == "info" and name in loss)]:
        yield Text(f"Counted in the release, as anyone can who has its hierarchies. {' '.join(counted)}")


def _widths(kept: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """What is left of each column, and of the items of a table."""
    for name, one in kept.get("columns", {}).items():
        yield name, f"{one['exact']:.1%}", width_words(one) if "width" in one else "-"
    width = kept.get("items", {}).get("width")
    if width is not None:
        yield "items", f"{kept['exact']:.1%}", f"{width:,.0f} item{'' if width == 1 else 's'}"


def _cost(content: Mapping[str, Any]) -> Iterator[Block]:
    names = LOSSES | ({"ncp": "detail of columns lost (NCP)"} if "ncp_by_column" in content else {})

    def label(part: str, name: str) -> str:
        return names.get(name, plain_text(name)) if part == "loss" else f"column {plain_text(name)} (NCP)"

    parts = ("loss", "ncp_by_column")
    losses = [
        (label(part, name), float(lost), content.get("rounded_to", {}).get(part, {}).get(name))
        for part in parts
        for name, lost in content.get(part, {}).items()
        if name != "info" or part != "loss"  # told as what is kept
    ]
    if losses:
        lines = [
            (name, lost, f"{lost:.2%}" if step is None else f"about {_percent(lost)}") for name, lost, step in losses
        ]
        yield Plot(bars([Bar(*line) for line in lines], "What the release cost, as shares"))
        yield from _table((name, figure) for name, _, figure in lines)
    if any(step is not None for _, _, step in losses):
        yield Text(f"What is called about so much is rounded. {_COARSE}")
    withheld = [label(part, name) for part in parts for name in content.get("withheld", {}).get(part, ())]
    if withheld:
        yield Text(
            f"Not said, because on data of this size or kind it could tell how few people have something: {', '.join(withheld)}. The "
            "owner finds it in the owner's report."
        )
    if content.get("optimal"):
        yield Text("It is proven that no release of this kind loses less.")


def _percent(share: float) -> str:
    """A rounded share, without digits that it does not have."""
    return f"{share * 100:.1f}".removesuffix(".0") + "%"


def _changes(content: Mapping[str, Any]) -> Iterator[Block]:
    changes, figures = content.get("changes", {}), content.get("buckets")
    rows: list[tuple[object, ...]] = []
    if "tokens" in changes:
        rows.append(("different items that are published", changes["tokens"]))
    if isinstance(figures, Mapping):
        rows += [(_FACTS.get(name, f"buckets: {plain_text(name)}"), value) for name, value in figures.items()]
    yield from _table(rows)
    if rows:
        yield Text("No item or value that occurs in fewer rows than the promise asks for is named in this certificate.")


def _making(content: Mapping[str, Any]) -> Iterator[Block]:
    asked = content["parameters"].items()
    yield from _table(
        (
            ("algorithm", content["algorithm"]),
            *((plain_text(name).replace("_", " "), value) for name, value in asked if value is not None),
            *_hierarchies(content.get("hierarchy") or {}),
            *((f"version of {plain_text(name)}", version) for name, version in content["versions"].items()),
            ("day", content["created"]),
        )
    )


def _hierarchies(facts: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for column, tree in [("", facts)] if isinstance(facts.get("source"), str) else list(facts.items()):
        name = f"hierarchy of {plain_text(column)}" if column else "hierarchy"
        if tree is None:
            yield name, "none: ranges of numbers, or sets"
        elif isinstance(tree, Mapping):
            yield name, tree["source"]
            if "hmac_sha256" in tree:
                yield f"{name}, keyed hash", tree["hmac_sha256"]


def _checking(content: Mapping[str, Any]) -> Iterator[Block]:
    signed = content.get("signer")
    yield Text(
        "shoal verify CERTIFICATE DATA tells whether a file is this release and whether the promise still holds"
        + ("; given the signer's public key, also whether its holder signed it." if signed else ".")
    )
    if signed:
        signer = (("signed with", f"{plain_text(signed['algorithm'])} key"), ("public key", signed["public_key"]))
        yield from _table(signer)
    else:
        yield Text("It is not signed: whoever may change it and the data together can also change what it says.")


def _acknowledged(content: Mapping[str, Any]) -> Iterator[Block]:
    """What the owner says to have read: in a sentence where it is all that stands above."""
    given = content.get("acknowledged") or ()
    if not given:
        return
    if len(given) == len(limits_of(content)):
        yield Text(
            "The owner has read all of these limits, and all that is to be kept in mind, and publishes under them."
        )
        return
    yield Text("The owner has read these of the limits, and publishes under them.")
    yield Points(tuple(map(plain_text, given)))


_SECTIONS: tuple[tuple[str, Callable[[Mapping[str, Any]], Iterator[Block]]], ...] = (
    ("The attacker it stops", _points("promised")),
    ("The attackers it does not stop", _points("not_promised")),
    ("What to keep in mind", _points("warnings")),
    ("What the owner acknowledges", _acknowledged),
    ("What was released", _output),
    ("From which input", _input),
    ("How it was checked", _audit),
    ("What an attacker learns, before and after", _risk),
    ("What it keeps", _worth),
    ("What it cost", _cost),
    ("What was changed", _changes),
    ("How it was made", _making),
    ("How to check this certificate", _checking),
)
