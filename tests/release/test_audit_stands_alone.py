"""A search that goes wrong is caught: every algorithm with a fault in its own code, and an audit that does not share it.

Faults are put in by hand, in the kernels that a promise rests on (or in the step that stands for one): a kernel is told that k or l is 1,
rows are laid out without their items, rules exclude nothing, blocks of work are lost. The audit has to refuse what comes of it, and
nothing is written. What the audit itself imports is the business of the contracts in pyproject.toml, and of the last tests here.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.errors import InputError
from shoal.guarantees.diversity import buckets_of
from shoal.models.buckets import with_knowledge
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets
from shoal.records.records import Column, Records

KERNELS = "shoal.kernels."


def lenient(name):
    """The fault of a function that takes what is asked for, k or l, as 1; `rows.k` is the field of an argument."""
    argument, _, field = name.partition(".")

    def broken(sound):
        signature = inspect.signature(getattr(sound, "py_func", sound))

        def told(*args, **named):
            bound = signature.bind(*args, **named)
            bound.arguments[argument] = bound.arguments[argument]._replace(**{field: 1}) if field else 1
            return sound(*bound.args, **bound.kwargs)

        return told

    return broken


def without_items(laid_out):
    """The fault that the audit once shared: rows are laid out for counting, and their items forgotten."""

    def broken(offsets, items, token, *rest):
        counting = sys._getframe(1).f_code.co_name != "apply"
        return laid_out(offsets, items, np.full_like(token, -1) if counting else token, *rest)

    return broken


def half_lost(even_blocks):
    """Blocks of work that leave out the first half of it."""

    def broken(work, blocks):
        half = len(work) // 2
        return [(a + half, b + half) for a, b in even_blocks(work[half:], blocks)]

    return broken


def nothing_excluded(impossible_kinds):
    def broken(above, nodes, value, n_values, *rest):
        return impossible_kinds(above, nodes[:0], value[:0], n_values, *rest)

    return broken


def overcounted(roll_up):
    """Classes are thought to be of more rows than they have."""

    def broken(*args):
        group, member, size, own = roll_up(*args)
        return group, member, size + 9, own

    return broken


def content_with_one(k):
    """A row by itself is taken for a crowd."""
    return property(lambda table: 1)


def first_class_torn(classes_of_nodes):
    """All members of a class but one go to another."""

    def broken(*args):
        of_node = classes_of_nodes(*args)
        of_node[np.flatnonzero(of_node == 0)[1:]] = of_node.max()
        return of_node

    return broken


def one_row_changed(apply):
    """One row of a class is published with more items than the others."""

    def broken(classes):
        rows = [set(row) for row in apply(classes).rows()]
        rows[0] = set(classes.centres.vocabulary)
        return Baskets(*together(rows, classes.centres.vocabulary))

    return broken


def one_row_alone(horizontal_parts):
    """Clusters of which one has a single row."""

    def broken(*asked):
        first, *others = horizontal_parts(*asked)
        return [first[:1], first[1:], *others]

    return broken


def together(rows, names):
    """(offsets, items, names) of rows of names."""
    codes = [sorted(names.index(name) for name in row) for row in rows]
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in codes]))).astype(np.int64)
    return offsets, np.array([code for row in codes for code in row], np.int32), names


LAYOUT = (KERNELS + "itemsets.prefixes", "laid_out", without_items)
CONFLICTS = (KERNELS + "itemsets.conflicts", "conflicts", lenient("k"))
RARE = (KERNELS + "itemsets.rare_sets", "rare_sets", lenient("k"))
BLOCKS = (KERNELS + "itemsets.prefixes", "even_blocks", half_lost)
TRIPLES = (KERNELS + "itemsets.descents", "settle_triples", lenient("k"))
COUNT_TREE = (KERNELS + "itemsets.count_tree", "generalize_breaches", lenient("k"))
CLUSTERS = (KERNELS + "tables.boxes", "nearest_groups", lenient("k"))
ROLLED = (KERNELS + "tables.roll_up", "roll_up", overcounted)
ALONE = ("shoal.algorithms.tables.uniform", "Uniform.k", content_with_one)
PARTS = ("shoal.algorithms.rt.mondrian", "mondrian_parts", lenient("k"))
ITEMS = (KERNELS + "tables.item_groups", "joined_items", lenient("k"))
TOLD = (KERNELS + "tables.item_groups", "settled_groups", lenient("promise.l"))
TORN = (KERNELS + "classes.groups", "classes_of_nodes", first_class_torn)
CHANGED = ("shoal.algorithms.transactions.classes", "Classes.apply", one_row_changed)
KINDS = (KERNELS + "buckets.impossible", "impossible_kinds", nothing_excluded)

RARE_SETS = (KERNELS + "constraints.protected_sets", "bad_rows_of_sets", lenient("k"))
FAULTS = {
    "km": {
        "exact": [LAYOUT, CONFLICTS, BLOCKS],
        "oa": [LAYOUT, RARE, BLOCKS],
        "da": [COUNT_TREE],
        "aa": [COUNT_TREE],
        "vpa": [COUNT_TREE],
        "hybrid": [(KERNELS + "itemsets.deletion", "find_rare", lenient("rows.k"))],
        "local": [(KERNELS + "itemsets.deletion", "find_rare", lenient("rows.k"))],
        "lra": [(KERNELS + "itemsets.descents", "settle_pairs", lenient("k")), TRIPLES],
    },
    "k": {
        "split": [(KERNELS + "classes.splitting", "best_split", lenient("k")), CHANGED],
        "pta": [TORN, CHANGED],
        "gray-tsp": [TORN, CHANGED],
        "gsc": [CHANGED],
    },
    "table": {
        "better-of-two": [CLUSTERS, PARTS],
        "cluster": [CLUSTERS],
        "mondrian": [PARTS],
        "full-domain": [ROLLED, ALONE],
        "top-down": [ALONE],
        "bottom-up": [ROLLED, ALONE],
    },
    "rt": {name: [ITEMS] for name in ALGORITHMS["rt"]},
    "lm": {name: [TOLD] for name in ALGORITHMS["lm"]},
    "diversity": {
        "injector": [(KERNELS + "buckets.grouping", "grouped_cells", lenient("l")), KINDS],
        "balanced": [(KERNELS + "buckets.grouping", "evenly_grouped_cells", lenient("l")), KINDS],
        "anatomy": [(KERNELS + "buckets.grouping", "anatomy_groups", lenient("l"))],
    },
    "constraints": {name: [RARE_SETS] for name in ALGORITHMS["constraints"]},
    "chunks": {
        "disassociation": [
            ("shoal.algorithms.chunks.vertical", "vertical_parts", lenient("k")),
            ("shoal.algorithms.chunks.refining", "joint_of", lenient("k")),
            ("shoal.algorithms.chunks.horizontal", "horizontal_parts", one_row_alone),
        ]
    },
}
"""Per kind of promise and algorithm, where the fault is put and what it is."""
CASES = [
    pytest.param(kind, name, fault, id=f"{kind} {name}: {fault[1]}")
    for kind, faults in FAULTS.items()
    for name, own in faults.items()
    for fault in own
]
ASKED = {
    "constraints": ("sets.dat", "--model", "constraints", "--k", 3, "--policy", "policy.yaml", "--suppress", 0.3),
    "chunks": ("sets.dat", "--model", "chunks", "--k", 3, "--m", 2, "--cluster-size", 6),
    "km": ("sets.dat", "--model", "km", "--k", 3, "--m", 2, "--hierarchy", "balanced:3"),
    "k": ("sets.dat", "--model", "k", "--k", 3),
    "table": ("people.csv", "--model", "k", "--k", 3, "--quasi", "age,zip", "--drop", "codes,ill"),
    "rt": (
        "people.csv",
        "--model",
        "rt",
        "--k",
        3,
        "--m",
        2,
        "--quasi",
        "age,zip",
        "--items",
        "codes",
        "--drop",
        "ill",
    ),
    "lm": (
        "people.csv",
        "--model",
        "lm",
        "--k",
        3,
        "--l",
        2,
        "--m",
        1,
        "--quasi",
        "age,zip",
        "--items",
        "codes",
        "--drop",
        "ill",
    ),
    "diversity": (
        "people.csv",
        "--model",
        "diversity",
        "--l",
        3,
        "--quasi",
        "zip",
        "--drop",
        "age,codes",
        "--sensitive",
        "ill",
    ),
}
BESIDE = {
    ("k", "gray-tsp"): ("--population", 4, "--generations", 2),
    ("lm", None): ("--sensitive", "s,t"),
    ("diversity", "injector"): ("--knowledge", "rules.jsonl"),
    ("diversity", "balanced"): ("--knowledge", "rules.jsonl"),
    **{
        (kind, name): ("--delta", 0.95)
        for kind in ("rt", "lm")
        for name in ALGORITHMS[kind]
        if name.startswith("tmerge")
    },
}


NEVER = [("n", "u"), ("s", "v"), ("e", "w"), ("w", "x")]
"""What the rules exclude."""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Sets and people that no algorithm publishes as they are."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(5)
    sets = [sorted(random.choice(9, random.integers(1, 5), replace=False).tolist()) for _ in range(40)]
    Path("sets.dat").write_text("".join(" ".join(map(str, row)) + "\n" for row in sets))
    lines = ["age,zip,codes,ill"]
    for i in range(48):
        zip, ill = "nsew"[i % 4], "uvwxyz"[(i // 4 + i % 4) % 6]
        ill = "z" if (zip, ill) in NEVER else ill
        codes = [
            *random.choice(list("abcdef"), random.integers(1, 4), replace=False),
            *("s" if i % 12 < 5 else "t" if i % 12 < 8 else ""),
        ]
        lines.append(f"{random.integers(20, 60)},{zip},{'|'.join(codes)},{ill}")
    Path("people.csv").write_text("\n".join(lines) + "\n")
    rules = [{"if": {"zip": zip}, "never": ill} for zip, ill in NEVER]
    Path("rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    Path("policy.yaml").write_text(
        "protect: [[0, 1, 2], {all: 2, of: [3, 4, 5, 6]}]\ngeneralize: [[0, 1, 8], [2, 3, 4, 5]]\n"
    )
    return tmp_path


def asked(kind, name, fault):
    more = ("--m", 3) if fault is TRIPLES else ()
    more += ("--transaction", "sets") if fault in (ITEMS, TOLD) else ()
    return *ASKED[kind], *more, "--algorithm", name, *BESIDE.get((kind, name), ()), *BESIDE.get((kind, None), ())


def put_in(monkeypatch, fault):
    """Break a function in its own module, and wherever it has been imported from there."""
    module, name, broken = fault
    owner = importlib.import_module(module)
    *outer, name = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    sound = getattr(owner, name)
    at_home = getattr(sound, "__module__", None) == module and not outer
    for algorithms in ALGORITHMS.values():
        for entry in algorithms.values():
            importlib.import_module(entry.module)
    users = [m for key, m in sys.modules.items() if key.startswith("shoal.") and getattr(m, name, None) is sound]
    for user in users if at_home else [owner]:
        monkeypatch.setattr(user, name, broken(sound))


@pytest.mark.parametrize(("kind", "name", "fault"), CASES)
def test_the_audit_refuses_what_a_broken_search_proposes(kind, name, fault, data, run, monkeypatch):
    before = sorted(data.iterdir())
    put_in(monkeypatch, fault)
    code, shown, said = run(
        "anonymize", *asked(kind, name, fault), "-o", f"out.{'dat' if kind in ('km', 'k', 'constraints') else 'csv'}"
    )
    assert f"the audit refuses what {name} proposed" in said
    assert (code, shown) == (1, "")
    assert sorted(data.iterdir()) == before


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in ALGORITHMS.items() for name in names])
def test_without_a_fault_the_same_is_published(kind, name, data, run):
    code, _, said = run(
        "anonymize", *asked(kind, name, None), "-o", f"out.{'dat' if kind in ('km', 'k', 'constraints') else 'csv'}"
    )
    assert code == 0, said


def test_every_algorithm_has_been_broken():
    assert {kind: set(faults) for kind, faults in FAULTS.items()} == {
        kind: set(names) for kind, names in ALGORITHMS.items()
    }


def unsound(change):
    """A fault of the sets that are published: `change(offsets, items, vocabulary)` gives what they are instead."""

    def broken(apply):
        def applied(recoding, *args):
            sets = apply(recoding, *args)
            return Baskets(*change(sets.offsets, sets.items.copy(), sets.vocabulary))

        return applied

    return broken


def doubled(offsets, items, names):
    """The first row names its first item twice: it would count for two."""
    return np.concatenate(([0], offsets[1:] + 1)), np.concatenate((items[:1], items)), names


def renamed(offsets, items, names):
    """Two items have one name: nobody who reads the file can tell them apart."""
    return offsets, items, (names[1], *names[1:])


def unnamed(offsets, items, names):
    items[0] = len(names)
    return offsets, items, names


def torn(offsets, items, names):
    return np.append(offsets[:-1], offsets[-1] - 1), items, names


def missing(offsets, items, names):
    """The last row is not there."""
    return offsets[:-1], items[: offsets[-2]], names


@pytest.mark.parametrize("change", [doubled, renamed, unnamed, missing])
def test_the_audit_takes_nobodys_word_for_sets_being_sets(change, data, run, monkeypatch):
    put_in(monkeypatch, ("shoal.algorithms.recoding", "Recoding.apply", unsound(change)))
    code, shown, said = run("anonymize", *asked("km", "exact", None), "-o", "out.dat")
    assert "the audit refuses what exact proposed" in said
    assert (code, shown) == (1, "")
    assert not (data / "out.dat").exists()


@pytest.mark.parametrize("change", [doubled, renamed, unnamed, torn])
@pytest.mark.parametrize(
    "promise", [shoal.KmAnonymity(2, 2), shoal.LocalKmAnonymity(2, 2), shoal.KAnonymity(2), shoal.RTAnonymity(2, 2)]
)
def test_every_audit_of_sets_looks_at_them_first(promise, change):
    sets = Baskets(*change(*together([{"a", "b"}, {"a", "b"}, {"a", "b"}], ("a", "b"))))
    if promise.model == "rt":
        sets = Records((Column.from_texts("who", "quasi", "xxx"),), sets)
    with pytest.raises(InputError, match="not sound"):
        promise.audit(sets)


def test_cells_without_a_value_are_not_sound():
    table = Records((Column("who", "quasi", np.array([0, 1, 2], np.int32), ("x", "y")),))
    with pytest.raises(InputError, match="column 'who' is not sound"):
        shoal.TableAnonymity(2).audit(table)


def test_what_reads_the_same_counts_as_the_same():
    """Two codes of one text are one value in the file, be it of a class, of a bucket or of what is sensitive."""
    who = Column("who", "quasi", np.array([0, 1, 0, 1], np.int32), ("x", "x"))
    ill = Column("ill", "sensitive", np.array([0, 1, 2, 2], np.int32), ("flu", "flu", "gout"))
    bucket = Column("bucket", "keep", np.array([0, 0, 1, 2], np.int32), ("1", "2", "2"))
    assert shoal.TableAnonymity(4).audit(Records((who,))).holds
    assert not shoal.TableAnonymity(2, 3).audit(Records((who, ill))).holds
    seen = buckets_of(Records((who, ill, bucket)))
    assert (len(seen), seen.vocabulary, seen.counts.tolist()) == (2, ("flu", "gout"), [2, 2])
    assert not shoal.MatchingDiversity(2).audit(Records((who, ill, bucket))).holds


def test_buckets_are_counted_by_the_audit_itself(data, run, monkeypatch):
    """The search's count of its buckets is not asked, nor are its marks of rules that follow from others."""
    sound = Buckets.of.__func__
    pairs = classmethod(lambda cls, records, bucket, **how: sound(cls, records, np.arange(len(records)) // 2, **how))
    monkeypatch.setattr(Buckets, "of", pairs)
    code, _, said = run("anonymize", *asked("diversity", "balanced", None), "-o", "out.csv")
    assert code == 1
    assert "the audit refuses what balanced proposed" in said
    assert not (data / "out.csv").exists()


def test_unsound_buckets_are_refused():
    rows = Records((Column.from_texts("who", "quasi", "xyzz"),))
    offsets, values, counts = np.array([0, 2]), np.array([0, 1], np.int32), np.array([2, 2])
    sound = Buckets(rows, np.zeros(4, np.int32), "ill", ("flu", "gout"), offsets, values, counts)
    assert shoal.MatchingDiversity(2).audit(sound).holds
    for names, shown in (
        (("flu", "flu"), [0, 1]),
        (("flu", "gout"), [1, 0]),
        (("flu",), [0, 1]),
        (("flu", "gout"), [0, 0]),
    ):
        other = Buckets(rows, sound.of_row, "ill", names, offsets, np.array(shown, np.int32), counts)
        with pytest.raises(InputError, match="not sound"):
            shoal.MatchingDiversity(2).audit(other)


def test_rules_are_applied_whatever_is_marked_about_them(data):
    """A rule that is wrongly marked as following from others is one that the attacker knows all the same."""
    roles = {"quasi": "zip", "sensitive": "ill", "drop": "age,codes"}
    table = shoal.load_records("people.csv", **roles).records
    release = shoal.anonymize("people.csv", shoal.MatchingDiversity(3), algorithm="anatomy", seed=1, **roles)
    promise = with_knowledge(shoal.MatchingDiversity(3), table, "rules.jsonl")
    marked = replace(promise.rules, redundant=np.ones(len(promise.rules), np.bool_))
    seen = promise.audit(release.published)
    assert not seen.holds
    assert replace(promise, rules=marked).audit(release.published).violations == seen.violations


SOURCES = Path(shoal.__file__).parent


@pytest.mark.parametrize("room", ["algorithms", "models"])
def test_searches_take_promises_from_the_guarantees_and_nothing_else(room):
    """The contracts keep the audit from the search's code; this keeps the search from the audit's.

    What a missing value means is part of a promise. Buckets of very many kinds of rows ask the audit itself whether they are done. (An
    audit that a release holds has been made already.)
    """
    for path in sorted((SOURCES / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            home = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if home.startswith("shoal.guarantees") and home != "shoal.guarantees.values.missing":
                assert all(alias.name[0].isupper() for alias in node.names), f"{path.name}, line {node.lineno}"
            asks = isinstance(node, ast.Attribute) and node.attr == "audit" and ast.unparse(node) != "self.audit"
            assert not asks or path.parts[-2:] == ("buckets", "bucketization.py"), f"{path.name}, line {node.lineno}"


@pytest.mark.parametrize("promise", [{"l": 2}, {"l": 2, "l_kind": "frequency"}, {"t": 0.3}])
def test_classes_that_lack_sensitive_values_are_refused(monkeypatch, tmp_path, promise):
    """A search that takes no class for poor is found out, whatever is promised of sensitive values."""
    rows = [f"{age},{'flu' if age < 30 else 'gout'}" for age in (20, 21, 22, 40, 41, 42)]
    (tmp_path / "ages.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    asked = (tmp_path / "ages.csv", shoal.TableAnonymity(3, **promise))
    assert shoal.anonymize(*asked, quasi="age", sensitive="ill").audit.holds
    monkeypatch.setattr("shoal.algorithms.rt.demand.repair_groups", lambda *args: None)
    with pytest.raises(shoal.ShoalError, match="the audit refuses what better-of-two proposed"):
        shoal.anonymize(*asked, quasi="age", sensitive="ill")


@pytest.mark.parametrize("name", ["full-domain", "top-down", "bottom-up"])
@pytest.mark.parametrize("promise", [{"l": 2}, {"l": 2, "l_kind": "frequency"}, {"t": 0.3}])
def test_a_search_for_levels_and_cuts_that_takes_no_class_for_poor_is_refused(monkeypatch, name, promise):
    ages = (20, 21, 22, 40, 41, 42) * 3
    age = Column.from_texts("age", "quasi", map(str, ages))
    ill = Column.from_texts("ill", "sensitive", ["flu" if age < 30 else "gout" for age in ages])
    asked = (Records((age, ill)), shoal.TableAnonymity(3, **promise))
    assert shoal.anonymize(*asked, algorithm=name).audit.holds
    monkeypatch.setattr("shoal.algorithms.tables.uniform.lacking_classes", lambda *args: None)
    with pytest.raises(shoal.ShoalError, match=f"the audit refuses what {name} proposed"):
        shoal.anonymize(*asked, algorithm=name)
