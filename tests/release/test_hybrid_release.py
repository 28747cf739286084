"""hybrid on its way through release, certificate and rules."""

from __future__ import annotations

import json

import numpy as np
import pytest

import shoal
from shoal.errors import InputError

RNG = np.random.default_rng(3)
ROWS = [sorted(map(str, set(RNG.zipf(1.6, RNG.integers(1, 7)).clip(1, 40).tolist()))) for _ in range(800)]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hybrid")
    release = shoal.anonymize(ROWS, shoal.KmAnonymity(5, 2), hierarchy="balanced:4", algorithm="hybrid")
    release.write(folder / "out.dat", rules=folder / "rules.csv")
    return folder, release, json.loads((folder / "out.dat.certificate.json").read_text())


def test_loss_has_its_two_parts_and_keeps_the_default_budget(released):
    _, release, _ = released
    assert release.loss["ncp"] == pytest.approx(release.loss["generalized"] + release.loss["deleted"])
    assert 0 < release.loss["deleted"] <= 0.05
    facts = release.to_dict()
    assert facts["algorithm"] == "hybrid"
    assert facts["parameters"]["suppress"] == 0.05
    assert facts["suppressed"]["share"] == release.loss["deleted"]


def test_owner_alone_learns_what_each_published_token_lost(released):
    folder, release, certificate = released
    published = {token for line in (folder / "out.dat").read_text().splitlines() for token in line.split()}
    assert release.deleted_shares
    assert set(release.deleted_shares) <= published
    assert all(0 < share < 1 for share in release.deleted_shares.values())
    assert "deleted_shares" not in certificate
    assert any("one by one" in warning for warning in certificate["warnings"])


def test_files_alone_give_the_reported_loss(released):
    folder, release, _ = released
    rules = dict(line.split(",") for line in (folder / "rules.csv").read_text().splitlines()[1:])
    kept = sum(release.published.lengths)
    assert kept <= sum(len({rules[item] for item in row} - {""}) for row in ROWS)
    assert shoal.audit(folder / "out.dat", shoal.KmAnonymity(5, 2)).holds


def test_exact_names_hybrid_where_it_loses_a_lot():
    release = shoal.anonymize(ROWS, shoal.KmAnonymity(5, 2), hierarchy="balanced:4", algorithm="exact")
    assert release.loss["ncp"] > 0.05
    assert any("algorithm='hybrid'" in note and "may lose far less" in note for note in release.notes)


def test_heuristics_of_the_paper_still_refuse_a_budget():
    with pytest.raises(InputError, match="local, exact and hybrid"):
        shoal.anonymize(ROWS, shoal.KmAnonymity(5, 2), algorithm="aa", suppress=0.1)
