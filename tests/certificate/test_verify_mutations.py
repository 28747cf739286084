"""verify, of certificates that were changed anywhere: it says no, or names the changed place as one that it did not check."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from certificate_cases import CASES, provoking_folder, released, verifying
from shoal import InputError, release
from shoal.certificate import verification as room
from shoal.certificate.document import certificate_file, certificate_in
from shoal.certificate.facts import certificate_bytes
from shoal.certificate.page import page, page_with

GONE = object()


def places(content, above=()):
    """Every place with something in it, parts as well as plain values."""
    if above:
        yield above
    named = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in named:
        yield from places(value, (*above, name))


def at(content, place):
    for step in place:
        content = content[step]
    return content


def otherwise(value):
    """Other values for a place: of the same kind, of one that Python takes for equal, and of none that belongs there."""
    found = [GONE, None, {"zq": 1}]
    if isinstance(value, bool):
        return [*found, not value, int(value)]
    if isinstance(value, int):
        return [*found, value + 1, value - 1, float(value), bool(value), 10**30]
    if isinstance(value, float):
        return [*found, value + 0.25, str(value)]
    if isinstance(value, str):
        return [*found, value.replace("a", "\u0430"), "\u202e" + value, [value]]
    if isinstance(value, dict):
        return [*found, {}, value | {"zq": "harmless"}, value | {"knowledge": {"rules": 1}}]
    return [*found, [*value, "zq"], value[1:]] if value is not None else [*found, False, "zq"]


def same(one, other):
    return json.dumps(one) == json.dumps(other)


def mutants(content):
    """(place, certificate with something else there), one change at a time."""
    for place in places(content):
        for value in otherwise(at(content, place)):
            other = copy.deepcopy(content)
            part = at(other, place[:-1])
            if value is GONE:
                del part[place[-1]]
            else:
                part[place[-1]] = value
            if not same(other, content):
                yield place, other
    yield ("zq",), {**content, "zq": "All is well."}


def is_named(found, place):
    steps = tuple(map(str, place))
    named = [tuple(name.split(".")) for part in found.not_checked for name in part.places]
    return any(steps[: len(name)] == name for name in named)


def blind_spots(found_in, content, changed=mutants):
    """Places that can be changed without that being said; `found_in` verifies a certificate, which raises if it is none."""
    unseen = []
    for place, other in changed(content):
        try:
            found = found_in(other)
        except InputError:
            continue
        if not any(check.holds is False for check in found.checks) and not is_named(found, place):
            unseen.append((place, at(other, place) if place[-1] in at_or_none(other, place[:-1]) else "gone"))
    return unseen


def at_or_none(content, place):
    part = at(content, place)
    return part if isinstance(part, dict) else range(len(part))


@pytest.fixture
def remembering(monkeypatch):
    """An audit of the same file in the same reading is made once: what is tested is what is made of it."""
    answers, real = {}, room.verification

    def verification(certificate, subject, **how):
        def remembered(guarantee, reading, by_rows):
            asked = (str(subject.path), repr(guarantee), repr(sorted(reading.items(), key=str)), by_rows)
            if asked not in answers:
                try:
                    answers[asked] = subject.audit(guarantee, reading, by_rows)
                except InputError as error:
                    answers[asked] = error
            if isinstance(answers[asked], InputError):
                raise answers[asked]
            return answers[asked]

        return real(certificate, replace(subject, audit=remembered), **how)

    monkeypatch.setattr(room, "verification", verification)


@pytest.mark.parametrize("name", CASES)
def test_no_place_of_a_certificate_can_be_changed_unnoticed(tmp_path, remembering, name):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, name, "certificate.json")
    how = verifying(folder, name)
    content = json.loads(certificate.read_text())

    def as_json(other):
        return release.verify(certificate_in(certificate_bytes(other), "c.json"), public, **how)

    assert as_json(content).holds
    assert blind_spots(as_json, content) == []


@pytest.mark.parametrize("name", ["km exact", "lm with items", "injector"])
def test_no_place_within_a_page_can_be_changed_unnoticed(tmp_path, remembering, name):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, name, "certificate.html")
    how = verifying(folder, name)
    found = certificate_in(certificate.read_bytes(), "c.html")

    def forged(other):
        """The page is made for the changed facts, and its hash with it, as a forger would."""
        facts = {part: value for part, value in other.items() if part != "page"}
        try:
            data = certificate_file(facts, "c.html")
        except Exception:  # facts that cannot be shown: the page stays as it was
            data = page_with(page(found.content), other)
        return release.verify(certificate_in(data, "c.html"), public, **how)

    content = {part: value for part, value in found.content.items() if part != "page"}
    assert forged(content).holds
    assert blind_spots(forged, content) == []

    def facts_alone(other):
        return release.verify(certificate_in(page_with(page(found.content), other), "c.html"), public, **how)

    assert blind_spots(facts_alone, dict(found.content)) == []


def test_no_place_within_a_pdf_can_be_changed_unnoticed(tmp_path, remembering, monkeypatch):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, "table diverse", "certificate.pdf")
    how = verifying(folder, "table diverse")
    content = dict(certificate_in(certificate.read_bytes(), "c.pdf").content)
    # Setting takes a tenth of a second: a PDF that is nothing but its attachment stands for it.
    monkeypatch.setattr("shoal.certificate.pdf.typeset", pdf_of)

    def forged(other):
        return release.verify(certificate_in(pdf_of(other), "c.pdf"), public, **how)

    assert forged(content).holds
    assert blind_spots(forged, content) == []


def pdf_of(content):
    facts = certificate_bytes(content)
    return b"%%PDF-1.7 <</Length %d/Type/EmbeddedFile>>\nstream\n" % len(facts) + facts
