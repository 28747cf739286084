"""`shoal reconstruct`: sets of records that a release in chunks may have come from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.terminal import show_rows
from shoal.errors import InputError


@options.takes("seed", "format", "query")
def reconstruct(
    data: options.Data,
    output: Annotated[
        str,
        options.output("FILE", "The file to write, in the format of its name; - for standard output."),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The k of the promise: an item of a rest then stands in 1 to k - 1 records of its cluster, more likely in few.",
            show_default="in one record each",
        ),
    ] = None,
    certificate: Annotated[str | None, options.value("FILE", "The certificate of the release, which says k.")] = None,
    force: options.Force = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Draw records that a release in chunks (--model chunks) may have come from, for tools that take rows.

    Items of one chunk are together as they were, others as chance has it: draw several, with --seed 1, 2, ..., and trust what is alike in
    all. What can be counted without drawing is counted better by shoal.estimate_counts and estimate_pairs, in Python.

    [bold]shoal reconstruct public.csv --certificate public.csv.certificate.json -o drawn.csv[/bold]
    """
    from shoal.analysis.reconstruction import drawing, release_in_chunks
    from shoal.records.database.address import with_query, without_password
    from shoal.records.layout import layout_for
    from shoal.records.writing import write

    if output == "-" and json:
        raise InputError("-o - and --json both need standard output; write to a file, or leave --json out")
    if k is not None and certificate is not None:
        raise InputError("the certificate says k; give either of the two")
    if output != "-":
        layout_for(output)
        options.check_output(output, force, data, certificate)
    read = with_query(data, given.get("query"))
    chunks, known = release_in_chunks(read, k, certificate, form=given.get("format"))
    seed = given.get("seed") or 0
    baskets = drawing(chunks, known, seed)
    write(baskets, output, force=force)
    facts = {
        "input": without_password(read),
        "output": output,
        "rows": len(baskets),
        "items": len(baskets.vocabulary),
        "occurrences": baskets.occurrences,
        "k": known,
        "seed": seed,
    }
    show_rows(baskets, output, facts, json, "; one of many sets of records that the release may have come from")
