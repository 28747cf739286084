"""The certificate as a page and as a PDF: the same facts, in words, whatever the names in them are; and the risk before."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from certificate_cases import CASES, provoking_folder, released
from shoal import Baskets, InputError, KmAnonymity
from shoal.certificate.document import read_certificate
from shoal.certificate.page import page, page_with, split_page
from shoal.certificate.pdf import attached_facts, typeset
from shoal.certificate.sections import plain_text, sections
from shoal.drawing.bars import Bar, bars
from shoal.evaluation import raw_risk
from shoal.evaluation.raw_risk import affordable
from shoal.records.source import Reading, load, load_records

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><b>&amp;",
    '#import "x.typ"; $x$ *bold* _it_ @ref // \\ `raw` [x](y)',
    '<script type="application/json" id="shoal-certificate">{}</script>',
    "</title></svg></style>",
    "tab\tnew\nline\x00\x1b[31m‮abc\u2028",
    "{{ 7 * 7 }}",
    "名前 שם",
)


class Reader(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text, self.inside = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside.append(tag)
        self.links += [v for a, v in attributes if a in ("src", "href", "xlink:href", "action", "data", "style")]
        assert not [a for a, _ in attributes if a.startswith("on")]

    def handle_endtag(self, tag):
        self.inside = self.inside[:-1] if self.inside and self.inside[-1] == tag else self.inside

    def handle_data(self, data):
        if not self.inside or self.inside[-1] not in ("script", "style"):
            self.text.append(data)


def read_page(data: bytes) -> Reader:
    reader = Reader()
    reader.feed(data.decode())
    reader.close()
    return reader


def hostile_content(content):
    """A certificate in which every name is an attack."""
    made = json.loads(json.dumps(content))
    made["output"]["file"] = HOSTILE[0]
    made["output"]["columns"] = dict.fromkeys(HOSTILE, "quasi")
    made["ncp_by_column"] = dict.fromkeys(HOSTILE, 0.5)
    made["rounded_to"] = {"ncp_by_column": dict.fromkeys(HOSTILE[:3], 0.1)}
    made["withheld"] = {"ncp_by_column": list(HOSTILE)}
    made["hierarchy"] = {name: {"source": name} for name in HOSTILE}
    made["warnings"] = list(HOSTILE)
    made["parameters"] = {name: name for name in HOSTILE}
    return made


@pytest.fixture
def content(tmp_path):
    _, certificate = released(provoking_folder(tmp_path), "km hybrid", "certificate.json")
    return json.loads(certificate.read_text())


@pytest.mark.parametrize("name", CASES)
def test_page_asks_nothing_of_the_network_and_runs_nothing(tmp_path, name):
    _, certificate = released(provoking_folder(tmp_path), name, "certificate.html")
    data = certificate.read_bytes()
    reader = read_page(data)
    assert reader.links == []
    assert reader.tags.count("script") == 1
    assert not {"link", "iframe", "img", "object", "embed", "form", "base"} & set(reader.tags)
    assert not re.search(rb"url\(|@import|javascript:", data)
    assert re.findall(rb"https?://[^\s\"'<]*", data) == [b"http://www.w3.org/2000/svg"] * reader.tags.count("svg")
    assert b"default-src 'none'" in data


@pytest.mark.parametrize("name", CASES)
def test_all_forms_hold_the_same_facts(tmp_path, name):
    folder = provoking_folder(tmp_path)
    case = CASES[name]
    found = {}
    for form in ("json", "html", "pdf"):
        _, certificate = released(folder, name, f"certificate.{form}", force=True)
        facts = dict(read_certificate(certificate).content)
        facts.pop("page", None)
        facts["versions"].pop("typst", None)
        facts["output"].pop("sha256")  # rows are shuffled anew
        found[form] = facts
    assert found["json"]["guarantee"]["model"] == case.guarantee.model
    same = {name: found["json"][name] for name in found["json"] if name not in ("loss", "buckets", "audit")}
    for form in ("html", "pdf"):
        assert {name: found[form][name] for name in same} == same


def test_page_says_what_the_facts_say(content):
    text = " ".join(read_page(page(content)).text)
    for sentence in (*content["promised"], *content["not_promised"], *content["warnings"]):
        assert sentence in text
    for fact in (
        content["output"]["sha256"],
        content["input"]["hmac_sha256"],
        content["algorithm"],
        content["created"],
    ):
        assert fact in text
    assert f"{content['audit']['checked']:,} cases" in text
    assert f"{content['loss']['ncp']:.2%}" in text
    assert "Not said" in text
    assert "not signed" in text


def test_hostile_names_stand_in_a_page_as_text(content):
    facts = hostile_content(content)
    data = page_with(page(facts), facts)
    reader = read_page(data)
    assert reader.tags.count("script") == 1
    assert not {"img", "b"} & set(reader.tags)
    assert reader.links == []
    assert plain_text(HOSTILE[0]) in " ".join(reader.text)
    text, inner = split_page(data, "page")
    assert text == page(facts)
    assert json.loads(inner) == facts
    assert "\x1b" not in data.decode()
    assert "‮" not in data.decode()


def test_hostile_names_stand_in_a_pdf_as_text(content):
    facts = hostile_content(content)
    data = typeset(facts)
    assert json.loads(attached_facts(data, "pdf")) == facts
    assert typeset(facts) == data


@settings(max_examples=40)
@given(name=st.text(max_size=60))
def test_any_name_can_stand_in_all_forms(name):
    facts = {"certificate": "x", "output": {"file": name, "sha256": "0", "rows": 1, "columns": {name: "quasi"}}}
    facts |= {"promised": [name], "not_promised": [], "warnings": [], "guarantee": {"model": "k", "name": name, "k": 2}}
    facts |= {"holds": True, "row_order": name, "audit": {"looked_at": "x", "checked": 1, "violations": 0}}
    facts |= {"loss": {name: 0.5}, "algorithm": name, "parameters": {name: name}, "versions": {}, "created": "x"}
    data = page_with(page(facts), facts)
    assert json.loads(split_page(data, "page")[1]) == facts
    assert json.loads(attached_facts(typeset(facts), "pdf")) == facts


def test_long_names_fit_a_page(content):
    content["output"]["columns"] = {"x" * 5000: "quasi"}
    assert attached_facts(typeset(content), "pdf")
    assert "x" * 5000 in " ".join(read_page(page(content)).text)
    assert "…" in bars([Bar("x" * 5000, 0.5, "50%")], "title")


def test_bars_stay_inside_their_plot():
    svg = bars([Bar("a", -1, ""), Bar("b", 7, "")], "<title>")
    assert {float(width) for width in re.findall(r'width="([\d.]+)" height="16"', svg)} == {0.0, 320.0}
    assert "&lt;title&gt;" in svg


def test_without_typst_one_sentence_says_what_to_install(tmp_path, monkeypatch, content):
    monkeypatch.setattr("shoal.certificate.document.find_spec", lambda name: None)
    release = shoal.anonymize(Baskets.from_rows([["a"]] * 5), KmAnonymity(2, 1))
    with pytest.raises(InputError, match=r"pip install 'shoal\[report\]'"):
        release.write(tmp_path / "out.csv", certificate=tmp_path / "c.pdf")
    assert not list(tmp_path.glob("*.csv"))
    monkeypatch.setitem(__import__("sys").modules, "typst", None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[report\]'"):
        typeset(content)


def test_a_certificate_of_another_kind_is_refused(tmp_path):
    release = shoal.anonymize(Baskets.from_rows([["a"]] * 5), KmAnonymity(2, 1))
    with pytest.raises(InputError, match=r"end in \.json, \.html or \.pdf"):
        release.write(tmp_path / "out.csv", certificate=tmp_path / "c.docx")


def naive_risk(rows, k, m):
    """Rows that up to m of their items narrow down to fewer than k, and to one."""
    sets = [[set(known) for size in range(1, m + 1) for known in combinations(sorted(row), size)] for row in rows]
    crowds = [min([sum(known <= set(row) for row in rows) for known in each], default=k) for each in sets]
    return sum(crowd < k for crowd in crowds), sum(crowd < min(k, 2) for crowd in crowds)


@settings(max_examples=60)
@given(
    rows=st.lists(st.sets(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=14),
    k=st.integers(1, 4),
    m=st.integers(1, 3),
)
def test_risk_before_is_that_of_the_naive_count(rows, k, m):
    source = load(Baskets.from_rows([sorted(row) for row in rows]), Reading())
    found = raw_risk.raw_risk(source, KmAnonymity(k, m))
    assert [(e.few, e.single) for e in found] == [
        naive_risk(rows, k, known) for known in range(1, min(m, max(map(len, rows))) + 1)
    ]


def test_risk_before_of_tables_counts_equal_rows(tmp_path):
    (tmp_path / "t.csv").write_text(
        "age,sex,items,illness\n"
        + "30,f,a|b,flu\n" * 3
        + "30,f,a|c,flu\n"
        + "40,m,a,cold\n"
        + "50,f,b,flu\n" * 2
        + "50,f,b,cold\n"
    )
    read = load_records(tmp_path / "t.csv", quasi="age,sex", items="items", keep="illness")
    found = raw_risk.raw_risk(read, shoal.RTAnonymity(3, 2))
    assert [(e.few, e.single) for e in found] == [(1, 1), (2, 2), (2, 2)]
    table = load_records(tmp_path / "t.csv", quasi="age,sex", sensitive="illness", drop="items")
    (found,) = raw_risk.raw_risk(table, shoal.TableAnonymity(4))
    assert (found.few, found.single) == (4, 1)
    (found,) = raw_risk.raw_risk(table, shoal.MatchingDiversity(2))
    assert (found.few, found.single) == (5, None)
    sets = load(Baskets.from_rows([["a"]] * 3 + [["b"]] + [["b", "s"]]), Reading())
    (found,) = raw_risk.raw_risk(sets, shoal.KAnonymity(3, sensitive=["s"]))
    assert (found.few, found.single) == (2, 0)


def test_risk_before_counts_no_more_than_takes_a_moment(monkeypatch):
    import numpy as np

    assert affordable(np.full(100_000, 10), 2) == 2
    assert affordable(np.full(1_000_000, 10), 3) == 1
    assert affordable(np.full(10, 100_000), 9) == 1
    assert affordable(np.array([3]), 9) == 3  # nobody has more to be known by
    monkeypatch.setattr(raw_risk, "SUBSETS", 1)
    source = load(Baskets.from_rows([["a", "b"]] * 5 + [["a", "c"]]), Reading())
    assert [e.knows for e in raw_risk.raw_risk(source, KmAnonymity(2, 2))] == ["one item"]


def test_certificate_has_the_risk_before_in_steps_and_the_risk_after(tmp_path):
    rows = [["a", "b"]] * 500 + [["a", "c"]] * 2 + [[f"x{i}"] for i in range(100)]
    shoal.anonymize(Baskets.from_rows(rows), KmAnonymity(3, 2)).write(tmp_path / "out.csv")
    content = json.loads((tmp_path / "out.csv.certificate.json").read_text())
    assert content["risk"] == {
        "rows": 602,
        "before": [
            {"knows": "one item", "fewer_than_k": 0.1, "singled_out": 0.1},
            {"knows": "up to 2 items", "fewer_than_k": 0.1, "singled_out": 0.1},
        ],
        "after": {"fewer_than_k": 0, "singled_out": 0},
        "in_steps_of": 0.1,
    }


def test_certificate_of_little_data_does_not_state_the_risk_before(tmp_path):
    release = shoal.anonymize(Baskets.from_rows([["a", "b"]] * 5 + [["a", "c"]]), KmAnonymity(3, 2))
    release.write(tmp_path / "out.csv", tmp_path / "c.html")
    content = read_certificate(tmp_path / "c.html").content
    assert content["risk"] == {"rows": 6, "before": [], "after": {"fewer_than_k": 0, "singled_out": 0}}
    assert "What the original gave away is not said" in " ".join(read_page(page(content)).text)


def test_sections_leave_out_what_is_not_said(content):
    for name in ("risk", "changes", "hierarchy"):
        del content[name]
    content["warnings"] = []
    titles = [section.title for section in sections(content)]
    assert "What to keep in mind" not in titles
    assert "What an attacker learns, before and after" not in titles
    assert "What was changed" not in titles
