"""Releases of the same people, put together: what an attacker finds in published files, and whom with the originals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_histories
import naive_series
import shoal
from shoal.attacks.found_people import found_people
from shoal.attacks.row_owners import owners_of_rows
from shoal.attacks.several_releases import several_releases
from shoal.errors import InputError
from shoal.records.baskets import Baskets
from strategies import trees

ONE_VISIT = pa.table({"who": ["ann"], "items": [["a"]]})
TREE = "milk,dairy,food\ncream,dairy,food\nrye,bread,food\nspelt,bread,food\n"


@st.composite
def published_pairs(draw):
    """A tree or none, and two releases of rows of its nodes or of letters."""
    tree = draw(st.none() | trees(2, 5))
    names = list("abcd") if tree is None else list(tree.names)
    rows = st.lists(st.frozensets(st.sampled_from(names), max_size=3), min_size=1, max_size=7)
    before = draw(rows)
    return tree, before, draw(st.just(before) | rows | rows.map(lambda more: [*before, *more[:2]]))


@settings(max_examples=200)
@given(published_pairs(), st.integers(1, 4), st.integers(1, 3))
def test_two_releases_tell_what_counting_by_hand_finds(world, k, m):
    tree, before, after = world
    found = several_releases([Baskets.from_rows(map(sorted, rows)) for rows in (before, after)], k, m, tree)
    step = found.steps[0]
    assert (step.changed, step.mixed, step.linked) == naive_series.told_together(before, after, tree, k, m)
    assert step.rows == len(after)
    assert found.found == (bool(step.changed or step.mixed) or (False if step.compared >= 0.5 else None))
    assert not several_releases([Baskets.from_rows(map(sorted, before))] * 2, k, m, tree).steps[0].changed


@st.composite
def months(draw):
    """A tree, the rows of some people in two months, and what is published of them: items as they are, coarser, or not at all."""
    tree = draw(trees(2, 6))
    up = [[*_up(tree, leaf)] for leaf in range(tree.n_leaves)]
    items = st.frozensets(st.integers(0, tree.n_leaves - 1), max_size=3)
    cuts = [draw(st.lists(st.integers(0, 3), min_size=tree.n_leaves, max_size=tree.n_leaves)) for _ in range(2)]
    now = {person: draw(items) for person in range(draw(st.integers(1, 8)))}
    originals, published = [], []
    for cut in cuts:
        originals.append(dict(now))
        told = {}
        for person, row in now.items():
            if draw(st.integers(0, 9)):
                tokens = {
                    up[leaf][min(cut[leaf], len(up[leaf]) - 1)] for leaf in sorted(row) if draw(st.integers(0, 5))
                }
                told[person] = frozenset(tree.names[node] for node in tokens)
        published.append(told)
        for person in sorted(now):
            if draw(st.integers(0, 3)) == 0:
                now[person] = draw(items)
            elif draw(st.integers(0, 5)) == 0:
                del now[person]
    return tree, originals, published


def _up(tree, node):
    while node >= 0:
        yield node
        node = int(tree.parent[node])


def sets_of_people(rows, names=None):
    people = sorted(rows)
    named = [sorted(names[i] if names else i for i in rows[person]) for person in people]
    return replace(Baskets.from_rows(named), people=np.array(people, np.int32))


@settings(max_examples=150)
@given(months(), st.randoms(use_true_random=False))
def test_every_row_is_given_a_person_whom_it_fits(world, random):
    tree, originals, published = world
    releases, sources = [], [sets_of_people(original, tree.names) for original in originals]
    for told in published:
        rows = [sorted(row) for row in told.values()]
        random.shuffle(rows)
        releases.append(Baskets.from_rows(rows))
    owners = owners_of_rows(releases, sources, tree)
    before = {}
    for original, release, row_of in zip(originals, releases, owners.rows, strict=True):
        rows = list(map(frozenset, release.rows()))
        assert len(set(row_of.values())) == len(row_of)
        if not before:  # they were published of somebody, so each can have one
            assert len(row_of) == len(rows)
        for person, number in row_of.items():
            lines = [{tree.names[v] for v in _up(tree, leaf)} for leaf in original.get(person, ())]
            assert rows[number] <= set().union(*lines) or rows[number] == before[person]
        before = {person: rows[number] for person, number in row_of.items()}


@settings(max_examples=150)
@given(months(), st.integers(1, 3), st.integers(1, 3))
def test_who_is_found_is_counted_by_hand(world, k, m):
    """Items are there where a token lies above them; people and rows are known."""
    tree, originals, published = world
    releases = [sets_of_people(told) for told in published]
    sources = [sets_of_people(original, tree.names) for original in originals]
    owners = [{person: number for number, person in enumerate(r.people.tolist())} for r in releases]
    found = found_people(releases, sources, owners, tree, k, m)
    facts = {person: naive_series.facts_of(tree, person, published) for person in set().union(*published)}
    items = {p: {i for original in originals for i in original.get(p, ())} for p in facts}
    assert found == sorted(p for p in facts if naive_series.is_found(p, items[p], facts, k, m))


@settings(max_examples=100)
@given(months(), st.integers(1, 3), st.integers(1, 3))
def test_under_one_cut_nobody_is_found_where_the_promise_of_snapshots_holds(world, k, m):
    tree, originals, _ = world
    history = [sets_of_people(rows, tree.names) for rows in originals]
    found = several_releases([replace(release, people=None) for release in history], k, m, tree, history).people
    assert (found.guessed, found.unmatched) == (False, 0)
    breaches = set(naive_histories.breaches(naive_histories.releases(history), k, m))
    everybody = naive_histories.people_of(naive_histories.releases(history))
    assert found.people == len(everybody)
    assert found.together == sum(_fits(person, breaches) for person in everybody.values())


def _fits(person, exposed):
    presence, facts = person
    return any(when == presence and known <= facts for when, known in exposed)


def test_one_who_came_in_between_is_told_by_the_rows_that_are_more():
    march = [["milk", "bread"]] * 5
    found = shoal.attack_series([march, [*march, ["milk", "gin"]]], k=5, m=2)
    assert found
    assert found.to_dict()["steps"][0]["changed"] == 4  # somebody came; milk, gin, and both


def test_as_many_sets_are_named_as_are_asked_for():
    march = [["milk", "bread"]] * 5
    found = shoal.attack_series([march, [*march, ["milk", "gin"]]], k=5, m=2, examples=2)
    assert len(found.outcome.steps[0].examples) == 2


@pytest.mark.parametrize(("name", "form"), [("=sum", "csv"), ("oat milk", "dat")])
def test_names_that_a_format_writes_otherwise_are_those_of_the_originals(tmp_path, monkeypatch, name, form):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree.csv").write_text(f"{name},food\nbread,food\n")
    for month, extra in enumerate((0, 1)):
        people = [[name, "bread"] if number < 5 + extra else ["bread"] for number in range(12)]
        (tmp_path / f"m{month}.jsonl").write_text(
            "".join(json.dumps({"who": str(number), "items": items}) + "\n" for number, items in enumerate(people))
        )
        shoal.anonymize(people, shoal.KmAnonymity(3, 2), hierarchy="tree.csv", keep_order=True).write(
            f"p{month}.{form}"
        )
    found = shoal.attack_series(
        [f"p0.{form}", f"p1.{form}"],
        k=3,
        m=2,
        hierarchy="tree.csv",
        originals=["m0.jsonl", "m1.jsonl"],
        items="items",
        person="who",
    ).outcome.people
    assert (found.guessed, found.together, found.unmatched) == (False, 1, 0)


def test_two_levels_of_two_releases_meet_in_few(tmp_path):
    (tmp_path / "tree.csv").write_text(TREE)
    first = [["milk", "bread"]] * 2 + [["cream", "bread"]] * 2
    second = [["dairy", "rye"]] * 2 + [["dairy", "spelt"]] * 2
    found = shoal.attack_series([first, second], k=3, m=2, hierarchy=str(tmp_path / "tree.csv"))
    assert found.outcome.steps[0].mixed == 4  # milk or cream with rye or spelt: two people each at the most
    assert found


@pytest.mark.parametrize(
    ("releases", "more", "words"),
    [
        (1, {}, "one release alone has nothing to be put together with"),
        (2, {"originals": [ONE_VISIT], "person": "who"}, "there are 2 releases and 1 original;"),
        (2, {"originals": [[["a"]]] * 2}, "whose are the rows of the originals?"),
        (2, {"k": 0}, "k"),
    ],
)
def test_what_cannot_be_attacked_is_said(releases, more, words):
    with pytest.raises(InputError) as refused:
        shoal.attack_series([[["a"]]] * releases, **more)
    assert words in str(refused.value)


def test_what_can_hardly_be_compared_is_not_called_safe(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree.csv").write_text(TREE)
    (tmp_path / "a.dat").write_text("milk rye\ncream rye\nfood\n" * 5)
    (tmp_path / "b.dat").write_text("milk rye\ncream rye\nfood\nspelt milk\n" * 5)
    asked = ("attack", "--series", "a.dat", "b.dat", "--hierarchy", "tree.csv", "--k", "3")
    code, out, err = run(*asked)
    assert (code, "Nobody" in out) == (0, False), out + err
    assert "can be compared only as what lies above" in " ".join(out.split())
    facts = json.loads(run(*asked, "--json")[1])
    assert (facts["found"], facts["steps"][0]["compared"] < 0.5) == (None, True)
    assert "not known" in repr(shoal.attack_series(["a.dat", "b.dat"], k=3, hierarchy="tree.csv"))


@pytest.mark.parametrize("flag", [("--sample", "20"), ("--seed", "7"), ("--raw", "a.dat"), ("--l", "2")])
def test_what_an_attack_on_a_series_has_no_use_for_is_refused(run, flag):
    code, _, err = run("attack", "--series", "a.dat", "b.dat", *flag)
    assert (code, f"{flag[0]} has no use with --series" in err) == (2, True)
