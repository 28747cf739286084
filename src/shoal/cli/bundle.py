"""`shoal bundle`: a release, its certificate and all that makes it again, in one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import print_json, printable, progress, say
from shoal.cli.verify import answer


def bundle(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan that the release was made with.")],
    certificate: Annotated[str, typer.Argument(metavar="CERTIFICATE", help="Its certificate, signed or not.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The released file, which is verified first.")],
    output: Annotated[str, options.output("FILE.zip", "Where the bundle goes.")],
    force: options.Force = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
) -> int:
    """Pack a release: the data and its certificate to publish, and the plan, trees, script and notebook that make it again.

    Paths in the packed plan are bare names: it runs wherever it is unpacked, once the original, which is not packed, lies beside it.

    [bold]shoal bundle plan.yaml public.csv.certificate.json public.csv -o release.zip[/bold]
    """
    from shoal.certificate.checks import check_plan
    from shoal.plan import read_plan
    from shoal.plan.bundle import write_bundle
    from shoal.release import verify

    made = read_plan(plan)
    prepare()
    with progress() as tell:
        known: Any = {"sensitive": made.sensitive} if made.sensitive_items or made.sensitive_file else {}
        found = verify(certificate, data, progress=tell, **known)
    if found.verdict == "not verified":
        return answer(found, certificate, data, json)
    check_plan(made, found.certificate, plan)
    options.check_apart_from(output, plan, certificate, data)
    papers: dict[str, str | bytes] = {os.path.basename(path): path for path in (data, certificate)}
    papers |= _other_forms(os.path.basename(certificate), found.certificate)
    files, sha256 = write_bundle(made, papers, output, force=force)
    if json:
        print_json({"bundle": output, "files": files, "sha256": sha256})
    else:
        say(
            f"{printable(output)} holds {len(files):,} files: publish/ can be published, rebuild/ is for you and your board"
        )
    return 0


def _other_forms(name: str, content: Mapping[str, Any]) -> dict[str, bytes]:
    """The other forms of a certificate that is not signed; of one that is, the key, for nobody can sign another form."""
    from shoal.certificate.document import certificate_file, without_signature
    from shoal.certificate.sign import public_pem
    from shoal.plan.bundle import SIGNED_BY

    if "signature" in content:
        return {SIGNED_BY: public_pem(content["signer"]["public_key"])}
    stem, ending = os.path.splitext(name)
    facts = without_signature(content) | {name: content[name] for name in ("acknowledged",) if name in content}
    others = {".json", ".html", *((".pdf",) if find_spec("typst") else ())} - {ending}
    return {stem + other: certificate_file(facts, stem + other) for other in sorted(others)}
