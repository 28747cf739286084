"""`shoal demo`: the tour. A made-up grocery store, what a stranger could learn from it, its release, and what that cost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options
from shoal.cli.anonymize import show_release
from shoal.cli.first_use import prepare
from shoal.cli.profile import example, show_profile
from shoal.cli.terminal import console, print_json, printable, program, progress, table
from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.estimates.raw_profile import Profile
    from shoal.guarantees.audit import Witness
    from shoal.records.baskets import Baskets
    from shoal.release import Release

K, M = 5, 2
MARK = ".shoal-demo"
"""The file that tells a demo's folder from anybody else's."""


def demo(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Where its files go.")] = "shoal-demo",
    force: Annotated[bool, options.flag("--force", "Use a folder that holds other files.")] = False,
    json: options.Json = False,
) -> None:
    """Take the tour: a made-up grocery store, its risk, its release, the audit and the certificate, in under a minute.

    [bold]shoal demo[/bold]
    """
    from shoal.estimates.raw_profile import profile_of
    from shoal.guarantees.km import KmAnonymity
    from shoal.records.source import load_sets
    from shoal.release import anonymize

    place = _demo_folder(folder, force)
    prepare()
    with progress() as tell:
        baskets, department = _stock(place)
        found = profile_of(load_sets(place / "baskets.csv"), K, 3, examples=200)
        release = anonymize(place / "baskets.csv", KmAnonymity(K, M), hierarchy=place / "hierarchy.csv", progress=tell)
        release.write(place / "public.csv", rules=place / "rules.csv", force=True, progress=tell)
        greedy = anonymize(
            place / "baskets.csv", KmAnonymity(K, M), hierarchy=place / "hierarchy.csv", algorithm="aa", progress=tell
        )
    commands = _next_commands(place)
    if json:
        print_json(
            {
                "folder": folder,
                "profile": found.to_dict(),
                "release": release.to_dict(),
                "aa": {"loss": dict(greedy.loss), "kept": dict(greedy.kept)},
                "files": sorted(str(file) for file in place.iterdir() if file.name != MARK),
                "next": commands,
            }
        )
        return
    out = console()
    telling = _telling(found, department)
    _show_risk(out, found, telling)
    _show_release(out, release, greedy)
    _show_before_and_after(out, baskets, release, telling)
    _show_the_end(out, place, commands)


def _demo_folder(folder: str, force: bool) -> Path:
    """The folder, made if it is not there. Files that no demo wrote are safe in it."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()) and not (place / MARK).exists() and not force:
            raise InputError(f"{folder} holds files of something else; name another folder, or pass --force")
        (place / MARK).write_text("Made by shoal demo, which overwrites its files here when it is run again.\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be used as a folder ({error.strerror}); name another") from error
    return place


def _stock(place: Path) -> tuple[Baskets, dict[str, str]]:
    """Writes the store's baskets and its hierarchy, as a user would bring them; returns them and each product's department."""
    from shoal.records.layout import Layout
    from shoal.records.samples.grocery import grocery
    from shoal.records.storage.publication import Publication
    from shoal.records.writing import write

    baskets, paths = grocery()
    write(baskets, place / "baskets.csv", layout=Layout("csv", separator="|"), force=True)
    tree = place / "hierarchy.csv"
    with Publication([tree], force=True) as publication, publication.file(tree) as file:
        file.write("".join(f"{';'.join(path)}\n" for path in paths).encode())
    return baskets, {product: department for product, _, department, _ in paths}


def _next_commands(place: Path) -> list[str]:
    raw, public, tree, stricter = (
        shlex.quote(str(place / name)) for name in ("baskets.csv", "public.csv", "hierarchy.csv", "stricter.csv")
    )
    shoal = program()
    return [
        f"{shoal} audit {public} --k {K} --m {M}",
        f"{shoal} audit {raw} --k {K} --m {M}",
        f"{shoal} hierarchy show {tree} --depth 2",
        f"{shoal} anonymize {raw} --hierarchy {tree} --k 10 --m 3 -o {stricter} --force",
    ]


def _show_risk(out: Console, found: Profile, telling: Witness) -> None:
    out.rule("1. The raw data", align="left")
    show_profile(found, out, examples=False)
    out.print(
        f"There are no names in it, and still {example(telling)}: "
        "whoever saw these two at the till knows everything else in that basket.",
        soft_wrap=True,
    )
    out.print()


def _show_release(out: Console, release: Release, greedy: Release) -> None:
    out.rule("2. The release", align="left")
    show_release(release, out)
    out.print()
    losses = table("algorithm", ">information kept", ">as they are", ">lost (NCP)", "")
    row_by_row, one_cut = "decides row by row, by what readers still know", "one cut for all rows, as in the 2008 paper"
    for made, told in ((release, row_by_row), (greedy, one_cut)):
        shares = f"{1 - made.loss['info']:.1%}", f"{made.kept['exact']:.1%}", f"{made.loss['ncp']:.2%}"
        losses.add_row(made.algorithm, *shares, told)
    out.print(losses)


def _show_before_and_after(out: Console, baskets: Baskets, release: Release, telling: Witness) -> None:
    """Three baskets as they came and as they are published: the telling one, then short ones that changed."""
    import numpy as np

    out.rule("3. Before and after", align="left")
    published = release.recoding.apply(baskets)
    short = np.flatnonzero((baskets.lengths >= 3) & (baskets.lengths <= 6))[:200].tolist()
    changed = (row for row in short if _row(baskets, row) != _row(published, row))
    for row in [telling.rows[0] - 1, *changed][:3]:
        before, after = (printable(", ".join(_row(side, row))) for side in (baskets, published))
        out.print(f"basket {row + 1:,}", style="dim")
        out.print(f"  before  {before}", soft_wrap=True)
        out.print(f"  after   {after}", style="green", soft_wrap=True)
    out.print("In the published file the rows are shuffled: nobody can tell any more which one was whose.", style="dim")
    out.print()


def _show_the_end(out: Console, place: Path, commands: list[str]) -> None:
    out.rule("4. Your turn", align="left")
    files = {
        "baskets.csv": "the raw data",
        "hierarchy.csv": "product, category, department, store",
        "public.csv": "the release",
        "public.csv.certificate.json": "what is promised, what is not, and how it was checked",
        "rules.csv": "what each product became; for the owner",
    }
    for name, what in files.items():
        out.print(f"  {printable(str(place / name)):<50} {what}", soft_wrap=True)
    out.print()
    for command in commands:
        out.print(f"  {printable(command)}", style="bold", soft_wrap=True)


def _telling(found: Profile, department: dict[str, str]) -> Witness:
    """A pair of products that one basket alone holds, from different departments if there is one: it is easier to believe."""
    pairs = [witness for witness in found.exposures[M - 1].examples if witness.support == 1]
    mixed = (witness for witness in pairs if len({department[item] for item in witness.items}) == len(witness.items))
    return next(mixed, pairs[0])


def _row(baskets: Baskets, row: int) -> list[str]:
    return [baskets.vocabulary[i] for i in baskets.items[baskets.offsets[row] : baskets.offsets[row + 1]].tolist()]
