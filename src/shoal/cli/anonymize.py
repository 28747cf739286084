"""`shoal anonymize`: one release from flags."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, print_json, printable, progress, say, show_notes, table, values_shown
from shoal.errors import InputError, number_of
from shoal.options import WRITING

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.release import Release
    from shoal.spark import SparkRelease


@options.takes(
    *("output", "certificate", "rules", "report", "sign", "keep_order"),
    *options.PROMISE,
    *("hierarchy", "unknown", "algorithm", "price", "suppress", "suppress_rows", "time_limit"),
    *("segments", "population", "generations", "cluster_size", "seed"),
    *("balance", "delta", "formation", "transaction", "ordering", "rum", "weights", "limits", "shift", "item_weights"),
    *options.KNOWN,
    *("threads", "memory_limit"),
    *options.TABLES,
    *("series", "series_kind", "wait"),
    "engine",
)
def anonymize(
    data: options.Data,
    force: Annotated[bool, options.flag("--force", "Overwrite files and replace a table that exist.", WRITING)] = False,
    print_plan: Annotated[
        bool,
        options.flag("--print-plan", "Print the plan that these flags stand for, for shoal run, and do nothing else."),
    ] = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Change a file of sets, or a table, just enough to keep the promise, check it, and write it.

    With --model km, items move up a hierarchy (brie -> cheese -> dairy) until whoever knows up to m items of a person faces at least k
    rows. With --model k, items are added and removed until every row has k - 1 twins. With --model rt and lm, a table with columns and
    items is clustered, and values and items are generalized in each cluster. The file is audited as it was written; if the
    promise does not hold, nothing is written.

    [bold]shoal anonymize baskets.csv -o public.csv --k 5 --m 2 --hierarchy tree.csv[/bold]

    [bold]shoal anonymize baskets.csv -o public.csv --model k --k 10[/bold]

    [bold]shoal anonymize patients.csv -o public.csv --model rt --k 10 --quasi age,sex --items diagnoses --drop id[/bold]

    [bold]shoal anonymize 'sqlite:clinic.db?table=visits' -o public.csv --items codes --drop id,age[/bold]
    """
    from shoal.plan import plan_from, plan_yaml
    from shoal.release import run

    output = given.get("output")
    if output == "-" and json:
        raise InputError("-o - and --json both need standard output; write to a file, or leave --json out")
    if output is None and (force or any(name in given for name in ("certificate", "rules", "report", "sign"))):
        raise InputError("--certificate, --rules, --report, --sign and --force need -o; without it nothing is written")
    guarantee = options.promise(given)
    if print_plan:
        typer.echo(plan_yaml(plan_from(data, guarantee, **given)), nl=False)
        return
    on_spark = options.is_spark(given.get("engine"))
    plan = plan_from(data, guarantee, to_save=False, **given)
    if on_spark:
        from shoal.cli.spark import run_on_spark

        run_on_spark(plan, force=force, json=json)
        return
    prepare()
    with progress() as tell:
        release = run(plan, force=force, progress=tell)
    if json:
        print_json(release.to_dict())
    else:
        show_release(release, console(stderr=output == "-"))
    if output is None:
        say("nothing was written; name a file with -o to publish")


def show_release(release: Release, out: Console) -> None:
    """The promise, what it cost, how items changed, and the files."""
    from shoal.guarantees.registry import kind_of

    facts = release.to_dict()
    if not show_promise(release, facts, _counted(release), out):
        return
    if facts["kept"].get("columns"):
        out.print(width_table(facts["kept"]))
    if commonest := facts["kept"].get("items", {}).get("commonest"):
        out.print(fate_table(commonest))
    out.print(_FIGURES[kind_of(release.guarantee)](facts))
    if facts.get("levels"):
        moves = table("items", ">kinds", ">occurrences", ">share")
        for step in facts["levels"]:
            moves.add_row(
                _step(step["levels_up"]), f"{step['items']:,}", f"{step['occurrences']:,}", f"{step['share']:.1%}"
            )
        out.print(moves)
    show_notes([*facts["notes"], *release.audit.notes], out)
    for what in ("output", "certificate", "rules", "report"):
        if facts[what] not in (None, "-"):
            out.print(f"{what:<12} {printable(facts[what])}", soft_wrap=True)


