"""Web pages: one file each that asks nothing of the network and runs nothing, for screens, light and dark, and for print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --line: #ccc; --soft: #666; --bad: #a03a0a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181a; --line: #444; --soft: #aaa; --bad: #f0936a; } }
body { font: 16px/1.5 Georgia, "Times New Roman", serif; color: var(--ink); background: var(--paper); }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
table { border-collapse: collapse; margin: .75rem 0; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; font-size: .85rem; font-variant-numeric: tabular-nums; }
.n { text-align: right; } .word { font-weight: bold; white-space: nowrap; } .soft { color: var(--soft); }
tr.failed td { color: var(--bad); } tr.front td:first-child { font-weight: bold; }
.plots { display: flex; flex-wrap: wrap; gap: .5rem 1rem; } .plots svg { width: 32rem; max-width: 100%; height: auto; }
pre { font-size: .8rem; overflow-x: auto; border-left: 3px solid var(--line); padding-left: .8rem; }
@media print { body { font-size: 10pt; margin: 0; max-width: none; } h2, h3 { break-after: avoid; } tr, svg { break-inside: avoid; } }
"""


def web_page(title: str, parts: Iterable[str], style: str = _STYLE) -> bytes:
    """A page from parts that are HTML already."""
    heading = escape(title)
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n',
        f"<title>{heading}</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n",
    )
    return "".join((*head, *parts, "</body>\n</html>\n")).encode()


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], classes: Sequence[str] = (), marks: Iterable[str] = ()
) -> str:
    """A table of texts. Columns may have classes, and rows marks, which are their classes."""

    def cells(tag: str, texts: Sequence[str], more: str = "") -> str:
        pairs = zip_longest(texts, classes, fillvalue="")
        return "".join(f"<{tag}{more}{_class(kind)}>{escape(text)}</{tag}>" for text, kind in pairs)

    body = "".join(
        f"<tr{_class(mark)}>{cells('td', row)}</tr>\n" for row, mark in zip_longest(rows, marks, fillvalue="")
    )
    top = cells("th", head, ' scope="col"')
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def html_facts(rows: Iterable[Sequence[str]]) -> str:
    """A table without a head, whose rows are named by their first cells."""
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>\n'
        for name, *cells in rows
    )
    return f"<table>\n<tbody>\n{body}</tbody>\n</table>\n"


def html_list(texts: Iterable[str]) -> str:
    """A list of texts."""
    return "<ul>\n" + "".join(f"<li>{escape(text)}</li>\n" for text in texts) + "</ul>\n"


def html_plots(charts: Iterable[str]) -> str:
    """Charts side by side."""
    return '<div class="plots">\n' + "\n".join(charts) + "\n</div>\n"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
