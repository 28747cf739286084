"""The certificate: it says enough to trust a release, and nothing that could undo it."""

from __future__ import annotations

import getpass
import hashlib
import json
import platform
import stat
from collections import Counter
from datetime import date
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal import Baskets, KmAnonymity, Unreachable
from shoal.certificate import owner
from shoal.certificate.owner import hmac_of, key_id
from shoal.errors import render

ROWS = [["zqmilk", "zqnappies"]] * 6 + [["zqmilk", "zqbrie"]] * 2 + [["zqmilk"]] * 3


def certified(folder, rows=ROWS, k=5, m=2, **options):
    """The certificate of a release of a real file, its text and the release."""
    raw = folder / "raw.jsonl"
    shoal.write(Baskets.from_rows(rows), raw, force=True)
    release = shoal.anonymize(raw, KmAnonymity(k, m), **options)
    release.write(folder / "public.jsonl", force=True)
    text = (folder / "public.jsonl.certificate.json").read_text(encoding="utf-8")
    return json.loads(text), text, release


def test_certificate_says_what_is_promised_what_is_not_and_how_it_was_checked(tmp_path):
    content, _, release = certified(tmp_path, algorithm="exact")
    assert content["promised"] == list(release.guarantee.promise())
    assert content["not_promised"] == list(release.guarantee.limits())
    assert content["holds"] is True
    assert content["audit"]["violations"] == 0
    assert content["audit"]["checked"] == release.audit.checked
    assert content["loss"] == {"info": 1.0, "ncp": release.loss["ncp"]}
    assert content["optimal"] is True
    assert content["output"]["file"] == "public.jsonl"
    assert content["output"]["sha256"] == hashlib.sha256((tmp_path / "public.jsonl").read_bytes()).hexdigest()
    assert set(content["versions"]) == {"shoal", "python", "numpy", "scipy", "numba"}
    assert "shuffled" in content["row_order"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.sets(st.integers(0, 12), max_size=5), min_size=1, max_size=30),
    k=st.integers(2, 5),
    tree=st.sampled_from(["balanced:3", "frequency:3", "prefix"]),
    suppress=st.sampled_from([0.0, 0.3]),
)
def test_certificate_names_no_rare_item_no_path_and_no_person(tmp_path, rows, k, tree, suppress):
    named = [[f"zq{item}zq" for item in row] for row in rows]
    try:
        _, text, release = certified(tmp_path, named, k=k, hierarchy=tree, suppress=suppress)
    except Unreachable:
        return
    baskets = Baskets.from_rows(named)
    rare = [item for item, support in zip(baskets.vocabulary, baskets.supports(), strict=True) if support < k]
    assert not [item for item in rare if item in text]
    assert str(tmp_path) not in text
    if release.input_sha256 != release.written[-1].sha256:  # they agree when nothing had to change
        assert release.input_sha256 not in text
    assert platform.node() not in text
    assert f'"{getpass.getuser()}"' not in text


def test_certificate_keeps_what_the_owner_is_told_about_rare_categories_to_itself(tmp_path):
    tree = tmp_path / "tree.csv"
    tree.write_text("zqmilk;zqdairy;shop\nzqbrie;zqdairy;shop\nzqrifle;zqhunting;shop\n")
    _, text, release = certified(tmp_path, [["zqmilk"]] * 90 + [["zqrifle"]], hierarchy=tree, algorithm="exact")
    assert any("zqhunting" in render(note, show_values=True) for note in release.notes)
    assert "zqhunting" not in text
    content, text, _ = certified(
        tmp_path, [["zqmilk"]] * 90 + [["zqrifle"]], hierarchy=tree, suppress=0.05, algorithm="exact"
    )
    assert "zqhunting" not in text
    assert content["withheld"] == {"loss": ["deleted"]}
    assert any("Up to 5.00%" in warning and "dropped" in warning for warning in content["warnings"])


def test_certificate_is_dated_to_the_day(tmp_path):
    content, _, _ = certified(tmp_path)
    assert date.fromisoformat(content["created"])


def test_certificate_warns_about_kept_order_and_frequency_trees(tmp_path):
    content, _, _ = certified(tmp_path, hierarchy="frequency:2", keep_order=True)
    assert any("order of the input" in warning for warning in content["warnings"])
    assert any("how frequent" in warning for warning in content["warnings"])
    assert content["row_order"] == "as in the input"
    content, _, _ = certified(tmp_path, hierarchy="balanced:2", algorithm="exact")
    assert content["warnings"] == []


def test_owner_can_check_the_input_with_the_key(tmp_path, own_key):
    content, _, release = certified(tmp_path)
    key = own_key.read_bytes()
    raw = hashlib.sha256((tmp_path / "raw.jsonl").read_bytes()).hexdigest()
    assert raw == release.input_sha256
    assert content["input"]["hmac_sha256"] == hmac_of(raw, key)
    assert content["key_id"] == key_id(key)


