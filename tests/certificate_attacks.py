"""An attacker of certificates, with the published file, the tree and the algorithm at hand.

Two ways in. `same_files` runs neighbouring originals through the same release: where two of them publish the same file, whatever differs in
their certificates (facts, words, lengths of bars) tells an attacker which of them it was. `derived` does sums: it turns
every figure that it finds back into counts of the original, as one would by hand.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import shoal

TREE = "a;x;all\nb;x;all\nc;x;all\nd;y;all\ne;y;all\nf;z;all\ng;z;all\n"
ITEMS = "abcdefg"
SIBLINGS = {item: [other for other in group if other != item] for group in ("abc", "de", "fg") for item in group}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class World:
    """A kind of release, and how an original for it is drawn."""

    guarantee: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 9
    table: bool = False
    """Whether rows have columns besides their items."""

    @property
    def least(self) -> int:
        return int(getattr(self.guarantee, "k", None) or self.guarantee.l)


_KM = shoal.KmAnonymity(3, 2)
_BESIDE = {"quasi": "age,sex", "hierarchy": {"items": "tree.csv"}}
_SETS = {"quasi": "age,sex"}
WORLDS = {
    "exact": World(_KM, {"hierarchy": "tree.csv"}),
    "exact, k = 2": World(shoal.KmAnonymity(2, 1), {"hierarchy": "tree.csv"}),
    "exact, suppressed": World(_KM, {"hierarchy": "tree.csv", "suppress": 0.4}),
    "exact, frequency": World(_KM, {"hierarchy": "frequency:2"}),
    "exact, prefix": World(_KM, {"hierarchy": "prefix"}),
    "exact, unknown": World(_KM, {"hierarchy": "short.csv", "unknown": "root"}),
    "hybrid": World(_KM, {"hierarchy": "tree.csv", "algorithm": "hybrid", "suppress": 0.4}),
    "lra": World(_KM, {"hierarchy": "tree.csv", "algorithm": "lra"}),
    "local": World(_KM, {"hierarchy": "tree.csv", "algorithm": "local", "suppress": 0.4}),
    "oa": World(_KM, {"hierarchy": "tree.csv", "algorithm": "oa"}),
    "da": World(_KM, {"hierarchy": "tree.csv", "algorithm": "da"}),
    "aa": World(_KM, {"hierarchy": "tree.csv", "algorithm": "aa"}),
    "split": World(shoal.KAnonymity(3)),
    "pta": World(shoal.KAnonymity(3), {"algorithm": "pta"}),
    "gsc": World(shoal.KAnonymity(3), {"algorithm": "gsc"}),
    "gray-tsp": World(shoal.KAnonymity(3), {"algorithm": "gray-tsp", "generations": 5, "population": 5}),
    "split, sensitive": World(shoal.KAnonymity(3, 2), {"sensitive": "f,g"}),
    "table": World(shoal.TableAnonymity(3), {"quasi": "age,sex", "drop": "items,ill"}, table=True),
    "table, mask": World(
        shoal.TableAnonymity(3), {"quasi": "age,zip", "drop": "items,ill,sex", "hierarchy": {"zip": "mask"}}, table=True
    ),
    "table, named": World(
        shoal.TableAnonymity(3),
        {"quasi": "age,zip", "drop": "items,ill,sex", "hierarchy": {"age": "intervals:5,10", "zip": "named:2"}},
        table=True,
    ),
    "table, diverse": World(shoal.TableAnonymity(3, 2), _SETS | {"sensitive": "ill", "drop": "items"}, table=True),
    "rt, sets": World(
        shoal.RTAnonymity(3, 1), _SETS | {"items": "items", "drop": "ill", "transaction": "sets"}, table=True
    ),
    "rt, tree": World(shoal.RTAnonymity(3, 1), _BESIDE | {"items": "items", "drop": "ill"}, table=True),
    "lm": World(
        shoal.LmDiversity(3, 2, 1), _SETS | {"items": "items", "sensitive": "f,g", "drop": "ill"}, table=True, rows=12
    ),
    "rt, rows left out": World(
        shoal.RTAnonymity(3, 1), _BESIDE | {"items": "items", "drop": "ill", "suppress_rows": 0.2}, table=True, rows=12
    ),
    "rt, sets, rows left out": World(
        shoal.RTAnonymity(3, 1),
        _SETS | {"items": "items", "drop": "ill", "transaction": "sets", "suppress_rows": 0.2},
        table=True,
        rows=12,
    ),
    "rt, frequency, rows left out": World(
        shoal.RTAnonymity(3, 1),
        {
            "quasi": "age,sex",
            "hierarchy": {"items": "frequency:2"},
            "items": "items",
            "drop": "ill",
            "suppress_rows": 0.2,
        },
        table=True,
        rows=12,
    ),
    "rt, close": World(
        shoal.RTAnonymity(3, 1, t=0.5), _BESIDE | {"items": "items", "sensitive": "ill"}, table=True, rows=12
    ),
    "lm, rows left out": World(
        shoal.LmDiversity(3, 2, 1),
        _SETS | {"items": "items", "sensitive": "f,g", "drop": "ill", "suppress_rows": 0.2},
        table=True,
        rows=12,
    ),
    "injector": World(shoal.MatchingDiversity(2), _SETS | {"sensitive": "ill", "drop": "items"}, table=True, rows=12),
    "anatomy": World(
        shoal.MatchingDiversity(2),
        _SETS | {"sensitive": "ill", "drop": "items", "algorithm": "anatomy"},
        table=True,
        rows=12,
    ),
}


def write_trees(folder: Path) -> None:
    """The trees that worlds name, into a folder."""
    (folder / "tree.csv").write_text(TREE)
    (folder / "short.csv").write_text("".join(line + "\n" for line in TREE.splitlines() if line[0] in "abde"))


def released(world: World, rows: Sequence[Row], folder: Path) -> Any:
    """The release of an original; None where there is none."""
    options = dict(world.options)
    spec = options.get("hierarchy")
    placed = lambda given: str(folder / given) if given.endswith(".csv") else given  # noqa: E731
    if spec is not None:
        options["hierarchy"] = {c: placed(s) for c, s in spec.items()} if isinstance(spec, dict) else placed(spec)
    if not world.table:
        data: Any = shoal.Baskets.from_rows([row["items"] for row in rows])
    else:
        used = ",".join(str(options.get(role, "")) for role in ("quasi", "drop", "sensitive", "items")).split(",")
        data = pl.DataFrame([{name: row[name] for name in row if name in used} for row in rows])
        options["numeric"] = "age"
    try:
        return shoal.anonymize(data, world.guarantee, **options)
    except shoal.Unreachable:
        return None


def originals(world: World, seed: int) -> Iterator[list[Row]]:
    """A random original, and then neighbours of it: one row has another item of the same kind, one more or one less, or another value."""
    lots = random.Random(seed)
    rows = [_row(lots) for _ in range(world.rows)]
    if "hierarchy" not in world.options or world.table:
        rows = [dict(row) for row in rows[: world.rows // 3] for _ in range(3)]
    if world.options.get("sensitive") == "f,g":  # which must be there, whatever changes
        rows[:2] = [dict(rows[0], items=["a", "f"]), dict(rows[1], items=["a", "g"])]
    yield rows
    while True:
        near = [dict(row, items=list(row["items"])) for row in rows]
        for _ in range(lots.randint(1, 2)):
            _change(lots.choice(near[2:]), world, lots)
        yield near


def _row(lots: random.Random) -> Row:
    items = sorted(lots.sample(ITEMS, lots.randint(1, 3)))
    age, sex = lots.choice([20, 21, 22, 23, 30, 31]), lots.choice("fm")
    return {
        "age": age,
        "sex": sex,
        "zip": lots.choice(["4711", "4712", "4720", "5000"]),
        "items": items,
        "ill": lots.choice("tuvw"),
    }


def _change(row: Any, world: World, lots: random.Random) -> None:
    if world.table and lots.random() < 0.6:
        row["age"] = lots.choice([20, 21, 22, 23, 30, 31])
        row["zip"] = lots.choice(["4711", "4712", "4720", "5000"])
        row["ill"] = lots.choice("tuvw")
        return
    items = set(row["items"])
    one = lots.choice(sorted(items) or [*ITEMS])
    other = lots.choice(SIBLINGS[one])
    match lots.randint(0, 3):
        case 0 | 1:
            items = items - {one} | {other}
        case 2:
            items |= {other}
        case 3 if len(items) > 1:
            items -= {one}
    row["items"] = sorted(items)


def swapped(rows: Sequence[Row], lots: random.Random) -> list[Row]:
    """The rows with the sensitive values of two of them exchanged: what buckets hide."""
    near = [dict(row) for row in rows]
    one, other = lots.sample(range(len(near)), 2)
    near[one]["ill"], near[other]["ill"] = near[other]["ill"], near[one]["ill"]
    return near


def published_file(release: Any) -> Any:
    """What a release publishes, whatever the order of its rows and the numbers of its buckets."""
    rows = release.published
    if isinstance(rows, shoal.Baskets):
        return tuple(sorted(tuple(sorted(row)) for row in rows.rows()))
    cells = [[column.values[code] for code in column.codes.tolist()] for column in rows.columns]
    names = [column.name for column in rows.columns]
    sets = [""] * len(rows) if rows.items is None else ["|".join(sorted(row)) for row in rows.items.rows()]
    if "bucket" not in names:
        return tuple(sorted(zip(*cells, sets, strict=True)))
    buckets: dict[str, list[list[str]]] = {}
    for row in zip(*cells, strict=True):
        beside = [cell for name, cell in zip(names, row, strict=True) if name not in ("bucket", "ill")]
        inside = buckets.setdefault(row[names.index("bucket")], [[], []])
        inside[0].append("|".join(beside))
        inside[1].append(row[names.index("ill")])
    return tuple(sorted((tuple(sorted(one)), tuple(sorted(other))) for one, other in buckets.values()))


def certified(release: Any, folder: Path, form: str = "json") -> bytes:
    """The certificate of a release in one of its forms."""
    release.write(folder / "public.jsonl", folder / f"certificate.{form}", force=True)
    return (folder / f"certificate.{form}").read_bytes()


def same_files(
    world: World, folder: Path, seed: int, tries: int, see: Callable[[Any], Any]
) -> Iterator[tuple[Any, ...]]:
    """Pairs of originals that publish the same file, and what an attacker sees of each."""
    drawn = originals(world, seed)
    first = next(drawn)
    release = released(world, first, folder)
    if release is None:
        return
    file, seen = published_file(release), see(release)
    lots = random.Random(seed)
    for near, _ in zip(drawn, range(tries), strict=False):
        rows = swapped(first, lots) if world.guarantee.model == "diversity" else near
        other = released(world, rows, folder)
        if other is not None and rows != first and published_file(other) == file:
            again = see(other)
            yield first, rows, seen, again


_DIGEST = re.compile(r"[0-9a-f]{64}|\b(?=\d*[a-f])[0-9a-f]{16}\b")
"""Sixteen digits alone are the fraction of a number."""


def facts_in(data: bytes) -> dict[str, Any]:
    """What a certificate in JSON says, but for hashes and names of files."""
    content = json.loads(data)
    for name in ("created", "key_id"):
        content.pop(name)
    return json.loads(_DIGEST.sub("#", json.dumps(content)))


def seen_on_page(data: bytes) -> str:
    """All of a page, places and lengths of its drawings too, but for hashes."""
    return _DIGEST.sub("#", data.decode())


def seen_in_pdf(data: bytes) -> tuple[str, tuple[str, ...]]:
    """(the text that a PDF of ours shows, what it draws besides), hashes left out."""
    objects = {int(m[1]): m for m in re.finditer(rb"(\d+) 0 obj\s*(.*?)\s*endobj", data, re.DOTALL)}

    def unpacked(number: int) -> str:
        return zlib.decompress(re.split(rb"stream\r?\n", objects[number][2], maxsplit=1)[1]).decode("latin-1")

    text, drawn = [], []
    for page in (m[2] for m in objects.values() if re.search(rb"/Type\s*/Page\b", m[2])):
        resources = objects[int(re.search(rb"/Resources (\d+)", page)[1])][2]
        fonts = {
            name.decode(): _letters(unpacked(int(re.search(rb"/ToUnicode (\d+)", objects[int(font)][2])[1])))
            for name, font in re.findall(rb"/(f\d+) (\d+) 0 R", resources)
        }
        content = unpacked(int(re.search(rb"/Contents (\d+)", page)[1]))
        for name, shown in re.findall(r"/(f\d+) [\d.]+ Tf(.*?)\nET", content, re.DOTALL):
            text.append("".join(fonts[name].get(code, "?") for code in _codes(shown)))
        drawn += re.findall(r"[-\d. ]+ (?:re|m|l|c|cm)\b", content)
    drawn += [
        unpacked(n) for n, m in objects.items() if b"/Subtype/Form" in m[2].replace(b" ", b"") and b"stream" in m[2]
    ]
    return _DIGEST.sub("#", "\n".join(text)), tuple(drawn)


def _letters(cmap: str) -> dict[int, str]:
    pairs = re.findall(r"<([0-9A-F]{4})> <([0-9A-F]+)>", cmap)
    return {int(code, 16): bytes.fromhex(text).decode("utf-16-be") for code, text in pairs}


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def _codes(shown: str) -> Iterator[int]:
    """The glyphs of the strings of a TJ operator, two bytes each."""
    for literal in re.findall(r"\(((?:\\.|[^\\)])*)\)", shown, re.DOTALL):
        plain = re.sub(r"\\([0-7]{1,3}|.)", lambda m: _unescaped(m[1]), literal, flags=re.DOTALL)
        yield from (ord(plain[i]) * 256 + ord(plain[i + 1]) for i in range(0, len(plain) - 1, 2))


def _unescaped(text: str) -> str:
    return chr(int(text, 8)) if text[0] in "01234567" else _ESCAPES.get(text, text)


@dataclass(frozen=True)
class Derived:
    """A count that an attacker works out, and what it is a count of."""

    what: str
    count: float


def derived(content: Mapping[str, Any], rows: Sequence[Sequence[str]], leaves: Mapping[str, int]) -> Iterator[Derived]:
    """Counts of an original of sets that follow from the figures of its certificate; `leaves` has those of each token, by the tree."""
    occurrences = sum(map(len, rows))
    supports: dict[str, int] = {}
    for row in rows:
        for token in row:
            supports[token] = supports.get(token, 0) + 1
    n = sum(1 for token in leaves if leaves[token] == 1)
    loss, changes, dropped = content.get("loss", {}), content.get("changes", {}), content.get("suppressed", {})
    # Original occurrences minus published ones are rows with two items of one kind: with one category in the file, the loss has it.
    generalized = [token for token in supports if leaves.get(token, 1) > 1]
    if exact := content.get("kept", {}).get("exact"):  # a share of original occurrences would tell how many there were
        as_they_are = occurrences - sum(supports[token] for token in generalized)
        yield Derived("two of a kind", round(as_they_are / exact - occurrences, 3))
    if len(generalized) == 1 and loss.get("ncp", 0) > 0 and not loss.get("deleted"):
        share = leaves[generalized[0]] / n
        if share > loss["ncp"]:
            known = occurrences - supports[generalized[0]]
            yield Derived("two of a kind", loss["ncp"] * known / (share - loss["ncp"]) - supports[generalized[0]])
    levels = changes.get("levels", ())
    if levels and not any(level["levels_up"] is None for level in levels):
        yield Derived("two of a kind", sum(level["occurrences"] for level in levels) - occurrences)
    for level in levels:
        if level["levels_up"] is None:
            yield Derived("dropped", level["occurrences"])
        elif level["items"] == 1:
            yield Derived("one item", level["occurrences"])
    if dropped:
        yield Derived("dropped", dropped["occurrences"])
    if loss.get("deleted"):
        yield Derived("dropped", loss["deleted"] * occurrences / (1 - loss["deleted"]))
    if loss.get("il"):
        # What is published is what there was, with what was added and without what was removed.
        total = occurrences / (1 + loss["added"] - loss["removed"])
        yield Derived("added", loss["added"] * total)
        yield Derived("removed", loss["removed"] * total)
    for known in content.get("risk", {}).get("before", ()):
        for name in ("fewer_than_k", "singled_out"):
            count = known[name]
            yield Derived(f"{known['knows']}: {name}", count if isinstance(count, int) else count * len(rows))


def counts_of(release: Any, original: Sequence[Sequence[str]]) -> Mapping[str, set[int]]:
    """The true counts of what `derived` looks for."""
    details = release.details
    edits = details.get("edits", {}).values()
    found = {
        f"{one.knows}: {name}": {count}
        for one in release.risk
        for name, count in one.to_dict().items()
        if name != "knows"
    }
    return found | {
        "one item": {sum(item in row for row in original) for row in original for item in row},
        "two of a kind": {sum(map(len, original)) - release.published.occurrences},
        "dropped": {details.get("suppressed", {}).get("occurrences", 0)},
        "added": {sum(one["added"] for one in edits)},
        "removed": {sum(one["removed"] for one in edits)},
    }
