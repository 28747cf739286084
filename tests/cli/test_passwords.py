"""A password is shown nowhere, whatever the spelling of the address that holds it, and in whichever option somebody typed it."""

from __future__ import annotations

import contextlib
import io
from urllib.parse import quote

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli import command_line, main
from shoal.errors import InputError, ShoalError
from shoal.passwords import holds_password, without_passwords
from shoal.plan import plan_of

CANARY = "Hunter2Zyx"
SCHEMES = (
    "postgresql",
    "postgres",
    "POSTGRESQL",
    "jdbc:postgresql",
    "cockroachdb",
    "mysql+pymysql",
    "mssql+pyodbc",
    "snowflake",
    "foo",
)
LEFT_OUT = {"app", "demo", "reproduce", "datasets get", "datasets make", "datasets list", "schema"}
"""Commands that serve, compute for long or need a network, whatever they are given."""

odd = st.sampled_from(("", "a", "%40", "@", ":", "/", " ", "'", '"', "\n", "#", ",", "=", "|", "?", "é", "\\"))
password = st.tuples(odd, odd).map(lambda around: f"{around[0]}{CANARY}{around[1]}")
before = st.sampled_from(("", " ", "  ", "\t", "\n", "'", '"'))


@st.composite
def addresses(draw):
    """An address with the canary in its password."""
    secret, scheme = draw(password), draw(st.sampled_from(SCHEMES))
    plain = secret.strip(" \n'\",;|\\&=?") or CANARY
    kind = draw(st.integers(0, 8))
    if kind == 0:
        return f"{draw(before)}{scheme}://user:{secret}@host:5432/db?table=t"
    if kind == 1:
        return f"{draw(before)}{scheme}:user:{secret}@host/db" if scheme != "foo" else f"jdbc:foo:user:{secret}@host"
    if kind == 2:
        return f"{draw(before)}{scheme}://host/db?user=u&password={quote(secret)}&table=t"
    if kind == 3:
        return quote(f"{scheme}://user:{plain}@host/db", safe="")
    if kind == 4:
        return f"Driver={{x}};Server=host;UID=u;{draw(st.sampled_from(('PWD', 'Password', 'pwd')))}={plain};Database=d"
    if kind == 5:
        return f"host=h user=u password='{plain}' dbname=d"
    if kind == 6:
        return f"{scheme}://user%40corp:{quote(secret)}@host/db"
    if kind == 7:
        return f"user:{plain.replace(' ', '')}@host/db"
    return f"{scheme}://:{secret}@host"


def _places():
    """(words of the command, flag or None for the n-th argument, number of arguments before it)."""
    root = typer.main.get_command(command_line())
    stack = [((name,), command) for name, command in root.commands.items()]
    while stack:
        words, command = stack.pop()
        if " ".join(words) in LEFT_OUT:
            continue
        if hasattr(command, "commands"):
            stack += [((*words, name), inner) for name, inner in command.commands.items()]
            continue
        arguments = [param for param in command.params if param.param_type_name == "argument"]
        yield from ((words, None, place) for place in range(len(arguments) + 1))
        yield from (
            (words, param.opts[0], len(arguments))
            for param in command.params
            if param.param_type_name == "option" and not param.is_flag
        )


PLACES = sorted(_places(), key=str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("passwords")
    (made / "x.csv").write_text("items\na|b\na|b\na\n")
    return made


def told(arguments):
    """The exit code, and all that is printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
        out.flush()
    return code, out.buffer.getvalue().decode() + err.getvalue()


@settings(max_examples=300)
@given(st.sampled_from(PLACES), addresses(), st.booleans())
def test_no_command_shows_a_password(folder, place, address, as_json):
    words, flag, before = place
    given = ["x.csv"] * before + ([address] if flag is None else [flag, address])
    with contextlib.chdir(folder):
        shown = told([*words, *given, *(["--json"] if as_json else [])])[1]
    assert CANARY not in shown


@given(addresses())
def test_a_password_is_taken_out_of_any_text(address):
    for text in (
        address,
        f"there is no such file; check the path {address!r}",
        f"{address}: it is a folder; name a file in it",
    ):
        assert CANARY not in without_passwords(text)
        assert CANARY not in str(ShoalError(text))
        assert CANARY not in repr(InputError(text))


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://user@host/db?table=visits",
        "hdfs://host:9000/data",
        "spark=spark://host:7077",
        "http://127.0.0.1:8080/start?token=abc",
        "x.csv: line 3 has 4 cells, but the header has 3",
        "data.jsonl: no line has a field '@id' for items=; its fields are 'a'",
        "x.txt: line 2 is not of the form @ITEM=id=name; correct or remove it",
        "100% of the rows; 5%25",
        "column 'password' has no role",
    ],
)
def test_what_holds_no_password_stays_as_it_is(text):
    assert without_passwords(text) == text
    assert not holds_password(text)


@pytest.mark.parametrize(
    "address",
    [f" postgresql://u:{CANARY}@h/db?table=x", f"jdbc:postgresql://u:{CANARY}@h/db", f"postgresql:u:{CANARY}@h"],
)
@pytest.mark.parametrize(
    "call", [shoal.read, shoal.profile, lambda data: shoal.audit(data, shoal.KmAnonymity(2, 1)), shoal.read_plan]
)
def test_python_shows_no_password(address, call):
    with pytest.raises(InputError) as caught:
        call(address)
    assert CANARY not in str(caught.value)


def test_a_plan_is_no_place_for_a_password_in_any_spelling(tmp_path):
    plan = {"version": 1, "input": {"path": "x.csv"}, "guarantee": {"model": "km", "k": 2, "m": 1}}
    for where in ("algorithm", "sensitive_file", "hierarchies", "engine"):
        for address in (f"jdbc:postgresql://u:{CANARY}@h/db", f"Server=h;Password={CANARY};"):
            with pytest.raises(InputError, match=f"{where}: a plan is no place for a password") as caught:
                plan_of(plan | {where: address})
            assert CANARY not in str(caught.value)