def show_promise(release: Release | SparkRelease, facts: dict[str, Any], counted: str, out: Console) -> bool:
    """The promise and what is kept; False where nothing is published, and the notes say why."""
    if not release.is_published:
        for note in facts["notes"]:
            out.print(printable(note), soft_wrap=True)
        return False
    out.print()
    out.print(f"{release.guarantee} holds", style="bold green", end="")
    out.print(f"  {counted}")
    out.print(release.guarantee.promise()[0])
    out.print(worth_lines(facts))
    return True


def _counted(release: Release) -> str:
    checked = release.audit.checked
    if release.guarantee.model == "diversity":
        fewest = release.audit.facts["fewest_values"]
        return f"{number_of(checked, 'row')} looked at, each with {fewest} possible values or more"
    k = release.guarantee.k
    if release.guarantee.model == "k":
        return f"{number_of(checked, 'class', 'classes')} of equal rows counted, none of fewer than {k}"
    if release.guarantee.model == "chunks":
        counted = number_of(checked, "itemset, chunk and cluster", "itemsets, chunks and clusters")
        return f"{counted} looked at in the published table"
    if release.guarantee.model in ("rt", "lm"):
        what = number_of(checked, "class and itemset", "classes and itemsets")
        return f"{what} counted in the published table, none in fewer than {k} rows"
    if release.guarantee.model == "constraints":
        return f"{number_of(checked, 'part')} of protected sets counted in the published rows, none in fewer than {k}"
    of = f" people of {release.audit.facts['people']:,}" if "people" in release.audit.facts else ""
    return f"{number_of(checked, 'itemset')} counted in the published rows, none of them in fewer than {k}{of}"


def worth_lines(facts: dict[str, Any]) -> Any:
    """What the release is worth, as an analyst would ask; nothing where nobody measured it."""
    loss, kept, lines = facts["loss"], facts["kept"], _lines()
    sets_alone = facts.get("ncp_by_column") == {}  # columns beside them are published as they are
    if "info" in loss:
        both = [f"{what} {1 - loss[name]:.1%}" for what, name in _SIDES.items() if name in loss and not sets_alone]
        told = "of the sensitive values; all other columns are exact" if "ambiguity" in loss else ", ".join(both)
        lines.add_row("information kept", f"{1 - loss['info']:.1%}", told)
    for name, (what, told) in _KEPT.items():
        if name in kept and "ambiguity" not in loss and not (name == "cells" and sets_alone):
            lines.add_row(what, f"{kept[name]:.1%}", told)
    return lines


def width_table(kept: dict[str, Any]) -> Any:
    """What is left of each column, and of the items beside them."""
    from shoal.loss.worth import width_words

    widths, items = table("", ">as it was", ">median width"), kept.get("items")
    for name, remains in kept["columns"].items():
        widths.add_row(printable(name), f"{remains['exact']:.1%}", width_words(remains))
    if items:
        widths.add_row("items", f"{items['exact']:.1%}", number_of(round(items["width"]), "item"))
    return widths


def fate_table(commonest: list[Any]) -> Any:
    """What became of the commonest items; their names are for an owner at a terminal."""
    from shoal.loss.worth import fate_words

    if all(one["exact"] == 1 for one in commonest):
        return f"The {number_of(len(commonest), 'commonest item')} {'is as it was' if len(commonest) == 1 else 'are as they were'}."
    named = values_shown(sys.stdout)
    fates = table(
        "commonest items", ">occurrences", ">as it was", "else" if named else "else (--show-values tells the names)"
    )
    for place, one in enumerate(commonest, 1):
        name, told = printable(one["item"]) if named else f"no. {place}", printable(fate_words(one, named=named))
        fates.add_row(name, f"{one['occurrences']:,}", f"{one['exact']:.1%}", told)
    return fates


