"""The certificate as a PDF, set by typst, with its facts attached as `certificate.json`.

The template is constant, and what it says comes to it as data: no name is ever read as markup. The same facts give the same
bytes: no time, no user, no machine; fonts are those that typst brings along, unless a name is in a script that they lack.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from shoal.certificate.facts import certificate_bytes
from shoal.certificate.sections import sections, title, verdict
from shoal.errors import InputError

_TEMPLATE = b"""
#let it = json("document.json")
#set document(title: it.title, date: none)
#set page(paper: "a4", margin: (x: 2.2cm, y: 2cm), footer: context align(center, text(size: 8pt, fill: gray,
  it.title + ", page " + str(counter(page).get().first()) + " of " + str(counter(page).final().first()))))
#set text(font: "Libertinus Serif", size: 10pt, lang: "en")
#set par(justify: false)
#show heading: set block(above: 1.4em, below: 0.7em, sticky: true)
// A long name has no place to break at: any place will do. A hash is set small instead, so that it can be copied.
#let broken(word) = if word.len() <= 40 { word } else {
  word.clusters().enumerate().map(((i, c)) => if calc.rem(i, 12) == 11 { c + "\\u{200b}" } else { c }).join()
}
#let cell(words) = if words.match(regex("^[0-9a-f]{64}$")) != none { text(font: "DejaVu Sans Mono", size: 6.8pt, words) } else {
  words.split(" ").map(broken).join(" ")
}
#heading(level: 1, it.title)
#block(stroke: 1.5pt + if it.holds { rgb("#1b6b72") } else { rgb("#c1440e") }, inset: 8pt, width: 100%, strong(it.verdict))
#for section in it.sections {
  heading(level: 2, section.title)
  for part in section.blocks {
    if part.kind == "text" { par(part.text) }
    else if part.kind == "points" { list(..part.points.map(cell)) }
    else if part.kind == "plot" { image(bytes(part.svg), format: "svg", width: 100%) }
    else {
      let n = part.rows.first().len()
      table(columns: if n == 2 { (40%, 60%) } else { (1fr,) * n }, stroke: (x: none, y: 0.4pt + luma(210)), inset: (x: 2pt, y: 3pt),
        ..if part.header.len() > 0 { (table.header(..part.header.map(strong)),) },
        ..part.rows.flatten().map(cell))
    }
  }
}
#pdf.attach("certificate.json", read("certificate.json", encoding: none), relationship: "data", mime-type: "application/json",
  description: "The facts of this certificate, which shoal verify reads")
"""

NEEDS_TYPST = "a certificate in PDF needs typst; pip install 'shoal[report]', or let its name end in .html"
_ATTACHED = re.compile(rb"<<([^<>]*/Type\s*/EmbeddedFile\b[^<>]*(?:<<[^<>]*>>[^<>]*)?)>>\s*stream\r?\n")
_LARGEST = 1 << 28  # bytes of an unpacked attachment: more is an attack


def typeset(content: Mapping[str, Any]) -> bytes:
    """The PDF of a certificate."""
    try:
        typst: Any = import_module("typst")
    except ImportError:
        raise InputError(NEEDS_TYPST) from None
    text = _document(content)
    files = {"main": _TEMPLATE, "document.json": text.encode(), "certificate.json": certificate_bytes(content)}
    made: bytes = typst.compile(files, format="pdf", ignore_system_fonts=not _is_foreign(text))
    return made


def needs_system_fonts(content: Mapping[str, Any]) -> bool:
    """Whether it holds a script that typst brings no font for, so that it may look otherwise elsewhere."""
    return _is_foreign(_document(content))


def _is_foreign(text: str) -> bool:
    return any(ord(c) >= 0x590 and c != "…" for c in text)


def _document(content: Mapping[str, Any]) -> str:
    """What the template sets."""
    document = {
        "title": title(content),
        "verdict": verdict(content),
        "holds": content["holds"],
        "sections": [
            {
                "title": section.title,
                "blocks": [{"kind": type(block).__name__.lower(), **vars(block)} for block in section.blocks],
            }
            for section in sections(content)
        ],
    }
    return json.dumps(document, ensure_ascii=False)


def attached_facts(data: bytes, name: str) -> bytes:
    """The certificate that is attached to a PDF which `typeset` made."""
    found = list(_ATTACHED.finditer(data))
    length = re.search(rb"/Length\s+(\d+)", found[0][1]) if len(found) == 1 else None
    if length is None:
        raise InputError(f"{name}: this PDF carries no certificate, or more than one; give the file that shoal wrote")
    stream = data[found[0].end() : found[0].end() + int(length[1])]
    if b"/FlateDecode" not in found[0][1]:
        return stream
    unpacking = zlib.decompressobj()
    try:
        facts = unpacking.decompress(stream, _LARGEST)
    except zlib.error:
        raise InputError(f"{name}: the certificate in this PDF is damaged; copy the file again") from None
    if unpacking.unconsumed_tail:
        raise InputError(f"{name}: the certificate in this PDF is far too large; give the file that shoal wrote")
    return facts
