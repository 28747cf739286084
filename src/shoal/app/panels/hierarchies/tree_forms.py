"""Where a tree may come from, and what each way means, in words for a page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.app.panels.hierarchies.tree_values import Need
from shoal.hierarchy.kinds.dates import date_order
from shoal.hierarchy.kinds.recognition import recognise
from shoal.hierarchy.kinds.stretches import WORD, asks_ranges
from shoal.hierarchy.spec import Values, is_made

GLANCE = 500
"""Values that are looked at to see whether they are dates."""


@dataclass(frozen=True)
class Form:
    """A way to a tree."""

    name: str
    title: str
    meaning: str
    asks: str = ""
    """What its parameter is called; empty where it has none."""
    usual: str = ""
    """The parameter unless another is given."""

    @property
    def spec(self) -> str | None:
        return None if self.name in ("none", "file") else f"{self.name}:{self.usual}" if self.asks else self.name


FILE = Form(
    "file",
    "A tree of your own, from a file",
    "Categories that people know make the most readable release. Files of ARX and Amnesia, lists of parent and child, and nested JSON "
    "are read.",
)
_FREQUENCY = Form(
    "frequency",
    "Built: about equally frequent together",
    "Values are ordered by how often they occur, and neighbours are put together, again and again up to the top. Groups have no meaning "
    "(“rank[6:10]”), but it works for any data.",
    "How many in a group",
    "5",
)
_BALANCED = Form(
    "balanced",
    "Built: neighbours by name together",
    "Values are ordered, and neighbours are put together, again and again up to the top. Groups of numbers and dates are called by ranges, "
    "of others by places (“town[4:6]”). Good where the order means something, as with shelf numbers.",
    "How many in a group",
    "5",
)
_NAMED = Form(
    "named",
    "Built: neighbours by name together, called by their first and last",
    "As above, and a group is called “Aachen..Bonn”. These two values are published even if only one row holds them: for values that "
    "everybody may know to occur.",
    "How many in a group",
    "5",
)
_LEARNED = Form(
    "learned",
    "Learned from the data",
    "Items are put together so that the promise costs little for these data. Groups have no meaning (“learned[6:10]”). It takes a while.",
    "How many in a group at most",
    "5",
)
_PREFIX = Form(
    "prefix",
    "Built: codes by their first characters",
    "For codes in which the beginning says what kind of thing it is: 250.01 is under 250.0*, which is under 250*.",
)
_MASK = Form(
    "mask",
    "Built: the last characters hidden one by one",
    "For postcodes and the like: 4711 becomes 471*, then 47**, then 4***.",
)
_INTERVALS = Form(
    "intervals",
    "Built: numbers in intervals",
    "Numbers go into intervals of the first width, those into intervals of the second, and so on. Each width divides the next.",
    "Widths, with commas between them",
    "5,10,20",
)
_BANDS = Form(
    "bands",
    "Built: numbers in bands",
    "Numbers go into bands of one width, which join with their neighbours: [50-60), then [40-60). Or between borders: 0,18,65.",
    "Width, or borders",
    "10",
)
_ROUND = Form(
    "round",
    "Built: rounded numbers",
    "Numbers are published rounded to multiples, never more exactly.",
    "To multiples of",
    "5",
)
_TOP = Form("top", "Built: top coding", "All numbers from this one on are published alike.", "From", "90")
_BOTTOM = Form("bottom", "Built: bottom coding", "All numbers up to this one are published alike.", "Up to", "18")
_ORDERED = Form(
    "bands", "Built: bands that stand in the data", "Bands such as 50-59, <18 or 65+ join with their neighbours."
)
_DATE_RANGES = Form(
    "dates:ranges",
    "Built: dates in ranges that fit",
    "A class is published from its first to its last day, 2024-03-01..2024-04-15, or as a month or year where it is just that.",
)
_BAND_RANGES = Form(
    "bands:ranges",
    "Built: bands in ranges that fit",
    "A class is published from its first to its last band: [50-60) and [60-70) become [50-70), wherever they stand.",
)
_DURATIONS = Form("durations", "Built: durations", "90 min, 3 days or P2W go into hours, days, weeks and more.")
_VALUES = Form("flat", "The value or nothing", "As without steps, also where something else is recognised.")
DATES = Form(
    "dates",
    "Built: days into months and years",
    "A day goes to its month, a month to its year: 05.02.2019 becomes 2019-02, then 2019.",
)
_SETS = Form(
    "none",
    "No tree: rare items in sets",
    "Without a tree, items that are rare together are published as a set, “one of these”. That often loses less than a tree.",
)
_RANGES = Form(
    "none",
    "No tree: ranges that fit the data",
    "Numbers are published as ranges whose bounds are found in the data, as the promise demands.",
)
_FLAT = Form(
    "none",
    "No steps: the value or nothing",
    "All values hang right under the top: a value is published as it is, or as *, which is any value.",
)


def forms_for(need: Need, values: Values) -> list[Form]:
    """The ways to a tree for a column, the likeliest first."""
    if need.is_items:
        none = [] if need.must_have else [_SETS]
        return [*none, FILE, _LEARNED, _FREQUENCY, _BALANCED, _PREFIX]
    if values.numeric:
        made = [_INTERVALS, _BANDS, _ROUND, _TOP, _BOTTOM, _BALANCED]
        return [_RANGES if need.model != "diversity" else _FLAT, *made, FILE, _MASK, _PREFIX, _VALUES]
    dates = [DATES, _DATE_RANGES] if date_order(values.names, GLANCE) is not None else []
    found = recognise(values.names[:GLANCE])
    what = found.what
    made = [form for form in (_DURATIONS, _ORDERED, _BAND_RANGES) if form.name.partition(":")[0] == what]
    return [
        _FLAT if found.spec is None else _as_recognised(what),
        *dates,
        *made,
        FILE,
        _MASK,
        _PREFIX,
        _BALANCED,
        _NAMED,
        _FREQUENCY,
        *([_VALUES] if what else []),
    ]


def _as_recognised(what: str) -> Form:
    """What becomes of values that are clearly of a kind, where no form is named."""
    meaning = f"No form is named: they are taken for the {what} that they look like, and become coarser as {what} do."
    return Form("none", f"As recognised: {what}", meaning)


def form_of(spec: str | None) -> tuple[str, str]:
    """(name of the form, parameter) of what a plan names."""
    if spec is None:
        return "none", ""
    if asks_ranges(spec):
        return f"{spec.partition(':')[0]}:{WORD}", ""
    if is_made(spec):
        name, _, parameter = spec.partition(":")
        return name, parameter
    return "file", spec


def spec_with(form: Form, parameter: str) -> str | None:
    """What the plan says for a form with a parameter: blanks do not count."""
    return form.spec if not form.asks else f"{form.name}:{re.sub(r'[^0-9.,]', '', parameter) or form.usual}"
