"""The certificate as a web page: one file that asks nothing of the network and runs nothing, for screens and for print.

Its facts stand once more in a block of JSON that browsers do not show. `<`, `>` and `&` are spelled as JSON escapes there, so that no name
can end the block. The page without the block is hashed, and the hash is one of the facts: neither can be changed alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from shoal.certificate.sections import Block, Plot, Points, Table, Text, sections, title, verdict
from shoal.drawing.web_page import html_facts, html_list, html_table, web_page
from shoal.errors import InputError

_OPEN = b'<script type="application/json" id="shoal-certificate">'
_CLOSE = b"</script>"

_STYLE = """
body { font: 16px/1.5 Georgia, "Times New Roman", serif; color: #1c1c1c; background: #fff; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #bbb; }
.verdict { border: 2px solid #1b6b72; padding: .6rem 1rem; font-weight: bold; }
.broken { border-color: #c1440e; }
table { border-collapse: collapse; margin: .75rem 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #e4e4e4; overflow-wrap: anywhere; }
h1, p, li, th, td { unicode-bidi: plaintext; text-align: left; }
tbody th { font-weight: normal; color: #555; width: 40%; }
svg { max-width: 100%; height: auto; }
@media print { body { font-size: 11pt; margin: 0; max-width: none; } h2 { break-after: avoid; } tr, svg, li { break-inside: avoid; } }
"""


def page(content: Mapping[str, Any]) -> bytes:
    """The page without its block of facts."""
    parts = [f'<p class="verdict{"" if content["holds"] else " broken"}">{escape(verdict(content))}</p>\n']
    for section in sections(content):
        parts.append(f"<h2>{escape(section.title)}</h2>\n")
        parts += map(_block, section.blocks)
    return web_page(title(content), parts, _STYLE)


def page_with(text: bytes, content: Mapping[str, Any]) -> bytes:
    """A page with its facts before its end."""
    facts = json.dumps(content)  # ASCII: no character of any name can be taken for another
    for mark in "<>&":
        facts = facts.replace(mark, f"\\u{ord(mark):04x}")
    cut = text.rindex(b"</body>")
    return text[:cut] + _OPEN + facts.encode() + _CLOSE + text[cut:]


def split_page(data: bytes, name: str) -> tuple[bytes, bytes]:
    """(the page without its facts, its facts): what `page_with` put together."""
    before, opened, rest = data.partition(_OPEN)
    facts, closed, after = rest.partition(_CLOSE)
    if not opened or not closed or _OPEN in after:
        raise InputError(f"{name}: this page carries no certificate, or more than one; give the file that shoal wrote")
    return before + after, facts


def _block(block: Block) -> str:
    match block:
        case Text(text):
            return f"<p>{escape(text)}</p>\n"
        case Points(points):
            return html_list(points)
        case Plot(svg):
            return f"<p>{svg}</p>\n"
        case Table(rows, header):
            return html_table(header, rows) if header else html_facts(rows)