_SIDES = {"columns": "info_columns", "items": "info_items"}
_KEPT = {
    "exact": ("items as they are", "of all item occurrences"),
    "pairs": ("pairs kept", "of the 100 commonest pairs: both items as they are, the count within 10%"),
    "cells": ("cells as they are", "of the quasi-identifiers"),
}


def _generalized(facts: dict[str, Any]) -> Any:
    loss, dropped = facts["loss"], facts["suppressed"]
    lines = _lines()
    lines.add_row("price", facts["parameters"]["price"], _proof(facts))
    lines.add_row("lost (NCP)", f"{loss['ncp']:.2%}")
    if dropped["occurrences"]:
        lines.add_row(
            "  dropped",
            f"{dropped['share']:.2%}",
            f"{number_of(dropped['occurrences'], 'occurrence')}, "
            + (
                f"{number_of(dropped['categories'], 'whole category', 'whole categories')}"
                if dropped["categories"]
                else "one by one, where they made an itemset rare"
            ),
        )
    lines.add_row(
        "algorithm",
        facts["algorithm"],
        f"over {printable(facts['hierarchy']['source'])}, {facts['hierarchy']['leaves']:,} leaves",
    )
    if (series := facts.get("series")) is not None:
        lines.add_row("series", *words_of_series(series))
    return _ended(lines, facts)


def words_of_series(series: dict[str, Any]) -> tuple[str, str]:
    if series["kind"] == "batches":
        waiting = number_of(series["waiting"], "row waits", "rows wait")
        return f"batch {series['batch']:,}", f"{waiting} for later ones"
    waiting = f"{series['waiting']:,} of {number_of(series['people'], 'person', 'people')} {'waits' if series['waiting'] == 1 else 'wait'}"
    return f"release {series['release']:,}", f"all releases together keep the promise; {waiting}"


def _grouped(facts: dict[str, Any]) -> Any:
    loss, classes = facts["loss"], facts["classes"]
    lines = _lines()
    bound = facts["bound"]
    told = f"no release of this kind loses less than {bound:.2%}" if bound and bound >= 0.00005 else ""
    lines.add_row("lost", f"{loss['il']:.2%}", told or "of the item occurrences, added and removed together")
    lines.add_row("  added", f"{loss['added']:.2%}")
    lines.add_row("  removed", f"{loss['removed']:.2%}")
    lines.add_row("classes", *_sizes(classes))
    lines.add_row("algorithm", facts["algorithm"], _parameters(facts))
    return _ended(lines, facts)


def _sizes(classes: dict[str, Any]) -> tuple[str, str]:
    rows = f"of {classes['smallest']:,} to {classes['largest']:,} rows, {classes['average']:.1f} on average"
    return f"{classes['count']:,}", rows


def _parameters(facts: dict[str, Any]) -> str:
    segments = facts["facts"].get("segments")
    return number_of(segments, "segment") if segments else ""


def _lines() -> Any:
    from rich.table import Table

    lines = Table.grid(padding=(0, 2))
    lines.add_row()
    return lines


def _ended(lines: Any, facts: dict[str, Any]) -> Any:
    lines.add_row("rows", f"{facts['rows']:,}", facts["row_order"])
    peak = f"{facts['peak_mb']:,.0f} MB at most" if facts["peak_mb"] else ""
    lines.add_row("time", f"{facts['seconds']:.1f} s", peak)
    return lines


def _clustered(facts: dict[str, Any]) -> Any:
    loss, classes = facts["loss"], facts["classes"]
    lines = _lines()
    by_column = ", ".join(f"{printable(column)} {lost:.1%}" for column, lost in facts["ncp_by_column"].items())
    if by_column:
        lines.add_row("columns lost", f"{loss['ncp']:.2%}", f"NCP ({by_column})")
    if "ul" in loss:
        lines.add_row("items lost", f"{loss['items_ncp']:.2%}", f"NCP; UL {loss['ul']:.4f}")
    lines.add_row("classes", *_sizes(classes))
    lines.add_row("algorithm", facts["algorithm"], _way(facts))
    return _ended(lines, facts)


