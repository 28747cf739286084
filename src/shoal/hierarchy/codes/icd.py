"""ICD-10-CM and ICD-9-CM, from the lists of CDC and CMS.

Both files list codes without dots and in order. What begins a code stands above it; above categories are chapters, whose borders are part
of the classification, and, where the tabular list says so, blocks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from xml.etree import ElementTree

from shoal.errors import InputError, number_of
from shoal.hierarchy.codes.code_files import lines_of, name_of, only_file, text_of
from shoal.hierarchy.codes.vocabulary import Vocabulary


def _borders(text: str) -> list[str]:
    """Ranges of categories, from the first to the last, in order."""
    return text.split()


CHAPTERS_10 = _borders(
    "A00-B99 C00-D49 D50-D89 E00-E89 F01-F99 G00-G99 H00-H59 H60-H95 I00-I99 J00-J99 K00-K95 L00-L99 M00-M99 N00-N99 O00-O9A "
    "P00-P96 Q00-Q99 R00-R99 S00-T88 U00-U85 V00-Y99 Z00-Z99"
)
CHAPTERS_9 = _borders(
    "001-139 140-239 240-279 280-289 290-319 320-389 390-459 460-519 520-579 580-629 630-679 680-709 710-739 740-759 760-779 "
    "780-799 800-999 E000-E999 V01-V91"
)
BLOCKS_9 = _borders(
    "001-009 010-018 020-027 030-041 042-042 045-049 050-059 060-066 070-079 080-088 090-099 100-104 110-118 120-129 130-136 137-139 "
    "140-149 150-159 160-165 170-176 179-189 190-199 200-209 210-229 230-234 235-238 239-239 240-246 249-259 260-269 270-279 280-289 "
    "290-294 295-299 300-316 317-319 320-327 330-337 338-338 339-339 340-349 350-359 360-379 380-389 390-392 393-398 401-405 410-414 "
    "415-417 420-429 430-438 440-449 451-459 460-466 470-478 480-488 490-496 500-508 510-519 520-529 530-539 540-543 550-553 555-558 "
    "560-569 570-579 580-589 590-599 600-608 610-612 614-616 617-629 630-639 640-649 650-659 660-669 670-677 678-679 680-686 690-698 "
    "700-709 710-719 720-724 725-729 730-739 740-759 760-763 764-779 780-789 790-796 797-799 800-804 805-809 810-819 820-829 830-839 "
    "840-848 850-854 860-869 870-879 880-887 890-897 900-904 905-909 910-919 920-924 925-929 930-939 940-949 950-957 958-959 960-979 "
    "980-989 990-995 996-999 E000-E000 E001-E030 E800-E807 E810-E819 E820-E825 E826-E829 E830-E838 E840-E845 E846-E849 E850-E858 "
    "E860-E869 E870-E876 E878-E879 E880-E888 E890-E899 E900-E909 E910-E915 E916-E928 E929-E929 E930-E949 E950-E959 E960-E969 "
    "E970-E979 E980-E989 E990-E999 V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V82 V83-V84 V85-V85 V86-V86 V87-V87 "
    "V88-V88 V89-V89 V90-V90 V91-V91"
)
"""Of the tabular list, which comes as a text for word processors only."""
COUNTS_10 = {2019: 71_932, 2020: 72_184, 2021: 72_616, 2024: 74_044}
"""Codes to be used, by fiscal year, as published."""
COUNT_9 = 14_567
"""Of version 32, the last."""

_ORDER = re.compile(r"(\d{5}) ([A-Z][0-9A-Z]{2,6}) +([01]) ")
_LIST_9 = re.compile(r"(E\d{3,4}|V\d{2,4}|\d{3,5})\s+\S")


def read_icd10cm(paths: Sequence[str], wanted: Collection[str] | None = None) -> Vocabulary:
    """From the order file, or from the tabular list, which has the blocks between chapters and categories as well."""
    path = only_file(paths, "ICD-10-CM")
    text = text_of(path)
    if text.lstrip()[:1] == "<":
        parent, groups, notes = _tabular(text, name_of(path))
    else:
        parent, groups, notes = _ordered(text, name_of(path))
    return Vocabulary(
        "icd10cm", "ICD-10-CM", name_of(path), parent, spell_icd10, groups, by_prefix=True, notes=tuple(notes)
    )


def read_icd9cm(paths: Sequence[str], wanted: Collection[str] | None = None) -> Vocabulary:
    """From the list of diagnoses, which has no categories of its own: they are what several codes begin with."""
    path = only_file(paths, "ICD-9-CM")
    name = name_of(path)
    codes = set()
    for number, line in enumerate(lines_of(text_of(path)), 1):
        if not line.strip():
            continue
        found = _LIST_9.match(line)
        if found is None:
            raise InputError(
                f"{name}, line {number}: it does not begin with a code and its title; is it CMS32_DESC_LONG_DX.txt?"
            )
        codes.add(spell_icd9(found[1]))
    parent: dict[str, str] = {}
    for code in sorted(codes):
        category = 4 if code[0] == "E" else 3
        dotless = code.replace(".", "")
        way = [_dotted(dotless[:length], category) for length in range(len(dotless), category - 1, -1)]
        groups = [_chapter(way[-1], borders, name) for borders in (BLOCKS_9, CHAPTERS_9)]
        _hang(parent, [*way, *dict.fromkeys(groups)])
    notes = []
    if len(codes) != COUNT_9:
        notes.append(f"it has {len(codes):,} codes; version 32 has {COUNT_9:,}")
    return Vocabulary(
        "icd9cm",
        "ICD-9-CM",
        name,
        parent,
        spell_icd9,
        frozenset(CHAPTERS_9 + BLOCKS_9),
        by_prefix=True,
        notes=tuple(notes),
    )


def spell_icd10(value: str) -> str:
    """`e119`, `E11.9` and ` E11.9 ` as E11.9."""
    return _dotted(value.strip().upper().replace(".", ""), 3)


def spell_icd9(value: str) -> str:
    """`2500`, `250.0` and ` 250.0` as 250.0; `8` and `8.1`, whose zeros got lost, as 008 and 008.1."""
    value = value.strip().upper()
    whole, dot, part = value.partition(".")
    if whole.isdecimal() and whole.isascii() and (dot or len(whole) < 3):
        whole = whole.zfill(3)
    return _dotted(whole + part, 4 if value[:1] == "E" else 3)


def _dotted(code: str, category: int) -> str:
    return code if len(code) <= category else f"{code[:category]}.{code[category:]}"


def _chapter(category: str, chapters: Sequence[str], name: str) -> str:
    at = bisect_right([chapter.partition("-")[0] for chapter in chapters], category) - 1
    last = chapters[at].partition("-")[2]
    if at < 0 or (category > last and category[0] != last[0]):  # new categories go on behind the last: QA0
        raise InputError(f"{name}: it has a category that no chapter holds; is it the file of another classification?")
    return chapters[at]


def _hang(parent: dict[str, str], way: Sequence[str]) -> None:
    """Each of these below the next."""
    for code, above in zip(way, [*way[1:], ""], strict=True):
        parent.setdefault(code, above)


def _ordered(text: str, name: str) -> tuple[dict[str, str], frozenset[str], list[str]]:
    codes: set[str] = set()
    used = expected = 0
    gaps = 0
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue
        found = _ORDER.match(line)
        if found is None:
            raise InputError(
                f"{name}, line {number}: it is not a line of an order file (number, code, 0 or 1, title); is it icd10cm_order_YEAR.txt?"
            )
        gaps += bool(expected) and int(found[1]) != expected + 1
        expected = int(found[1])
        used += found[3] == "1"
        codes.add(found[2])
    if not codes:
        raise InputError(f"{name}: it holds no codes; is it icd10cm_order_YEAR.txt?")
    parent: dict[str, str] = {}
    for code in sorted(codes):
        # Codes of six or seven characters may stand below a shorter one that is not listed.
        above = next((code[:n] for n in range(len(code) - 1, 2, -1) if code[:n] in codes), "")
        above = _dotted(above, 3) if above else _chapter(code[:3], CHAPTERS_10, name)
        _hang(parent, [_dotted(code, 3), above])
    notes = [_published(used)]
    if gaps:
        notes.append(f"its running numbers have {number_of(gaps, 'gap')}; lines are missing")
    if missing := [chapter for chapter in CHAPTERS_10 if chapter not in parent]:
        notes.append(f"{len(missing)} of 22 chapters have no code; the file may be cut off")
    return parent, frozenset(CHAPTERS_10), notes


def _published(used: int) -> str:
    year = next((year for year, count in COUNTS_10.items() if count == used), None)
    return f"it has {used:,} codes to be used" + (f", as published for {year}" if year else "")


def _tabular(text: str, name: str) -> tuple[dict[str, str], frozenset[str], list[str]]:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{name}: it declares entities, which the tabular list does not; fetch it again")
    try:
        top = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"{name}: line {error.position[0]} is not XML; fetch it again") from None
    parent: dict[str, str] = {}
    groups: set[str] = set()
    used = 0
    for section in top.iter("section"):
        block = (section.get("id") or "").strip()
        for category in section.findall("diag"):
            code = (category.findtext("name") or "").strip()
            chapter = _chapter(code[:3], CHAPTERS_10, name)
            way = [block, chapter] if block and block not in (code, chapter) else [chapter]
            groups.update(way)
            _hang(parent, way)
            stack = [(category, way[0])]
            while stack:
                node, above = stack.pop()
                code = (node.findtext("name") or "").strip()
                if not code:
                    raise InputError(f"{name}: a diagnosis has no name; fetch it again")
                parent.setdefault(code, above)
                inner = node.findall("diag")
                used += not inner
                stack += [(one, code) for one in inner]
    if not parent:
        raise InputError(f"{name}: it holds no diagnoses; is it icd10cm_tabular_YEAR.xml?")
    notes = [
        f"it has {used:,} codes without others below; those with a seventh character stand below them by their beginning"
    ]
    return parent, frozenset(groups), notes
