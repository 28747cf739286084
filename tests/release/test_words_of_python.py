"""What Python users read: keywords, never flags of the command line; and the same sentence in the words of every other face."""

from __future__ import annotations

import ast
import io
import pickle
import re
import sys
from pathlib import Path

import pytest

import shoal
from shoal.cli.terminal import on_command_line
from shoal.errors import VALUES, InputError, Message, Unreachable, option, render
from shoal.plan.places import in_plan

ROWS = [["a", "b"], ["a"], ["b"], ["a", "b"]]
TABLE = "age,sex,codes\n30,f,a|b\n31,m,a\n30,f,b\n31,m,a\n"
FLAG = re.compile(r"(?<![\w-])--[a-z]")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(TABLE)
    Path("sets.csv").write_text("items\na|b\na\nb\na|b\n")
    Path("tree.csv").write_text("a;g;*\nc;g;*\n")
    Path("there.csv").write_text("")
    Path("odd").write_text("items\na\n")
    Path("list.jsonl").write_text('{"a": 1, "b": 2}\n')
    return tmp_path


KM, K, TABLES = shoal.KmAnonymity(2, 1), shoal.KAnonymity(2), shoal.TableAnonymity(2)
FAILING = [
    lambda: shoal.anonymize(ROWS, KM, hierarchy="tree.csv"),
    lambda: shoal.anonymize(ROWS, KM, hierarchy={"a": "mask"}),
    lambda: shoal.anonymize(ROWS, KM, algorithm="aa", suppress=0.1),
    lambda: shoal.anonymize(ROWS, KM, sensitive="a"),
    lambda: shoal.anonymize(ROWS, K, hierarchy="balanced:2"),
    lambda: shoal.anonymize(ROWS, K, algorithm="exact"),
    lambda: shoal.anonymize(ROWS, shoal.KAnonymity(2, 2)),
    lambda: shoal.anonymize("x.csv", TABLES, quasi="age"),
    lambda: shoal.anonymize("x.csv", TABLES, quasi="age", drop="sex,codes", hierarchy="mask"),
    lambda: shoal.anonymize("x.csv", TABLES, quasi="age", drop="sex,codes", hierarchy={"sex": "mask"}),
    lambda: shoal.anonymize("x.csv", TABLES, quasi="age", drop="sex,codes", id="x"),
    lambda: shoal.anonymize("x.csv", TABLES, items="codes", quasi="age", drop="sex"),
    lambda: shoal.anonymize("x.csv", shoal.RTAnonymity(2, 1), quasi="age", drop="sex,codes"),
    lambda: shoal.anonymize("x.csv", shoal.LmDiversity(2, 2, 1), quasi="age", items="codes", drop="sex"),
    lambda: shoal.anonymize("x.csv", shoal.MatchingDiversity(2), quasi="age", drop="sex,codes"),
    lambda: shoal.anonymize("x.csv", shoal.MatchingDiversity(2), quasi="age", items="codes", sensitive="sex"),
    lambda: shoal.anonymize("sets.csv", KM, numeric="items"),
    lambda: shoal.anonymize(ROWS, KM).write("there.csv"),
    lambda: shoal.anonymize(ROWS, KM).write("new.csv", sign="key"),
    lambda: shoal.anonymize(ROWS, KM).write("sqlite:x.db?table=t"),
    lambda: shoal.audit("x.csv", TABLES),
    lambda: shoal.audit("x.csv", shoal.RTAnonymity(2, 1), quasi="age,sex"),
    lambda: shoal.audit("sets.csv", KM, hierarchy="mask"),
    lambda: shoal.read("x.csv"),
    lambda: shoal.read("x.csv", items="codes"),
    lambda: shoal.read("x.csv", items="nothing"),
    lambda: shoal.read("odd"),
    lambda: shoal.read("list.jsonl"),
    lambda: shoal.read("sets.csv", format="long"),
    lambda: shoal.read("sets.csv", id="items", separator=","),
    lambda: shoal.read("sqlite:x.db"),
    lambda: shoal.load_records("x.csv", quasi="age", numeric="codes"),
    lambda: shoal.load_records("x.csv", quasi="age,sex", items="codes", sensitive="zzz"),
    lambda: shoal.profile("x.csv"),
    lambda: shoal.profile("x.csv", quasi="age", drop="sex,codes", hierarchy="mask"),
    lambda: shoal.profile("sets.csv", numeric="items"),
    lambda: shoal.evaluate("sets.csv", "x.csv"),
    lambda: shoal.evaluate("sets.csv", "sets.csv", keep="items"),
    lambda: shoal.evaluate("sets.csv", "sets.csv", numeric="items"),
    lambda: shoal.evaluate("sets.csv", ROWS * 2, same_order=True),
    lambda: shoal.verify("x.csv", "x.csv"),
    lambda: shoal.write_hierarchy(shoal.read_hierarchy("tree.csv"), "tree.csv"),
    lambda: shoal.resolve_hierarchy("balanced:2", shoal.read(ROWS), unknown="leaf"),
]


