"""No certificate, in any form, of any model, names what is rare, sensitive or a person's; the data is made to provoke it."""

from __future__ import annotations

import getpass
import html
import json
import platform
import re
import zlib

import pytest

from certificate_cases import CASES, PERSON, RARE, SENSITIVE, provoking_folder, released
from shoal.certificate.document import read_certificate
from shoal.certificate.sections import sections


def streams(pdf: bytes) -> list[bytes]:
    """All that is packed inside a PDF."""
    found = []
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompress(part))
        except zlib.error:
            found.append(part)
    return found


@pytest.mark.parametrize("name", CASES)
def test_no_certificate_names_what_is_rare_sensitive_or_a_person(tmp_path, name):
    folder = provoking_folder(tmp_path)
    for form in ("json", "html", "pdf"):
        _, certificate = released(folder, name, f"certificate.{form}", force=True)
        data = certificate.read_bytes()
        content = read_certificate(certificate).content
        told = [json.dumps(content, ensure_ascii=False), str(sections(content))]
        for text in told:
            assert f'"{platform.node()}"' not in text
            assert f'"{getpass.getuser()}"' not in text
        told.append(html.unescape(data.decode("latin-1")))
        told += [stream.decode("latin-1") for stream in streams(data)] if form == "pdf" else []
        # To km and k without --sensitive, the drugs are items like others.
        marks = (RARE, PERSON, str(tmp_path)) + (() if name.startswith("km") or name == "k" else (SENSITIVE,))
        assert not [
            re.findall(f".{{0,30}}{re.escape(mark)}.{{0,30}}", text) for text in told for mark in marks if mark in text
        ]


@pytest.mark.parametrize("name", CASES)
def test_every_name_in_a_certificate_is_published_often_enough(tmp_path, name):
    """What does occur: the columns, and published items that at least k rows hold."""
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, name, "certificate.json")
    named = set(json.loads(certificate.read_text()).get("deleted_shares", {}))
    if named:
        rows = [line.split() for line in public.read_text().splitlines()]
        assert all(sum(token in row for row in rows) >= CASES[name].guarantee.k for token in named)


def test_a_pdf_tells_no_time_of_day_and_no_maker_but_typst(tmp_path):
    _, certificate = released(provoking_folder(tmp_path), "km exact", "certificate.pdf")
    data = certificate.read_bytes()
    told = b"\n".join([data, *streams(data)])
    assert not re.search(rb"/(CreationDate|ModDate|Author)|xmp:CreateDate|xmp:ModifyDate|dc:creator|D:20\d\d", told)
    assert not re.search(rb"\d\d:\d\d:\d\d", told)


def test_item_weights_are_counted_not_named(tmp_path):
    import shoal

    folder = provoking_folder(tmp_path)
    release = shoal.anonymize(
        folder / "people.csv",
        shoal.RTAnonymity(4, 1),
        quasi="age,town,job",
        drop="name,illness",
        items="items",
        item_weights={"zqrareitem0zq": 0.5},
    )
    release.write(folder / "out.csv")
    text = (folder / "out.csv.certificate.json").read_text()
    assert RARE not in text
    assert json.loads(text)["parameters"]["item_weights"] == {"items": 1}
