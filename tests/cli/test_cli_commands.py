"""The commands, run in this process: exit codes, JSON, what is shown and what is refused."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal import Baskets

ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3
TREE = "milk;dairy;shop\nbrie;dairy;shop\nnappies;baby;shop\nwipes;baby;shop\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with raw.csv and tree.csv, which is where commands run."""
    monkeypatch.chdir(tmp_path)
    shoal.write(Baskets.from_rows(ROWS), "raw.csv")
    (tmp_path / "tree.csv").write_text(TREE)
    return tmp_path


def files(folder):
    return sorted(file.name for file in folder.iterdir())


def test_version_and_help_answer(run):
    assert run("--version") == (0, f"shoal {shoal.__version__}\n", "")
    for command in ([], ["anonymize", "--help"], ["hierarchy"], ["datasets"], ["hierarchy", "check", "--help"]):
        code, out, _ = run(*command)
        assert code == 0
        assert "Usage" in out


def test_anonymize_writes_data_certificate_and_rules(shop, run):
    code, out, _ = run("anonymize", "raw.csv", "-o", "public.csv", "--hierarchy", "tree.csv", "--rules", "rules.csv")
    assert code == 0
    assert "5^2-anonymity holds" in out
    assert "items as they are" in out
    assert files(shop) == ["public.csv", "public.csv.certificate.json", "raw.csv", "rules.csv", "tree.csv"]
    assert run("audit", "public.csv")[0] == 0


def test_anonymize_json_is_the_documented_document(shop, run):
    code, out, _ = run("anonymize", "raw.csv", "-o", "public.csv", "--hierarchy", "tree.csv", "--json")
    facts = json.loads(out)
    assert code == 0
    promised = {"algorithm", "guarantee", "holds", "loss", "optimal", "bound", "rows", "seconds", "peak_mb"}
    assert promised | {"input_sha256", "output_sha256", "suppressed", "audit", "notes"} <= set(facts)
    assert facts["holds"] is True
    assert (facts["output"], facts["certificate"]) == ("public.csv", "public.csv.certificate.json")


def test_anonymize_without_an_output_only_shows_the_cost(shop, run):
    code, out, err = run("anonymize", "raw.csv", "--hierarchy", "tree.csv", "--json")
    assert code == 0
    assert json.loads(out)["output"] is None
    assert "nothing was written" in err
    assert files(shop) == ["raw.csv", "tree.csv"]


def test_existing_files_need_force(shop, run):
    assert run("anonymize", "raw.csv", "-o", "public.csv")[0] == 0
    before = (shop / "public.csv").read_bytes()
    code, _, err = run("anonymize", "raw.csv", "-o", "public.csv", "--k", "2")
    assert code == 2
    assert "--force" in err
    assert (shop / "public.csv").read_bytes() == before
    assert run("anonymize", "raw.csv", "-o", "public.csv", "--k", "2", "--force")[0] == 0


