"""Numbers and dates as columns spell them: read, reckoned with, and published in the same spelling; nothing is merged."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import InputError
from shoal.cli import main
from shoal.hierarchy.kinds.recognition import recognise
from shoal.records.formats.text import guard
from shoal.records.source import load_records
from shoal.records.spelling.local_forms import DATES, NUMBERS, form_of

NUMBER = st.integers(-(10**7), 10**7)


@pytest.fixture(autouse=True)
def _own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "key"))
    monkeypatch.chdir(tmp_path)


def german(cents: int, grouped: bool, minus: str = "-") -> str:
    """The slow twin: a number in cents as it stands in a German file."""
    sign, digits = minus * (cents < 0), f"{abs(cents) // 100}"
    parts = []
    while grouped and len(digits) > 3:
        parts.insert(0, digits[-3:])
        digits = digits[:-3]
    return f"{sign}{'.'.join([digits, *parts])},{abs(cents) % 100:02}"


@given(st.lists(NUMBER, min_size=1, max_size=8, unique=True), st.booleans(), st.sampled_from("-\u2212"))
def test_numbers_come_back_character_by_character(numbers, grouped, minus):
    texts = [german(number, grouped, minus) for number in numbers]
    form = form_of("comma", texts, "price")
    plain = [form.plain(text) for text in texts]
    assert [round(float(text) * 100) for text in plain] == numbers
    assert [form.own(text) for text in plain] == texts
    for low, high in pairwise(plain):
        for cell in (f"[{low}:{high}]", f"[{low}-{high})", f"{low}+", f"<{high}"):
            assert minus == "-" or all(sign not in form.own(cell) for sign in (":-", "[-", "<-", "--"))
            assert form.plain(form.own(cell)) == cell


@given(
    st.lists(st.dates(), min_size=1, max_size=8), st.sampled_from(sorted(DATES)), st.sampled_from("./-"), st.booleans()
)
def test_dates_come_back_character_by_character(days, way, sign, loose):
    texts = []
    for day in days:
        figures = {"d": str(day.day), "m": str(day.month), "y": f"{day.year:04}"}
        texts.append(
            sign.join(figures[letter] if loose or letter == "y" else figures[letter].zfill(2) for letter in way)
        )
    form = form_of(way, texts, "day")
    assert [form.plain(text) for text in texts] == [day.isoformat() for day in days]
    assert [form.own(form.plain(text)) for text in texts] == texts


@given(
    st.sampled_from(sorted(NUMBERS)),
    st.lists(st.text("0123456789.,' -", min_size=1, max_size=8), max_size=5, unique=True),
)
def test_what_is_read_is_never_merged(way, texts):
    try:
        form = form_of(way, texts, "price")
    except InputError:
        return
    assert len({form.plain(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("way", "values", "plain"),
    [
        ("comma", ["3,5", "4"], ["3.5", "4"]),
        ("comma", ["1.234", "12"], ["1234", "12"]),  # a point parts thousands there, and nothing else
        ("comma", ["1\u202f234,5", "7,25"], ["1234.5", "7.25"]),
        ("comma", ["1 234,5", "n/a"], ["1234.5", "n/a"]),
        ("comma", ["\u22123,5", "\u22121.234"], ["-3.5", "-1234"]),
        ("point", ["1,234.5", "7.25"], ["1234.5", "7.25"]),
        ("point", ["1'234.5", "-7.25"], ["1234.5", "-7.25"]),
        ("dmy", ["3.4.2024", "13.4.2024"], ["2024-04-03", "2024-04-13"]),
        ("mdy", ["04/03/2024 10:30 PM"], ["2024-04-03 10:30 PM"]),
        ("ymd", ["2024/04/03", "2024/02/31"], ["2024-04-03", "2024/02/31"]),
    ],
)
def test_spellings(way, values, plain):
    form = form_of(way, values, "c")
    assert [form.plain(value) for value in values] == plain
    assert [form.own(value) for value in plain] == values


@pytest.mark.parametrize(
    ("way", "values"),
    [
        ("comma", ["3,5", "3.5"]),  # would be one number
        ("comma", ["1.234,0", "1234,0"]),
        ("comma", ["1.234,0", "1 234,0"]),
        ("point", ["1,234.5", "3,5"]),
        ("comma", ["1.234", "0.500"]),  # a point that parts decimals
        ("comma", ["\u22123,5", "-4"]),
        ("dmy", ["03.04.2024", "04.25.2024"]),  # months first
        ("mdy", ["04-25-2024", "25-04-2024"]),
        ("ymd", ["2024/04/03", "2024/25/04"]),
        ("dmy", ["03.04.2024", "2024-04-03"]),
        ("dmy", ["03.04.2024", "3.4.2024"]),
        ("dmy", ["03.04.2024", "03/04/2024"]),
    ],
)
def test_two_spellings_of_one_value_are_refused_without_naming_it(way, values):
    with pytest.raises(InputError, match="1 of its 2 different values are spelled otherwise") as error:
        load_records(polars.DataFrame({"c": values}), quasi="c", spelling={"c": way})
    assert not any(value in str(error.value) for value in values)


def european(path: Path) -> Path:
    """A file with semicolons, decimal commas and days first."""
    rows = [f"{i % 9},{i % 4}5;{1 + i % 12:02}.{1 + i % 3:02}.2024;{'Nord' if i % 2 else 'Süd'}" for i in range(60)]
    path.write_text("preis;tag;ort\n" + "\n".join(rows) + "\n")
    return path


def test_a_european_table_is_published_as_it_is_written(tmp_path, capsys):
    european(tmp_path / "in.csv")
    asked = "--quasi preis,tag,ort --spelling preis=comma --spelling tag=dmy --hierarchy tag=dates:ranges"
    assert main(f"anonymize in.csv --model k --k 4 {asked} --limit preis=6.5 -o out.csv".split()) == 0
    published = polars.read_csv("out.csv", separator=";", infer_schema=False)
    assert all(text.count(",") in (1, 2) and "." not in text for text in published["preis"])
    assert any(text.startswith("[") for text in published["preis"])
    assert any(".." in text and text.count(".2024") == 2 for text in published["tag"])
    assert main(["audit", "out.csv", "--k", "4", "--model", "k", "--quasi", "preis,tag,ort"]) == 0
    assert main(["verify", "out.csv.certificate.json", "out.csv"]) == 0
    capsys.readouterr()
    assert main(f"evaluate in.csv out.csv {asked} --json".split()) == 0
    assert json.loads(capsys.readouterr().out)


def test_trees_of_all_kinds_speak_the_spelling_of_the_column(tmp_path):
    european(tmp_path / "in.csv")
    for spec, form in (
        ("round:0.5", r"\d(,5)?|\[.*\]|\*"),
        ("bands:2.5", r"\[\d(,5)?-\d+(,5)?\)|\*"),
        ("balanced:3", r"[\d,]+|\[[\d,]+:[\d,]+[)\]]|\*"),
    ):
        release = shoal.anonymize(
            "in.csv",
            shoal.TableAnonymity(3),
            quasi=("preis",),
            drop=("tag", "ort"),
            spelling={"preis": "comma"},
            hierarchy={"preis": spec},
        )
        assert polars.Series(release.to_polars()["preis"]).str.contains(f"^({form})$").all(), spec
    moved = shoal.anonymize(
        "in.csv",
        shoal.TableAnonymity(3),
        quasi=("ort",),
        keep=("tag",),
        drop="preis",
        spelling={"tag": "dmy"},
        shift={"tag": 3},
    )
    assert moved.to_polars()["tag"].str.contains(r"^\d\d\.\d\d\.20\d\d$").all()


def test_negative_numbers_and_bands_of_thousands_are_read_again(tmp_path, capsys):
    rows = [f"{minus}{n}.{n}50,{n};{n % 2}" for n in range(1, 10) for minus in ("-", "") for _ in range(2)]
    Path("in.csv").write_text("preis;ort\n" + "\n".join(rows) + "\n")
    asked = "--quasi preis,ort --spelling preis=comma"
    assert main(f"anonymize in.csv --model k --k 2 {asked} -o out.csv".split()) == 0
    assert sorted(Path("out.csv").read_text().split("\n")[1:]) == sorted(["", *rows])  # -1.150,1 is no formula
    assert main(f"anonymize in.csv --model k --k 4 {asked} --hierarchy preis=bands:1000 -o bands.csv".split()) == 0
    published = Path("bands.csv").read_text()
    assert "[−" not in published
    assert "000)" in published
    for name, k in (("out.csv", 2), ("bands.csv", 4)):
        assert main(f"audit {name} --model k --k {k} {asked}".split()) == 0
        assert main(["verify", f"{name}.certificate.json", name]) == 0
    Path("gate.yaml").write_text(
        "version: 1\nchecks: [{files: '*s.csv', columns: {preis: quasi, ort: quasi}, input: {spelling: {preis: comma}}, "
        "guarantee: {model: k, k: 4}, certificate: required}]\n"
    )
    assert main(["gate", "gate.yaml"]) == 0


@pytest.mark.parametrize("form", [",", ".", " ", "'", "\u2019", "\u00a0", "\u202f"])
def test_numbers_are_no_formulas_however_they_are_spelled(form):
    assert guard(f"-1{form}234") == f"-1{form}234"
    for text in (f"-1{form}{form}2", f"-1{form}2+3", f"=1{form}2", f"-1{form}A1", f"@1{form}2", "-1;2", "-1:2", "-1|2"):
        assert guard(text) == f"'{text}"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"spelling": {"preis": "dot"}}, "preis"),
        ({"spelling": {"ort": "comma"}, "drop": ("ort",), "quasi": ("preis", "tag")}, "not a column that is quasi"),
        ({"spelling": {"preis": "comma"}, "hierarchy": {"preis": "tree.csv"}}, "names values as they stand"),
    ],
)
def test_what_a_spelling_is_not_for(tmp_path, asked, says):
    european(tmp_path / "in.csv")
    with pytest.raises(InputError, match=says):
        shoal.anonymize("in.csv", shoal.TableAnonymity(3), **({"quasi": ("preis", "tag", "ort")} | asked))


def test_sets_have_none(tmp_path):
    Path("sets.csv").write_text("items\na b\na b\n")
    with pytest.raises(InputError, match="spelling"):
        shoal.anonymize("sets.csv", shoal.KmAnonymity(2, 2), spelling={"items": "comma"})


def test_a_plan_says_it(tmp_path):
    european(tmp_path / "in.csv")
    Path("plan.yaml").write_text(
        "version: 1\ninput: {path: in.csv, spelling: {preis: comma, tag: dmy}}\n"
        "columns: {preis: quasi, tag: quasi, ort: quasi}\nguarantee: {model: k, k: 4}\noutputs: {data: out.csv}\n"
    )
    assert main(["run", "plan.yaml"]) == 0
    assert "," in Path("out.csv").read_text()


def test_columns_that_need_one_are_noticed(tmp_path, capsys):
    assert "spelling comma" in recognise(["3,5", "1.234,5"]).reason
    assert "spelling point" in recognise(["1,234.5", "7"]).reason
    assert "spelling comma or point" in recognise(["1,234", "12"]).reason
    assert "spelling dmy or mdy" in recognise(["03/04/2024", "05/06/2024"]).reason
    assert not recognise(["a,b", "3,5"]).reason
    assert not recognise(["250.00", "7"]).reason
    european(tmp_path / "in.csv")
    assert main(["init", "in.csv"]) == 0
    assert "preis: quasi" in (said := capsys.readouterr().out) or "preis:" in said
    assert "spelling comma" in said
