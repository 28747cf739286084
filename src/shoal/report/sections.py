"""What a certificate says, in words, tables and plots: the one text that the page and the PDF both set.

Names in it (columns, tokens, files) come from strangers. Here they lose what would steer a terminal or a page (control characters,
marks that turn the direction of text); whoever sets them escapes them for the format at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.report.plots import Bar, bars

SHOWN = 20
"""Tokens that a table lists; the JSON has them all."""


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
    items = content.get("changes", {}).get("items")
    if items is not None:
        rows.append(("different items", shown(items)))
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
    plotted, told = [], []
    for known in risk["before"]:
        for measure in (name for name in what if name in known):
            for when, count in (("before", known[measure]), ("after", after[measure])):
                label = f"{what[measure]}, {when}"
                if known is risk["before"][-1]:
                    plotted.append(Bar(label, count / rows, f"{count / rows:.1%}", when))
            told.append(
                (
                    shown(known["knows"]),
                    what[measure],
                    f"{known[measure]:,} ({known[measure] / rows:.1%})",
                    f"{after[measure]:,} ({after[measure] / rows:.1%})",
                )
            )
    knows = shown(risk["before"][-1]["knows"])
    yield Text(f"Of all rows, those of which whoever knows {knows} of a person would learn what the promise is about:")
    yield Plot(bars(plotted, f"Share of rows at risk from whoever knows {knows}, before and after"))
    yield Table(tuple(told), ("the attacker knows", "rows that are", "raw data", "release"))
    m = content["guarantee"].get("m")
    counted = sum("item" in known["knows"] for known in risk["before"])
    if m and counted < m:
        yield Text(
            f"In the raw data, no more than {counted} known items were counted: more would have taken long, or no row has them."
        )


LOSSES = {
    "ncp": "detail lost (NCP)",
    "generalized": "of that, by generalizing",
    "deleted": "of that, by deleting",
    "il": "items added and removed, over original occurrences",
    "added": "items added",
    "removed": "items removed",
    "ul": "detail of items lost (UL)",
    "items_ncp": "detail of items lost (NCP)",
    "ambiguity": "rows dealt another value than their own",
}
"""What a certificate calls the losses that it holds."""


def _cost(content: Mapping[str, Any]) -> Iterator[Block]:
    names = LOSSES | ({"ncp": "detail of columns lost (NCP)"} if "ncp_by_column" in content else {})
    losses = [(names.get(name, shown(name)), float(lost)) for name, lost in content["loss"].items()]
    losses += [(f"column {shown(name)} (NCP)", float(lost)) for name, lost in content.get("ncp_by_column", {}).items()]
    if losses:
        yield Plot(bars([Bar(name, lost, f"{lost:.2%}") for name, lost in losses], "What the release cost, as shares"))
        yield Table(tuple((name, f"{lost:.2%}") for name, lost in losses))
    if content.get("optimal"):
        yield Text("It is proven that no release of this kind loses less.")
    elif (content.get("bound") or 0) >= 0.00005:  # less is shown as 0.00%, which says nothing
        yield Text(f"No release of this kind loses less than {content['bound']:.2%}.")


def _changes(content: Mapping[str, Any]) -> Iterator[Block]:
    levels = content.get("changes", {}).get("levels")
    if levels:
        yield Plot(
            bars(
                [Bar(_step(level["levels_up"]), level["share"], f"{level['share']:.1%}") for level in levels],
                "How far up the hierarchy item occurrences went",
            )
        )
        yield Table(
            tuple((_step(one["levels_up"]), f"{one['items']:,}", f"{one['occurrences']:,}") for one in levels),
            ("items", "different ones", "occurrences"),
        )
    rows = []
    changes = content.get("changes", {})
    if "tokens" in changes:
        rows.append(("different items that are published", shown(changes["tokens"])))
    dropped = content.get("suppressed") or {}
    if dropped.get("occurrences"):
        rows.append(("item occurrences that were dropped", f"{dropped['occurrences']:,} ({dropped['share']:.2%})"))
    for part, names in (("classes", ("count", "smallest", "largest", "average")), ("buckets", ())):
        figures = content.get(part)
        if isinstance(figures, Mapping):
            rows += [
                (_FACTS.get(name, f"{part}: {shown(name)}"), shown(value))
                for name, value in figures.items()
                if not names or name in names
            ]
    if content.get("knowledge"):
        rows.append(("rules that an attacker is taken to know", shown(content["knowledge"])))
    if rows:
        yield Table(tuple(rows))
    if rows or levels:
        yield Text("No item or value that occurs in fewer rows than the promise asks for is named in this certificate.")
    lost = sorted((content.get("deleted_shares") or {}).items(), key=lambda entry: (-entry[1], entry[0]))
    if lost:
        yield Table(
            tuple((shown(token), f"{share:.1%}") for token, share in lost[:SHOWN]), ("published item", "deleted")
        )
    if len(lost) > SHOWN:
        yield Text(f"And {len(lost) - SHOWN:,} more, which lost less; the data inside this certificate lists them all.")


def _step(levels_up: int | None) -> str:
    if levels_up is None:
        return "dropped"
    return {0: "as they are", 1: "1 level up"}.get(levels_up, f"{levels_up:,} levels up")


def _making(content: Mapping[str, Any]) -> Iterator[Block]:
    rows = [("algorithm", shown(content["algorithm"]))]
    asked = content["parameters"].items()
    rows += [(shown(name).replace("_", " "), shown(value)) for name, value in asked if value is not None]
    rows += _hierarchies(content.get("hierarchy") or {})
    rows += [(f"version of {shown(name)}", shown(version)) for name, version in content["versions"].items()]
    rows.append(("day", shown(content["created"])))
    yield Table(tuple(rows))


def _hierarchies(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for column, tree in [("", facts)] if "leaves" in facts else list(facts.items()):
        name = f"hierarchy of {shown(column)}" if column else "hierarchy"
        if tree is None:
            yield name, "none: ranges of numbers, or sets"
        elif isinstance(tree, Mapping):
            yield name, f"{shown(tree['source'])}, {shown(tree['leaves'])} leaves, height {shown(tree['height'])}"
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
