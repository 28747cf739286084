"""What one cut through a tree loses, and who is to blame, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.app.panels.hierarchies.tree_page import short
from shoal.app.project.wording import with_capital
from shoal.app.widgets.components import Cell
from shoal.errors import number_of
from shoal.estimates.decision_map import figure_of, is_trusted
from shoal.estimates.outlook import Range

NAMED = 8
"""Nodes that are listed as to blame."""
NOTHING = 1e-6
"""A share of the information that is none."""
HELPLESS = "Neither to merge them nor to set them apart helps by itself."
LEGEND = (
    ("published", "published, as it is or as a category"),
    ("below", "published only as what is above it; the darker, the more levels up"),
    ("above", "parts of it are published"),
    ("dropped", "left out"),
    ("blamed", "rare, and forces others upwards (below: inside of it)"),
)
KEYS = (
    "Keys: ← → walk along a level, with Shift they choose several; ↑ ↓ change the level; Enter opens a node, Backspace goes back up; "
    "Space chooses. M merges what is chosen, X takes it up and V puts it under the node where you are, W asks why a node is closed, "
    "Z undoes. With a mouse: click chooses, double click opens, drag moves. The list below has the same nodes."
)
RULE = (
    "The cut is counted on all rows: the best single one through this tree, which is what exact publishes. What closes a node here costs "
    "other algorithms, too."
)


def percent(share: float) -> str:
    """`84.2%`, and no `100.0%` for what is less than all."""
    return f"{share:.1%}" if share in (0.0, 1.0) or 0.0005 <= share < 0.9995 else f"{share:.2%}"


def loss_words(found: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """What is lost, and what was lost before the last change."""
    least = "" if found["optimal"] else "at most "
    words = f"One cut for all rows loses {least}{percent(found['info'])} of the information"
    if found["deleted"]:
        words += f", and leaves out {percent(found['deleted'])} of all items"
    if "info" in before:
        words += f" (before the last change: {percent(before['info'])})"
    return f"{words}."


def own_words(own: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """What the plan's own algorithm would lose, and before the last change, as far as rows were tried."""
    on = "all rows" if own["sample"] == own["rows"] else f"{own['sample']:,} of {own['rows']:,} rows"
    was = f"; before the last change: {_between(before['lost'])}" if before else ""
    return (
        f"{with_capital(own['algorithm'])}, which will run, loses {_between(own['lost'])} of the information "
        f"(tried on {on}{was})."
    )


def _between(lost: Sequence[float]) -> str:
    """A range of what is lost: as one figure where all of it is near."""
    kept = Range(1 - lost[1], 1 - lost[0])
    least, most = percent(lost[0]), percent(lost[1])
    if least == most:
        return least
    if lost[0] <= 0.0:
        return f"at most {most}"
    return f"about {percent(1 - figure_of(kept))}" if is_trusted(kept) else f"{least} to {most}"


def blame_words(why: Mapping[str, Any], name: str, k: int) -> str:
    """Why a node is closed."""
    sets = why["sets"]
    if not sets:
        return f"Nothing that is too rare keeps “{short(name)}” closed."
    what = "one node or pair of nodes" if sets == 1 else f"{sets:,} nodes, pairs or larger sets of nodes"
    return (
        f"“{short(name)}” is published instead of what is below it. Were it open, {what} would stand in fewer than {k:,} rows. "
        "To blame are those that are in most of them and occur least:"
    )


def blame_rows(why: Mapping[str, Any], cell_of: Any) -> list[tuple[Cell, ...]]:
    """(name, button to look at it, rows, sets) of those to blame, the worst first."""
    return [
        (cell_of(one["node"])[0], f"{one['rows']:,}", f"{one['sets']:,}", cell_of(one["node"])[1])
        for one in why["culprits"][:NAMED]
    ]


def more_words(why: Mapping[str, Any]) -> str | None:
    """Who else is to blame."""
    more = len(why["culprits"]) - NAMED
    others = f" {number_of(why['others'], 'set is', 'sets are')} left even without them." if why["others"] else ""
    return f"and {more:,} more.{others}" if more > 0 else others.strip() or None


def remedy_words(remedy: Mapping[str, Any], why: Mapping[str, Any]) -> str:
    """What a button says that does it: what, and what is lost then."""
    blamed = {one["node"] for one in why["culprits"]}
    count = sum(node in blamed for node in remedy["nodes"])
    these, beside = "this one" if count == 1 else f"these {count:,}", len(remedy["nodes"]) - count
    if remedy["act"] == "merge":
        those = f" and the {'next rarest' if beside == 1 else f'{beside:,} next rarest'} beside" if beside else ""
        return f"Merge {these}{those}: {percent(remedy['info'])} lost"
    gone = f", {percent(remedy['deleted'])} left out" if remedy["deleted"] else ""
    return f"Set {these} apart: {percent(remedy['info'])} lost{gone}"


def remedy_note(remedies: Sequence[Mapping[str, Any]]) -> str | None:
    """What setting apart means, where it is offered."""
    if not any(remedy["act"] == "apart" for remedy in remedies):
        return None
    return (
        "Set apart, they hang under a category of their own right below the root, which a cut may leave out as a whole: the plan then "
        "allows as much to be left out."
    )
