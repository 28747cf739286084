"""`shoal stack`: the batches of a series put together."""

from __future__ import annotations

from typing import Annotated, Any

from shoal.cli import options
from shoal.cli.terminal import console, print_json, printable, progress, show_notes
from shoal.errors import InputError, number_of


@options.takes(*options.SETS, "output", "certificate", "sign", "threads")
def stack(
    ledger: Annotated[str, options.argument("LEDGER", "The ledger of the series, yours alone.")],
    files: Annotated[list[str], options.argument("FILES...", "Batches, as they were published.")],
    force: options.Force = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Put published batches of a series (--series) together, for analysts who want them as one file.

    What older batches tell finer than the series does today is told as today: a token means the same in all rows then. The stack is
    audited and certified as a release is, and its rows are shuffled.

    [bold]shoal stack ledger.json week-*.csv -o year-to-date.csv[/bold]
    """
    from shoal.release import stack as put_together

    output = given.pop("output", None)
    paths = {name: given.pop(name) for name in ("certificate", "sign") if name in given}
    if output == "-" and json:
        raise InputError("-o - and --json both need standard output; write to a file, or leave --json out")
    if output is None and (force or paths):
        raise InputError("--certificate, --sign and --force need -o; without it nothing is written")
    with progress() as tell:
        release = put_together(ledger, files, progress=tell, **given)
        if output is not None:
            release.write(output, force=force, progress=tell, **paths)
    if json:
        print_json(release.to_dict())
        return
    out, facts = console(stderr=output == "-"), release.to_dict()
    batches = number_of(len(files), "batch", "batches")
    out.print(f"{release.guarantee} holds for {number_of(release.rows, 'row')} of {batches}, under the cut of today")
    show_notes(facts["notes"], out)
    for what in ("output", "certificate"):
        if facts[what] not in (None, "-"):
            out.print(f"{what:<12} {printable(facts[what])}", soft_wrap=True)