MEANT = [
    (lambda: shoal.KmAnonymty, "KmAnonymty"),
    (lambda: shoal.anonymize(ROWS, KM, hierarchy="frequncy:5"), "is 'frequency' meant"),
    (
        lambda: shoal.anonymize("x.csv", TABLES, quasi="sex", drop="age,codes", hierarchy={"sex": "msk"}),
        "is 'mask' meant",
    ),
    (lambda: shoal.audit(ROWS, KM, witnes=3), "is witnesses meant"),
    (lambda: shoal.profile(ROWS, exampels=3), "is examples meant"),
    (lambda: shoal.learn_hierarchy(ROWS, KM, childre=2), "is children meant"),
    (lambda: shoal.build_hierarchy(ROWS, seperator=","), "is separator meant"),
    (lambda: shoal.anonymize(ROWS, shoal.KmAnonymity), "KmAnonymity without its numbers"),
    (lambda: shoal.anonymize("x.csv", K, quasi="age", drop="sex,codes"), "take TableAnonymity"),
    (lambda: shoal.anonymize(ROWS, KM).write(io.BytesIO(), format="parqet"), "is 'parquet' meant"),
    (lambda: shoal.anonymize(ROWS, KM).write(None), "a NoneType cannot be written to"),
    (lambda: shoal.to_pandas(ROWS), "a list is no Release"),
]


@pytest.mark.parametrize(("call", "said"), MEANT)
def test_what_may_be_meant_is_said(place, call, said):
    with pytest.raises((InputError, AttributeError), match=said):
        call()


@pytest.mark.parametrize("call", FAILING)
def test_python_speaks_of_keywords(place, call):
    with pytest.raises((InputError, Unreachable)) as caught:
        call()
    assert not FLAG.search(str(caught.value))
    assert not FLAG.search(repr(caught.value))
    assert not re.search("[\ufdd0-\ufdd2]", str(caught.value) + repr(caught.value))


def test_no_message_of_the_library_holds_a_flag():
    """Options are mentioned by `option`, which each face words; a whole command (`shell`) is the exception."""
    root = Path(shoal.__file__).parent
    for path in root.rglob("*.py"):
        if path.relative_to(root).parts[0] in ("cli", "app", "studies"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
                *("InputError", "Unreachable", "ShoalError", "Message", "refusal", "append", "Check"),
            ):
                texts = [
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                flags = [
                    text
                    for text in texts
                    if FLAG.search(text) and not text.startswith(("shoal ", "--add-root", "--levels"))
                ]
                assert not flags, f"{path.name}, line {node.lineno}: {flags}"


def test_each_face_says_the_same_sentence_its_own_way():
    error = InputError(
        f"x: 2 items are new{VALUES}; pass {option('force')}, {option('unknown', 'root')} or {option('hierarchy', 'COL=SPEC')}",
        values=["p", "q"],
    )
    assert str(error) == "x: 2 items are new; pass force=True, unknown='root' or hierarchy={COL: SPEC}"
    assert error.render(on_command_line) == "x: 2 items are new; pass --force, --unknown root or --hierarchy COL=SPEC"
    assert error.render(on_command_line, show_values=True).startswith("x: 2 items are new (p, q); pass --force")
    assert error.in_words(in_plan).render(on_command_line) == (
        "x: 2 items are new; pass --force, options: {unknown: root} or hierarchies: {COL: SPEC}"
    )
    assert error.within("y: ").render(show_values=True).startswith("y: x: 2 items are new (p, q); ")


def test_an_error_survives_the_way_between_processes():
    error = Unreachable(f"no{VALUES}; ask for {option('l', '2')}", ["witness"], values=["v"])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.values, again.witnesses, again.exit_code) == (str(error), ("v",), ("witness",), 3)
    assert again.render(on_command_line, show_values=True) == "no (v); ask for --l 2"


def test_a_note_is_a_text_that_says_more_when_asked():
    note = Message(f"{option('suppress', '0.02')} would drop one{VALUES}", ["milk"])
    assert note == "suppress=0.02 would drop one"
    assert render(note, on_command_line, show_values=True) == "--suppress 0.02 would drop one (milk)"
    assert render("plain --text") == "plain --text"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_without_their_library_say_what_to_install(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=rf"shoal\[{library}\]"):
        getattr(shoal.read(ROWS), f"to_{library}")()