def _way(facts: dict[str, Any]) -> str:
    delta, formation = facts["parameters"].get("delta"), facts["facts"].get("formation")
    if delta is not None:
        return f"within delta = {delta:g}"
    if (levels := facts["facts"].get("levels")) is not None:
        return f"levels: {levels}" + ("; proven: no others lose less" if facts["optimal"] else "")
    return f"here {formation}" if facts["algorithm"] == "better-of-two" and formation else ""


def _bucketized(facts: dict[str, Any]) -> Any:
    buckets, known = facts["buckets"], facts["knowledge"]
    lines = _lines()
    lines.add_row(
        "ambiguity",
        f"{facts['loss']['ambiguity']:.2%}",
        "of the rows get another value than their own, dealt at random",
    )
    lines.add_row(
        "buckets",
        f"{buckets['buckets']:,}",
        f"of {buckets['smallest_bucket']:,} to {buckets['largest_bucket']:,} rows, {buckets['average_bucket']:.2f} on average",
    )
    if known is not None:
        lines.add_row(
            "rules",
            f"{known['rules'] - known['redundant']:,}",
            "that an attacker may know; --rules FILE writes them for you",
        )
    lines.add_row(
        "algorithm", facts["algorithm"], "" if known is not None else "it knows no rules: look at shoal attack"
    )
    return _ended(lines, facts)


def _put_together(facts: dict[str, Any]) -> Any:
    loss, sets, dropped = facts["loss"], facts["sets"], facts["suppressed"]
    lines = _lines()
    lines.add_row("lost (NCP)", f"{loss['ncp']:.2%}", f"UL {loss['ul']:.4f}")
    if dropped["occurrences"]:
        how = "one by one" if facts["algorithm"] == "weigh" else "whole items"
        lines.add_row(
            "  dropped", f"{dropped['share']:.2%}", f"{number_of(dropped['occurrences'], 'occurrence')}, {how}"
        )
    told = f"of {sets['items']:,} items, {sets['largest']:,} in the largest" if sets["count"] else ""
    lines.add_row("sets", f"{sets['count']:,}", told)
    lines.add_row("algorithm", facts["algorithm"], "")
    return _ended(lines, facts)


def _in_chunks(facts: dict[str, Any]) -> Any:
    loss, chunks, audit = facts["loss"], facts["chunks"], facts["audit"]
    lines = _lines()
    lines.add_row("listed", f"{loss['listed']:.2%}", "of the occurrences, in rests, which do not say how many they are")
    of_records = f"of {audit['smallest_cluster']:,} to {audit['largest_cluster']:,} records"
    lines.add_row("clusters", f"{chunks['clusters']:,}", of_records)
    lines.add_row("chunks", f"{chunks['chunks']:,}", f"{chunks['shared']:,} of them shared by several clusters")
    lines.add_row("algorithm", facts["algorithm"], f"clusters of up to {facts['facts']['cluster_size']:,} records")
    return _ended(lines, facts)


_FIGURES = {
    "constraints": _put_together,
    "chunks": _in_chunks,
    "diversity": _bucketized,
    "km": _generalized,
    "k": _grouped,
    "table": _clustered,
    "rt": _clustered,
    "lm": _clustered,
}


def _proof(facts: dict[str, Any]) -> str:
    if facts["optimal"]:
        return "proven optimal: by it no cut through this hierarchy loses less"
    if facts["bound"] is not None and facts["bound"] >= 0.00005:  # less is shown as 0.00%, which says nothing
        means = "generalizing and deleting" if facts["algorithm"] == "hybrid" else "a cut through this hierarchy"
        return f"no release by {means} loses less than {facts['bound']:.2%}"
    if facts["algorithm"] == "local":
        return "row by row; not known to be optimal"
    if "loss_of_cut" in facts.get("local", ()):
        return f"one cut for all rows would lose {facts['local']['loss_of_cut']:.2%}"
    return "not known to be optimal" + ("" if facts["algorithm"] == "hybrid" else "; --algorithm exact proves it")


def _step(levels_up: int | None) -> str:
    if levels_up is None:
        return "dropped"
    return {0: "as they are", 1: "1 level up"}.get(levels_up, f"{levels_up} levels up")
