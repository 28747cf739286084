"""`shoal verify`: is this the release that was certified, and does its promise still hold?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, print_json, printable, progress, say
from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.certificate.verification import Verification

BROKEN = 3

_SIGNATURE = "The signature"


@options.takes(
    *("sensitive", "policy", "knowledge", "hierarchy", "engine", "threads"),
    sensitive=options.option_with(
        "sensitive",
        "The sensitive items, where they stand among the others: a certificate does not name them.",
        metavar="ITEM,ITEM|FILE",
    ),
    policy=options.option_with(
        "policy", "constraints: the policy of the release, from its owner: a certificate does not hold it."
    ),
    knowledge=options.option_with(
        "knowledge",
        "diversity: the rules that an attacker is taken to know, from shoal rules -o FILE; without them the buckets alone count.",
    ),
    hierarchy=options.option_with(
        "hierarchy",
        "diversity: the hierarchies whose categories stand in the rules; may be repeated.",
        metavar="COL=SPEC",
        default=None,
    ),
)
def verify(
    certificate: Annotated[
        str | None,
        options.argument("CERTIFICATE", "The certificate: a .json, .html or .pdf that shoal wrote."),
    ] = None,
    data: Annotated[
        str | None,
        options.argument("DATA", "The released data: a file, or the folder of Parquet files that Spark wrote."),
    ] = None,
    key: Annotated[
        str | None,
        options.value(
            "PUBLIC",
            "The public key (ed25519, PEM) of whoever should have signed it. Get it from them, not from the certificate.",
            _SIGNATURE,
        ),
    ] = None,
    new_key: Annotated[
        str | None,
        typer.Option(
            "--new-key",
            metavar="FILE",
            help="Verify nothing; make a key to sign with (anonymize --sign FILE) and FILE.pub to give to others. Replaces nothing.",
            rich_help_panel=_SIGNATURE,
        ),
    ] = None,
    lock: Annotated[
        bool, options.flag("--lock", "Lock the new key with a passphrase, which is asked for.", _SIGNATURE)
    ] = False,
    original: Annotated[
        str | None,
        options.value("RAW", "The raw file that the release was made from. Needs the key that the owner keeps."),
    ] = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> int:
    """Check a file against its certificate: the hash, the promise (audited again, from the file alone), the statements, the signature.

    A folder that Spark wrote is identified by its rows. It is read on this machine, or by Spark (--engine spark).

    Exit code 0: everything that can be checked in the file is as stated; 3: something is not, or could not be checked. What only
    the owner can know (the loss, the day) is listed as not checked: a signature (--key) vouches for it.

    [bold]shoal verify public.csv.certificate.json public.csv[/bold]

    [bold]shoal verify certificate.pdf public.csv --key board.key.pub[/bold]

    [bold]shoal verify clicks.certificate.json hdfs:///public/clicks --engine spark=yarn[/bold]
    """
    if new_key is not None:
        if certificate is not None or key is not None:
            raise InputError("--new-key only makes a key; give nothing else with it")
        return _make_key(new_key, lock, json)
    if lock:
        raise InputError("--lock is for a new key; give --new-key FILE with it")
    if certificate is None or data is None:
        raise InputError("give a certificate and the data it is about: shoal verify CERTIFICATE DATA")
    from shoal.release import verify as verified

    trees, engine = given.get("hierarchy"), given.pop("engine", None)
    given.pop("input_limit", None)
    if trees is not None and ("knowledge" not in given or not isinstance(trees, dict)):
        raise InputError("--hierarchy is for the rules of --knowledge, a column each: --hierarchy COL=SPEC")
    if options.is_spark(engine):
        found = _verified_on_spark(engine, certificate, data, given | {"key": key, "original": original})
        return answer(found, certificate, data, json)
    prepare()
    with progress() as tell:
        found = verified(certificate, data, key=key, original=original, progress=tell, **given)
    return answer(found, certificate, data, json)


def answer(found: Verification, certificate: str, data: str, as_json: bool) -> int:
    """Shows what was found; returns the exit code."""
    from shoal.records.database.address import without_password

    if as_json:
        print_json(found.to_dict() | {"certificate": certificate, "data": without_password(data)})
    else:
        show_verification(found, console())
    return 0 if found.holds else BROKEN


def _verified_on_spark(engine: str, certificate: str, data: str, given: dict[str, Any]) -> Verification:
    from shoal.spark.frame_verification import verify_place

    for flag in ("original", "policy", "threads"):
        if given.pop(flag, None) is not None:
            raise InputError(f"--{flag} has no use with --engine spark; leave it out")
    with progress() as tell:
        if tell:
            tell("counting on Spark", 0.0)
        return verify_place(engine, certificate, data, **given)


def show_verification(found: Verification, out: Console) -> None:
    """The verdict, and every check."""
    out.print()
    out.print(found.verdict, style="bold green" if found.holds else "bold red")
    for check in found.checks:
        mark, style = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("-", "yellow")}[check.holds]
        out.print(f"{mark:<4}", style=style, end="")
        out.print(f"{check.name:<12}{printable(check.says)}", soft_wrap=True)
    vouching = "; the holder of the key vouches for it" if found.vouched else ""
    for part in found.not_checked:
        places = ", ".join(part.within(found.certificate))
        if places:
            out.print(f"{'-':<4}", style="yellow", end="")
            out.print(f"not checked {printable(places)}: {printable(part.why)}{vouching}", soft_wrap=True)


def _make_key(path: str, lock: bool, as_json: bool) -> int:
    from shoal.certificate.sign import new_key

    if lock and not sys.stdin.isatty():
        raise InputError("a passphrase is typed at a terminal; leave out --lock, or run it in one")
    asked = (
        typer.prompt("Passphrase of the new key", hide_input=True, confirmation_prompt=True, err=True) if lock else None
    )
    private, public = new_key(path, asked)
    if as_json:
        print_json({"private": private, "public": public})
    else:
        say(f"{private} signs: keep it, and keep it secret; {public} checks: give it to whoever should verify")
    return 0