def test_a_crowd_larger_than_the_data_is_exit_code_3_and_writes_nothing(shop, run):
    code, out, err = run("anonymize", "raw.csv", "-o", "public.csv", "--k", "100")
    assert (code, out) == (3, "")
    assert err.startswith("shoal: ")
    assert "choose a smaller k" in err
    assert files(shop) == ["raw.csv", "tree.csv"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["missing.csv"], "no such file"),
        (["raw.csv", "--hierarchy", "missing.csv"], "neither a file nor a known form"),
        (["raw.csv", "--hierarchy", "balanced:1"], "balanced:5"),
        (["raw.csv", "--model", "kx"], "choose one of km, k, rt, lm, diversity, constraints and chunks"),
        (["raw.csv", "--algorithm", "magic"], "choose one of"),
        (["raw.csv", "--algorithm", "aa", "--suppress", "0.1"], "--suppress: it is for local"),
        (["raw.csv", "--k", "0"], "at least 1"),
        (["raw.csv", "--k", "many"], "--help"),
        (["raw.csv", "--suppress", "2"], "give a share from 0 to 1"),
        (["raw.csv", "--nonsense"], "--nonsense"),
        (["raw.csv", "--items", "basket"], "basket"),
        (["raw.csv", "--certificate", "c.txt"], "end in .json"),
        (["raw.csv", "--time-limit", "0"], "more than 0"),
        (["raw.csv", "--suppress", "nan"], "give a share from 0 to 1"),
        (["raw.csv", "--threads", "0"], "at least 1"),
        (["raw.csv", "--id", "items"], "no column is left"),
        ([""], "give a text that is not empty"),
        ([], "DATA"),
    ],
)
def test_bad_usage_is_exit_code_2_with_one_sentence_and_writes_nothing(shop, run, arguments, complaint):
    code, out, err = run("anonymize", *arguments, "-o", "public.csv")
    assert (code, out) == (2, "")
    assert err.startswith("shoal: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert files(shop) == ["raw.csv", "tree.csv"]


@pytest.mark.parametrize("arguments", [["missing.csv"], ["raw.csv", "--k", "many"], ["raw.csv", "--k", "1000"]])
def test_errors_are_json_too_when_asked(shop, run, arguments):
    code, out, err = run("anonymize", *arguments, "-o", "public.csv", "--json")
    assert json.loads(out)["exit_code"] == code
    assert json.loads(out)["error"] in err


def test_output_must_not_be_the_input(shop, run):
    code, _, err = run("anonymize", "raw.csv", "-o", "raw.csv", "--force")
    assert code == 2
    assert "an input of this release" in err


@pytest.mark.parametrize(
    "more", [["--json", "-o", "-"], ["--rules", "r.csv"], ["--certificate", "c.json"], ["--force"]]
)
def test_options_that_contradict_each_other_are_refused(shop, run, more):
    assert run("anonymize", "raw.csv", *more)[0] == 2
    assert files(shop) == ["raw.csv", "tree.csv"]


def test_a_fault_of_ours_is_exit_code_1_without_a_traceback(shop, run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("shoal.publish.flags_to_read", broken)
    code, out, err = run("anonymize", "raw.csv", "-o", "public.csv")
    assert (code, out) == (1, "")
    assert "a bug in Shoal: ZeroDivisionError in publish.py, line " in err
    assert "oops" not in err
    assert "File " not in err
    assert "(oops)" in run("anonymize", "raw.csv", "-o", "public.csv", "--show-values")[2]
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    assert "File " in run("anonymize", "raw.csv", "-o", "public.csv")[2]


def test_an_interrupt_is_exit_code_130_and_writes_nothing(shop, run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.publish.flags_to_read", interrupted)
    code, out, _ = run("anonymize", "raw.csv", "-o", "public.csv")
    assert (code, out) == (130, "")
    assert files(shop) == ["raw.csv", "tree.csv"]


def test_audit_of_raw_data_is_exit_code_3_with_witnesses(shop, run):
    code, out, _ = run("audit", "raw.csv")
    assert code == 3
    assert "does not hold" in out
    assert "brie" not in out
    assert "brie" in run("audit", "raw.csv", "--show-values")[1]
    code, out, _ = run("audit", "raw.csv", "--json")
    verdict = json.loads(out)
    assert code == 3
    assert verdict["holds"] is False
    assert {"guarantee", "checked", "violations", "witnesses"} <= set(verdict)
    assert verdict["witnesses"][0]["support"] == 2


def test_audit_catches_a_token_that_was_changed(shop, run):
    run("anonymize", "raw.csv", "-o", "public.csv", "--hierarchy", "tree.csv")
    lines = (shop / "public.csv").read_text().splitlines()
    place = next(i for i, line in enumerate(lines[1:], 1) if "dairy" in line or "milk" in line)  # rows are shuffled
    lines[place] = lines[place].replace("dairy", "brie").replace("milk", "brie")
    (shop / "public.csv").write_text("\n".join(lines) + "\n")
    assert run("audit", "public.csv")[0] == 3


def test_audit_catches_rows_that_were_dropped(shop, run):
    run("anonymize", "raw.csv", "-o", "public.csv", "--hierarchy", "tree.csv")
    lines = (shop / "public.csv").read_text().splitlines()
    pair = next(line for line in lines[1:] if " " in line)
    kept = [line for line in lines if line != pair] + [pair] * 4
    (shop / "public.csv").write_text("\n".join(kept) + "\n")
    assert run("audit", "public.csv")[0] == 3


def test_profile_shows_the_risk_and_the_categories_that_force_the_root(shop, run):
    (shop / "tree.csv").write_text(TREE.replace("brie;dairy", "brie;luxury"))
    code, out, _ = run("profile", "raw.csv", "--hierarchy", "tree.csv", "--show-values")
    assert code == 0
    assert "for example" in out
    assert "luxury" in out
    facts = json.loads(run("profile", "raw.csv", "--hierarchy", "tree.csv", "--json")[1])
    assert facts["rare_categories"][0] == {"names": ["luxury"], "support": 2, "from_m": 1}
    assert [exposure["m"] for exposure in facts["exposures"]] == [1, 2]


def test_reading_options_reach_the_reader(shop, run):
    (shop / "long.csv").write_text("who,what,when\n" + "".join(f"{n},{item},9\n" for n in range(6) for item in "ab"))
    code, out, _ = run(
        "anonymize", "long.csv", "--id", "who", "--items", "what", "--drop", "when", "--json", "-o", "p.csv"
    )
    facts = json.loads(out)
    assert code == 0
    assert (facts["rows"], facts["items"], facts["format"]) == (6, 2, "long")
    (shop / "wide.tsv").write_text("x\ty\tsets\n" + "1\t2\ta;b\n" * 5)
    code, out, _ = run("profile", "wide.tsv", "--drop", "x,y", "--separator", ";", "--json")
    assert json.loads(out)["items"] == 2


def test_names_cannot_steer_the_terminal(shop, run):
    shoal.write(Baskets.from_rows([["\x1b[31mred", "[bold]x"]] * 3), "odd.jsonl")
    code, out, _ = run("audit", "odd.jsonl", "--k", "5", "--show-values")
    assert code == 3
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert "[bold]x" in out


def test_json_holds_no_character_that_steers_a_terminal(shop, run):
    name = "\x9b31m\u202e\U000e0041\x1b\x07"
    shoal.write(Baskets.from_rows([[name, "Zoë"]]), "odd.jsonl")
    _, out, _ = run("audit", "odd.jsonl", "--json")
    assert all(c.isprintable() or c == "\n" for c in out)
    assert [name] in [witness["items"] for witness in json.loads(out)["witnesses"]]


def test_too_little_memory_is_said_in_a_sentence(shop, run, monkeypatch):
    def starved(*_, **__):
        raise MemoryError("Unable to allocate 728. TiB for an array with shape (1,)")

    monkeypatch.setattr("shoal.records.samples.quest.quest", starved)
    code, out, err = run("datasets", "make", "-o", "x.dat")
    assert (code, out) == (2, "")
    assert "not enough memory (Unable to allocate 728. TiB);" in err


def test_remedies_for_hierarchies_can_be_pasted(shop, run):
    (shop / "raw.csv").write_text("items\n" + "A1 B1\n" * 6)
    (shop / "codes.csv").write_text("code,group,root,text\nA1,A,*,one\nB1,B,*,two\n")
    (shop / "roots.csv").write_text("A1;A;x\nA2;A;x\nB1;B;y\n")
    for file in ("codes.csv", "roots.csv"):
        code, _, err = run("anonymize", "raw.csv", "--hierarchy", file)
        assert code == 2
        command, _, tree = err.strip().partition("run shoal ")[2].partition(" and use ")
        tree = tree.partition(",")[0]
        assert run(*command.replace("LEAF,...,ROOT", "code,group,root").split())[0] == 0
        assert run("anonymize", "raw.csv", "--hierarchy", tree)[0] == 0


def test_hierarchy_is_built_shown_checked_and_converted(shop, run):
    assert run("hierarchy", "build", "raw.csv", "--hierarchy", "balanced:2", "-o", "built.csv")[0] == 0
    assert run("hierarchy", "build", "raw.csv", "--hierarchy", "balanced:2", "-o", "built.csv")[0] == 2
    code, out, _ = run("hierarchy", "show", "tree.csv", "--depth", "1")
    assert code == 0
    assert "dairy" in out
    assert "milk" not in out
    assert json.loads(run("hierarchy", "show", "balanced:2", "--data", "raw.csv", "--json")[1])["leaves"] == 4
    assert run("hierarchy", "show", "balanced:2")[0] == 2
    assert run("hierarchy", "convert", "tree.csv", "-o", "tree.json")[0] == 0
    again = json.loads(run("hierarchy", "show", "tree.json", "--json")[1])
    assert [line["label"] for line in again["outline"]][:2] == ["shop", "dairy"]


def test_hierarchy_check_tells_what_a_release_would_stumble_over(shop, run):
    code, out, _ = run("hierarchy", "check", "tree.csv", "raw.csv", "--json")
    assert code == 0
    assert json.loads(out)["usable"] is True
    (shop / "tree.csv").write_text("milk;dairy;shop\nrifle;hunting;shop\n")
    code, out, _ = run("hierarchy", "check", "tree.csv", "raw.csv", "--json")
    facts = json.loads(out)
    assert code == 2
    assert facts["usable"] is False
    assert facts["findings"][0]["kind"] == "missing"
    assert run("hierarchy", "check", "tree.csv")[0] == 0


def test_datasets_are_listed_and_found(shop, run, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(shop))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shop / "cache"))
    code, out, _ = run("datasets", "list", "--json")
    assert code == 0
    assert "retail" in [one["name"] for one in json.loads(out)["datasets"]]
    assert "retail" in run("datasets", "list")[1]
    (shop / "chess.dat").write_text("1 2 3\n")
    code, out, err = run("datasets", "get", "chess")
    assert code == 0
    assert out.strip() == str(shop / "chess.dat")
    assert "is not the published chess" in err
    assert run("datasets", "get", "nonsense")[0] == 2


def test_made_data_sets_can_be_repeated(shop, run):
    make = ["datasets", "make", "--transactions", 50, "--items", 20, "--length", 4, "--seed", 3]
    code, out, _ = run(*make, "-o", "one.dat", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 50
    run(*make, "-o", "two.dat")
    assert (shop / "one.dat").read_bytes() == (shop / "two.dat").read_bytes()
    assert run(*make, "-o", "one.dat")[0] == 2
    assert "does not tell a format" in run("datasets", "make", "--transactions", 10**12, "-o", "one.xlsx")[2]


def test_results_do_not_depend_on_the_number_of_threads(shop, run):
    one, two = (json.loads(run("anonymize", "raw.csv", "--threads", n, "--json")[1]) for n in (1, 2))
    for figure in ("loss", "levels", "audit", "optimal"):
        assert one[figure] == two[figure]


@pytest.mark.parametrize(
    "command",
    [
        ["init", "raw.csv"],
        ["rules", "raw.csv", "--quasi", "what"],
        ["datasets", "make"],
        ["hierarchy", "build", "raw.csv"],
        ["hierarchy", "convert", "tree.csv"],
        ["anonymize", "raw.csv"],
    ],
)
def test_no_command_writes_over_the_key_of_the_owner(shop, run, monkeypatch, command):
    key = shop / "owner.csv"
    key.write_bytes(b"k" * 32)
    monkeypatch.setenv("SHOAL_KEY", str(key))
    code, _, err = run(*command, "-o", "owner.csv", "--force")
    assert code == 2
    assert "owner.csv: it is your key for the hashes in certificates; write to another file" in err
    assert key.read_bytes() == b"k" * 32


def test_rules_and_trees_are_not_written_over_the_data(shop, run):
    before = (shop / "raw.csv").read_bytes()
    for command in (["rules", "raw.csv", "--quasi", "x"], ["hierarchy", "build", "raw.csv"]):
        code, _, err = run(*command, "-o", "raw.csv", "--force")
        assert (code, (shop / "raw.csv").read_bytes()) == (2, before)
        assert "raw.csv: it is an input; write to another file" in err