def test_keyed_hashes_change_with_the_key_and_only_with_it(tmp_path, own_key, monkeypatch):
    first, _, _ = certified(tmp_path)
    again, _, _ = certified(tmp_path)
    monkeypatch.setenv("SHOAL_KEY", str(own_key.with_name("other.key")))
    other, _, _ = certified(tmp_path)
    for part in ("input", "hierarchy"):
        assert first[part]["hmac_sha256"] == again[part]["hmac_sha256"] != other[part]["hmac_sha256"]
    assert first["key_id"] == again["key_id"] != other["key_id"]


def test_key_is_made_once_for_its_owner_alone(own_key):
    key = owner.owner_key()
    assert len(key) == 32
    assert stat.S_IMODE(own_key.stat().st_mode) == 0o600
    assert owner.owner_key() == key
    assert [file.name for file in own_key.parent.iterdir()] == ["owner.key"]


def test_key_lies_in_the_configuration_folder_unless_named(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert owner.owner_key() is not None
    assert (tmp_path / "shoal" / "owner.key").exists()


def test_of_two_first_runs_both_use_the_key_that_came_first(own_key, monkeypatch):
    own_key.write_bytes(b"1" * 32)
    owner._store(own_key, b"2" * 32)
    assert owner.owner_key() == b"1" * 32


def test_owner_is_told_once_where_the_key_is(tmp_path, own_key):
    _, text, release = certified(tmp_path)
    assert any(str(own_key) in note for note in release.to_dict()["notes"])
    assert str(own_key) not in text
    _, _, later = certified(tmp_path)
    assert not any(str(own_key) in note for note in later.to_dict()["notes"])


@pytest.mark.parametrize("hindrance", ["no folder can be made there", "the key is cut short"])
def test_without_a_key_the_hashes_are_left_out_and_the_certificate_says_so(tmp_path, own_key, monkeypatch, hindrance):
    if hindrance == "the key is cut short":
        own_key.write_bytes(b"short")
    else:
        (tmp_path / "a file").write_text("")
        monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "a file" / "owner.key"))
    content, _, _ = certified(tmp_path)
    assert content["input"] == {"rows": len(ROWS)}
    assert "hmac_sha256" not in content["hierarchy"]
    assert content["key_id"] is None
    assert any("key" in warning for warning in content["warnings"])


def test_a_user_without_a_home_gets_a_certificate_without_hashes(tmp_path, monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("SHOAL_KEY")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    content, _, _ = certified(tmp_path)
    assert content["key_id"] is None


TREE = "a;x;all\nb;x;all\nc;y;all\nd;y;all\ne;y;all\n"


@pytest.mark.parametrize("algorithm", ["exact", "hybrid", "lra", "local"])
def test_what_is_kept_is_counted_in_the_published_rows(tmp_path, algorithm):
    (tmp_path / "tree.csv").write_text(TREE)
    rows = [["a", "b", "c"]] * 9 + [["a", "c"]] * 8 + [["a", "d"]] * 6 + [["a", "e"], ["b", "d"], ["b"]]
    content, _, release = certified(tmp_path, rows, k=3, hierarchy=tmp_path / "tree.csv", algorithm=algorithm)
    published = list(release.published.rows())
    stand = [token for row in published for token in row]
    pairs = {
        pair: n for pair, n in Counter(p for row in published for p in combinations(sorted(row), 2)).items() if n > 1
    }
    assert content["kept"]["exact"] == pytest.approx(sum(token in "abcde" for token in stand) / len(stand), abs=1e-6)
    both = sum(set(pair) <= set("abcde") for pair in pairs)
    assert content["kept"]["pairs"] == pytest.approx(both / len(pairs), abs=1e-6)
    assert next(iter(content["loss"])) == "info"
    assert list(content).index("kept") < list(content).index("loss")


def test_information_is_withheld_where_the_data_made_the_categories(tmp_path):
    content, _, _ = certified(tmp_path, hierarchy="prefix")
    assert "info" in content["withheld"]["loss"]
    assert "info" not in content["loss"]


def test_certificate_says_what_deletion_does_to_counts(tmp_path):
    rows = [["a", "b"]] * 9 + [["a", "c"]]
    content, _, _ = certified(tmp_path, rows, k=3, hierarchy="balanced:2", algorithm="hybrid", suppress=0.2)
    assert any("docs/guide/estimating.md" in warning for warning in content["warnings"])
    content, _, _ = certified(tmp_path, rows, k=3, hierarchy="balanced:2", suppress=0.0)
    assert not any("docs/guide/estimating.md" in warning for warning in content["warnings"])
