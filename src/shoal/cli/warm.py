"""`shoal warm`: compile ahead of the first use."""

from __future__ import annotations

from typing import Annotated, Any

from shoal.cli import options
from shoal.cli.terminal import print_json, say
from shoal.errors import InputError


@options.takes()
def warm(
    models: Annotated[
        list[str] | None,
        options.argument("[MODEL]...", "km, k, rt, lm, diversity, constraints.", "all of them"),
    ] = None,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Compile what releases need, so that the first one does not wait for it: for images and CI.

    For each model it releases made-up rows with the default algorithm, several models at a time. What is compiled is kept beside the
    package, where every user finds it, or in your own cache where that cannot be written.

    [bold]shoal warm km[/bold]
    """
    from shoal.kernels import are_kept
    from shoal.studies.warming import KINDS, warm

    unknown = [model for model in models or () if model not in KINDS]
    if unknown:
        raise InputError(f"model {unknown[0]!r} is not known; choose among {', '.join(KINDS)}")
    if not are_kept():
        raise InputError(
            "neither the package's folder nor your cache may be written; name a folder of yours in NUMBA_CACHE_DIR"
        )
    seconds: dict[str, float] = {}

    def done(kind: str, took: float) -> None:
        seconds[kind] = round(took, 1)
        say(f"{kind} is warm ({took:.1f} s)")

    warm(models or list(KINDS), done)
    if json:
        print_json({"seconds": seconds})
