"""k-anonymous transactions: classes of equal published rows, lose items added and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms import algorithm, entry
from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes
from shoal.algorithms.transactions.diversity import classes_of_strangers, diverse
from shoal.algorithms.transactions.layers import classes_of_people
from shoal.certificate.disclosure import Figure, disclose
from shoal.errors import VALUES, InputError, Unreachable, option
from shoal.guarantees.k import KAnonymity
from shoal.loss.common_pairs import pairs_kept
from shoal.loss.fates import item_fates
from shoal.loss.worth import items_worth
from shoal.models import Proposal, Roles, basket_details, basket_notes, basket_source
from shoal.price.edits import Edits, edits
from shoal.records.baskets import Baskets
from shoal.records.formats.peek import column_names, source_name
from shoal.records.roles import SetRoles, texts_of
from shoal.records.source import Source, load_records, mark_sensitive

CENTRES = "Items were added and removed: a published row is the centre of a class, not what one person had."


def read(data: Any, guarantee: KAnonymity, roles: Roles, reading: Mapping[str, Any]) -> tuple[Source, KAnonymity]:
    """The transactions, and the guarantee with its sensitive items: those of a column, of a list, or of a file with one on each line."""
    roles.refuse(guarantee.model, "quasi", "keep")
    wanted = roles.sensitive
    if isinstance(wanted, str) and wanted in column_names(data, reading.get("format")):
        if reading.get("id") is not None:
            raise InputError(
                f"{option('sensitive', wanted)}: a long table has its items in one column; name the sensitive items instead"
            )
        asked = {name: value for name, value in reading.items() if name != "id" and value is not None}
        source = load_records(data, sensitive_sets=wanted, **(asked | {"items": _set_column(data, wanted, asked)}))
        if not len(source.records):
            raise InputError(f"{source.name} has no transactions; there is nothing to publish")
        return source, replace(guarantee, sensitive=source.records.sensitive_items)
    found = basket_source(data, reading)
    if wanted is not None:
        records = mark_sensitive(found.baskets, wanted)
        guarantee = replace(guarantee, sensitive=records.sensitive_items | frozenset(guarantee.sensitive))
    _check_sensitive(found.baskets, guarantee)
    return found, guarantee


def _set_column(data: Any, sensitive: str, asked: Mapping[str, Any]) -> str:
    """The column with the items: the one that is named, or the only one left, or the one called `items`."""
    roles = SetRoles(asked.get("items"), drop=(sensitive, *texts_of(asked.get("drop"))), person=asked.get("person"))
    return roles.set_column(column_names(data, asked.get("format")), source_name(data))


def proposal(source: Source, guarantee: KAnonymity, request: Mapping[str, Any], options: Options) -> Proposal:
    """Group similar transactions and publish each group as its centre. `request` has `algorithm`."""
    for name in ("hierarchy", "unknown"):
        if request[name] is not None:
            raise InputError(
                f"{option(name)} has no use with {option('model', 'k')}, which adds and removes items; leave it out"
            )
    baskets = source.baskets
    if baskets.people is not None and guarantee.k > (people := len(np.unique(baskets.people))):
        raise Unreachable(
            f"{guarantee} cannot be reached: the transactions are those of only {people:,} people, fewer than k = {guarantee.k:,}; "
            "choose a smaller k"
        )
    if guarantee.k > len(baskets):
        raise Unreachable(
            f"{guarantee} cannot be reached: there are only {len(baskets):,} transactions, fewer than k = {guarantee.k:,}; "
            "choose a smaller k"
        )
    if guarantee.l > 1 and not guarantee.sensitive:
        raise InputError(f"l = {guarantee.l}, but no item is named as sensitive; name them with {option('sensitive')}")
    quasi, sensitive = baskets.split_off(guarantee.sensitive)
    name, home = entry(guarantee.model, request["algorithm"])
    run = algorithm(guarantee.model, name)
    classes: Classes = (run if quasi.people is None else partial(classes_of_people, run))(
        quasi, guarantee, None, options
    )
    if quasi.people is not None:
        options.tell("merging classes with few people", 0.95)
        classes = classes_of_strangers(quasi, sensitive, classes, guarantee.k, guarantee.l, options.threads)
    elif guarantee.l > 1:
        options.tell("merging classes with few sensitive items", 0.95)
        classes = diverse(quasi, sensitive, classes, guarantee.l, options.threads)
    options.tell("recoding", 0.0)
    centres = classes.apply()
    changed = edits(quasi, centres)
    own = np.arange(len(quasi.vocabulary))
    worth = items_worth(item_fates(own, own, quasi.supports(), changed.removed), pairs_kept(quasi, centres))
    published = _together(centres, sensitive)
    return Proposal(
        guarantee=guarantee,
        published=published if source.records.holds_sets_alone else replace(source.records, items=published),
        recoding=classes,
        algorithm=name,
        loss={**worth.lost, **changed.loss()},
        kept=worth.kept,
        parameters={option: getattr(options, option) for option in home.options},
        bound=classes.bound,
        details={
            **basket_details(baskets, published),
            "edits": _edits_per_item(quasi, changed),
            "classes": _figures(classes) | _edits_per_class(classes, changed),
            "facts": dict(classes.facts),
        },
        certified=partial(
            certified_facts,
            changed.loss(),
            centres.occurrences,
            int(np.count_nonzero(published.supports())),
            guarantee.k,
        ),
        warnings=(CENTRES,),
        notes=basket_notes(baskets, empty_stay=False) + classes.notes,
        rules=partial(_rules, classes, changed),
        rules_note="says what each class of rows lost",
    )


def certified_facts(loss: Mapping[str, float], occurrences: int, tokens: int, k: int) -> dict[str, Any]:
    """What a certificate says of so many published occurrences of items that are not sensitive, and so many published items in all."""
    lost = {name: Figure(share, occurrences) for name, share in loss.items()}
    return {**disclose(k, loss=lost), "changes": {"tokens": tokens}}


def _check_sensitive(baskets: Baskets, guarantee: KAnonymity) -> None:
    known = set(baskets.vocabulary)
    unknown = sorted(name for name in guarantee.sensitive if name not in known)
    if unknown:
        raise InputError(
            f"{len(unknown):,} of the sensitive items that are named do not occur in the data{VALUES}; correct the names, or leave out "
            "what is not there",
            values=unknown,
        )


def _together(quasi: Baskets, sensitive: Baskets) -> Baskets:
    """The rows of both, item by item; what no longer occurs is not named."""
    n = len(quasi.vocabulary)
    row = np.concatenate([np.repeat(np.arange(len(part), dtype=np.int64), part.lengths) for part in (quasi, sensitive)])
    codes = np.concatenate((quasi.items, sensitive.items + np.int32(n)))
    order = np.argsort(row, kind="stable")
    both = Baskets.from_codes(
        quasi.lengths + sensitive.lengths, codes[order], (*quasi.vocabulary, *sensitive.vocabulary)
    )
    return replace(both, people=sensitive.people)


def _figures(classes: Classes) -> dict[str, Any]:
    sizes = classes.sizes
    return {
        "count": len(sizes),
        "smallest": int(sizes.min()) if len(sizes) else 0,
        "largest": int(sizes.max(initial=0)),
        "average": float(sizes.mean()) if len(sizes) else 0.0,
    }


def _edits_per_item(quasi: Baskets, changed: Edits) -> dict[str, dict[str, int]]:
    """Items whose count changed or could have: what was added and removed of each."""
    touched = np.flatnonzero(changed.added + changed.removed)
    return {
        quasi.vocabulary[i]: {"added": int(changed.added[i]), "removed": int(changed.removed[i])}
        for i in touched.tolist()
    }


def _edits_per_class(classes: Classes, changed: Edits) -> dict[str, list[int]]:
    return {
        "size": classes.sizes.tolist(),
        "added": _per_class(classes, changed.added_in_row),
        "removed": _per_class(classes, changed.removed_in_row),
    }


def _per_class(classes: Classes, per_row: Any) -> list[int]:
    found = np.bincount(classes.of_row, per_row, minlength=len(classes.centres))
    return [int(n) for n in found.astype(np.int64)]


def _rules(classes: Classes, changed: Edits, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    yield "class", "rows", "added", "removed", "published"
    added, removed = (_per_class(classes, part) for part in (changed.added_in_row, changed.removed_in_row))
    for number, centre in enumerate(classes.centres.rows()):
        facts = (number + 1, classes.sizes[number], added[number], removed[number])
        yield *map(str, facts), "|".join(map(written, centre))
