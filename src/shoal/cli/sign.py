"""`shoal sign`: vouch for a certificate after the release was looked at, and say that its limits were read."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import print_json, printable, progress, say
from shoal.errors import InputError


@options.takes(
    "sensitive",
    sensitive=options.option_with(
        "sensitive",
        "The sensitive items, where they stand among the others: a certificate does not name them.",
        metavar="ITEM,ITEM|FILE",
    ),
)
def sign(
    certificate: Annotated[
        str, typer.Argument(metavar="CERTIFICATE", help="The certificate: a .json, .html or .pdf that shoal wrote.")
    ],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The released data, which are verified first.")],
    key: Annotated[
        str,
        typer.Option(
            metavar="PRIVATE",
            help="Your private key (ed25519, PEM); a passphrase is asked for. shoal verify --new-key FILE makes one.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str | None,
        options.output("FILE", "Where the signed one goes; over the old one unless given."),
    ] = None,
    acknowledge: Annotated[
        bool,
        options.flag(
            "--acknowledge", "Say in it that you have read its limits, which are shown, and publish under them."
        ),
    ] = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> int:
    """Sign a certificate, once its data were verified against it: with your key, and, if you like, with its limits acknowledged.

    [bold]shoal sign public.csv.certificate.json public.csv --key board.key --acknowledge[/bold]

    [bold]shoal sign certificate.html public.csv --key board.key -o certificate.pdf[/bold]
    """
    from shoal.certificate.document import acknowledge as acknowledged
    from shoal.certificate.document import certificate_file, check_certificate_name, read_certificate, without_signature
    from shoal.certificate.facts import limits_of
    from shoal.cli.verify import answer
    from shoal.records.storage.publication import Publication, check_apart
    from shoal.release import verify

    target = output or certificate
    check_certificate_name(target)
    check_apart((target,), [("the data", data), ("your key", key)])
    vouching = _signer(key)
    prepare()
    with progress() as tell:
        found = verify(
            certificate, data, progress=tell, **{name: given[name] for name in ("sensitive",) if name in given}
        )
    if found.verdict == "not verified":
        return answer(found, certificate, data, json)
    content = read_certificate(certificate).content
    facts = acknowledged(content) if acknowledge else without_signature(content)
    with Publication((target,), force=True) as publication, publication.file(target) as file:
        file.write(certificate_file(facts, target, vouching))
    if json:
        print_json(
            {"certificate": target, "signed_by": vouching.public_key, "acknowledged": facts.get("acknowledged", [])}
        )
        return 0
    for limit in limits_of(facts) if acknowledge else ():
        say(f"acknowledged: {printable(limit)}")
    for note in vouching.notes:
        say(note)
    say(f"{printable(os.path.basename(target))} is signed with key {vouching.public_key}")
    return 0


def _signer(path: str) -> Any:
    """The holder of the key; the passphrase of a locked one is asked for, and kept nowhere."""
    from shoal.certificate.sign import LockedKey, signer

    try:
        return signer(path)
    except LockedKey as locked:
        if not sys.stdin.isatty():
            raise InputError(f"{locked.message}, at a terminal") from None
    return signer(path, typer.prompt("Passphrase of the key", hide_input=True, err=True))
