"""Audits of tables on Spark: k-anonymity, (k,k^m)-anonymity and (k,l^m)-diversity, counted in blocks of whole classes.

Inside a block the local code counts. What is added on the driver are counts, and witnesses ranked as they are ranked locally: by
support and size, then by the order in which the local walk meets them. That order is one of supports inside the class, of the
class's codes and of item ids, and none of these depends on the blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.blocks import answers, by_values, numbers
from shoal.engines.spark.itemsets import affordable_size, lengths_without
from shoal.engines.spark.ragged import Longs
from shoal.engines.spark.records import SparkRecords, of_rows
from shoal.errors import InputError, option
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.lm import LmDiversity, with_inferences
from shoal.guarantees.missing import check_named
from shoal.guarantees.rt import RTAnonymity, known_items, told_apart
from shoal.guarantees.table import TableAnonymity, classes, fewest_values
from shoal.records.baskets import Baskets
from shoal.records.records import Records


def table_audited(records: SparkRecords, guarantee: TableAnonymity, witnesses: int) -> Audit:
    """As `TableAnonymity.audit`."""
    sensitive = records.template.of_role("sensitive")
    if guarantee.l > 1 and not sensitive:
        raise InputError(
            f"l = {guarantee.l}, but no column is sensitive; say with {option('sensitive')} which one, or leave l out"
        )
    check_named(guarantee.missing, [column.name for column in sensitive])
    told = answers(records, by_values, _small_or_plain, guarantee=guarantee, keep=witnesses)
    worst = first(told, "worst", witnesses)
    bad = sum(one["bad"] for one in told)
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not bad,
        checked=sum(one["classes"] for one in told),
        violations=bad,
        witnesses=tuple(
            Witness(
                (),
                one["size"],
                tuple(one["rows"]),
                f"{one['size']:,} of {guarantee.k:,} rows"
                if one["size"] < guarantee.k
                else f"{one['fewest']:,} of {guarantee.l:,} sensitive values",
                _group(records.template, one["class"]),
            )
            for one in worst
        ),
        facts=_class_facts(told, len(records))
        | ({"fewest_sensitive": min(one["fewest"] for one in told)} if sensitive and told else {}),
    )


def rt_audited(records: SparkRecords, guarantee: RTAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `RTAnonymity.audit`."""
    return _within_classes(records, guarantee, None, witnesses, yes_or_no)[0]


def lm_audited(records: SparkRecords, guarantee: LmDiversity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `LmDiversity.audit`."""
    hidden, told, m = _within_classes(
        records, RTAnonymity(guarantee.k, guarantee.m), int(guarantee.l), witnesses, yes_or_no
    )
    bad = np.array([one["bad"] for one in told], np.int64).reshape(-1, m + 1).sum(axis=0)
    sure = tuple(
        Witness(
            tuple(one["items"]),
            one["support"],
            tuple(one["rows"]),
            f"{one['both']:,} of {one['support']:,} rows hold the same sensitive item, more than 1/{guarantee.l}",
            _group(records.template, one["class"]),
        )
        for one in first(told, "sure", witnesses)
    )
    return with_inferences(guarantee, hidden, bad, sure, witnesses)


def _within_classes(
    records: SparkRecords,
    guarantee: RTAnonymity,
    l: int | None,  # noqa: E741
    witnesses: int,
    yes_or_no: bool,
) -> tuple[Audit, list[dict[str, Any]], int]:
    """The audit of (k,k^m)-anonymity, what every block says, and the largest size of a set."""
    if records.template.items is None:
        raise InputError(
            f"the table has no items; say with {option('items')} which column holds them, or ask for {option('model', 'k')}"
        )
    lengths, of_length = _known_lengths(records)
    m = min(int(guarantee.m), int(lengths.max(initial=0)))
    full = m if yes_or_no else affordable_size(lengths, of_length, m)
    k = int(guarantee.k)
    told = answers(records, by_values, _counted, k=k, size=full, keep=witnesses, only_one=yes_or_no, l=l, m=m)
    rare = _by_size(told, full)
    complete = not rare[:, 1].any() if yes_or_no else full == m
    seen = told
    if full < m and not rare[:, 1].any():
        # No breach among the sizes that can be counted: the larger ones decide, and the first breach is enough.
        seen = answers(records, by_values, _counted, k=k, size=m, keep=witnesses, only_one=True, l=None, m=m)
        rare = _by_size(seen, m)
        complete = not rare[:, 1].any()
    small, n_classes = sum(one["small"] for one in told), sum(one["classes"] for one in told)
    empty = sum(one["empty"] for one in told)
    vocabulary = records.template.items.vocabulary
    few = tuple(
        Witness(
            (),
            one["size"],
            tuple(one["rows"]),
            f"{one['size']:,} of {k:,} rows",
            _group(records.template, one["class"]),
        )
        for one in first(told, "few", witnesses)
    )
    thin = tuple(
        Witness(
            tuple(vocabulary[i] for i in one["items"]),
            one["support"],
            tuple(one["rows"]),
            group=_group(records.template, one["class"]),
        )
        for one in first(seen, "rare", witnesses)
    )
    verdict = Audit(
        guarantee=guarantee.to_dict(),
        holds=not small and not rare[:, 1].any(),
        checked=int(rare[:, 0].sum()) + n_classes,
        violations=int(rare[:, 1].sum()) + small,
        by_size={0: (n_classes, small)} | {size: tuple(rare[size].tolist()) for size in range(1, len(rare))},
        complete=complete,
        witnesses=tuple(sorted(thin + few, key=lambda w: (w.support, len(w.items))))[:witnesses],
        notes=(f"{empty:,} rows hold no items that an attacker may know; their class alone hides them",)
        if empty
        else (),
        facts=_class_facts(told, len(records)),
    )
    return verdict, told, m


def _known_lengths(records: SparkRecords) -> tuple[Longs, Longs]:
    """Lengths of rows without their sensitive items, and how many rows have each."""
    hidden = records.template.sensitive_items
    if not hidden:
        return records.sets.lengths, records.sets.of_length
    wanted = np.array([name not in hidden for name in records.sets.vocabulary], np.bool_)
    return lengths_without(records.rows, wanted, records.sets.longest)


def _small_or_plain(table: pa.Table, template: Records, guarantee: TableAnonymity, keep: int) -> dict[str, Any]:
    """On a worker: classes with few rows or few different sensitive values."""
    rows, records = of_rows(table, template)
    of_row, sizes = classes(records)
    fewest = fewest_values(records, of_row, len(sizes), guarantee.missing)
    bad = np.flatnonzero((sizes < guarantee.k) | (fewest < (guarantee.l if guarantee.l > 1 else 0)))
    worst = bad[np.lexsort((fewest[bad], sizes[bad]))][:keep]
    codes = _class_codes(records, of_row)
    return _figures(sizes) | {
        "bad": len(bad),
        "fewest": int(fewest.min()),
        "worst": [
            {
                "key": [int(sizes[c]), int(fewest[c]), codes[c].tolist()],
                "size": int(sizes[c]),
                "fewest": int(fewest[c]),
                "rows": numbers(rows, of_row == c),
                "class": codes[c].tolist(),
            }
            for c in worst.tolist()
        ],
    }


def _counted(
    table: pa.Table,
    template: Records,
    k: int,
    size: int,
    keep: int,
    only_one: bool,
    l: int | None,  # noqa: E741
    m: int,
) -> dict[str, Any]:
    """On a worker: classes with few rows, sets of up to `size` items in few rows of their class, and with l what they tell."""
    rows, records = of_rows(table, template)
    items, sensitive = known_items(records)
    of_row, sizes = classes(records)
    codes = _class_codes(records, of_row)
    apart, token = told_apart(items, of_row)
    counted = KmAnonymity(k, max(size, 1)).audit(apart, witnesses=keep, yes_or_no=only_one, threads=1)
    small = np.flatnonzero(sizes < k)
    support = apart.supports()
    own = {
        name: i for i, name in enumerate((template.items or items).vocabulary)
    }  # ids with the sensitive ones among them
    rare = []
    for witness in counted.witnesses:
        members = sorted(map(int, witness.items), key=lambda t: (support[t], t))
        c = int(of_row[witness.rows[0] - 1])
        # Tokens are met rarest first, then by class and item: the same in every block.
        key = [witness.support, len(members), [[int(support[t]), codes[c].tolist(), int(token[t])] for t in members]]
        names = [items.vocabulary[token[int(name)]] for name in witness.items]
        rare.append(
            {
                "key": key,
                "items": [own[name] for name in names],
                "support": witness.support,
                "rows": numbers(rows, np.array(witness.rows) - 1),
                "class": codes[c].tolist(),
            }
        )
    return (
        _figures(sizes)
        | {
            "small": len(small),
            "empty": items.empty,
            "by_size": [counted.by_size.get(s, (0, 0)) for s in range(size + 1)],
            "rare": rare,
            "few": [
                {
                    "key": [int(sizes[c]), codes[c].tolist()],
                    "size": int(sizes[c]),
                    "rows": numbers(rows, of_row == c),
                    "class": codes[c].tolist(),
                }
                for c in small[np.argsort(sizes[small], kind="stable")][:keep].tolist()
            ],
        }
        | ({} if l is None else _inferences(rows, items, sensitive, of_row, sizes, codes, l, m, keep, only_one))
    )


def _inferences(
    rows: Longs,
    items: Baskets,
    sensitive: Baskets,
    of_row: Longs,
    sizes: Longs,
    codes: npt.NDArray[np.int32],
    l: int,  # noqa: E741
    m: int,
    keep: int,
    only_one: bool,
) -> dict[str, Any]:
    """On a worker: sensitive items in more than 1/l of the rows that hold a set, as `LmDiversity.audit` counts them."""
    from shoal.kernels.audit.inference import count_inferences

    order = np.argsort(of_row, kind="stable").astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    bad, figures, members = count_inferences(
        items.offsets,
        items.items,
        len(items.vocabulary),
        sensitive.offsets,
        sensitive.items,
        len(sensitive.vocabulary),
        order,
        starts,
        0,
        len(sizes),
        l,
        m,
        keep,
        only_one,
    )
    sure = []
    for place, ((c, s, both, support, size), found) in enumerate(zip(figures.tolist(), members, strict=True)):
        inside = order[starts[c] : starts[c + 1]]
        held = items.take(inside)
        row = np.repeat(np.arange(len(inside)), held.lengths)
        wanted = found[:size].tolist()
        holds = np.bincount(row[np.isin(held.items, wanted)], minlength=len(inside)) == len(wanted)
        sure.append(
            {
                "key": [-both / support, codes[c].tolist(), place],
                "items": [items.vocabulary[i] for i in wanted],
                "support": support,
                "both": both,
                "sensitive": sensitive.vocabulary[s],
                "rows": numbers(rows, inside[holds]),
                "class": codes[c].tolist(),
            }
        )
    return {"bad": bad.tolist(), "sure": sure}


def _class_codes(records: Records, of_row: Longs) -> npt.NDArray[np.int32]:
    """Per class, the codes of its quasi-identifier values: classes are numbered in their order."""
    quasi = records.of_role("quasi")
    first = np.unique(of_row, return_index=True)[1]
    if not quasi:
        return np.zeros((len(first), 0), np.int32)
    return np.stack([column.codes[first] for column in quasi], axis=1)


def _figures(sizes: Longs) -> dict[str, Any]:
    return {"classes": len(sizes), "smallest": int(sizes.min()), "largest": int(sizes.max())}


def _class_facts(told: list[dict[str, Any]], rows: int) -> dict[str, Any]:
    """As `class_facts`, from those of blocks."""
    n = sum(one["classes"] for one in told)
    return {
        "classes": n,
        "smallest_class": min((one["smallest"] for one in told), default=0),
        "largest_class": max((one["largest"] for one in told), default=0),
        "average_class": rows / n if n else 0.0,
    }


def _by_size(told: list[dict[str, Any]], size: int) -> npt.NDArray[np.int64]:
    """Per size of sets: (counted, too rare)."""
    counts = np.array([one["by_size"] for one in told], np.int64).reshape(-1, size + 1, 2)
    total: npt.NDArray[np.int64] = counts.sum(axis=0)
    return total


def first(told: list[dict[str, Any]], name: str, wanted: int) -> list[dict[str, Any]]:
    """The first of what all blocks name, by their keys."""
    return sorted((each for one in told for each in one[name]), key=lambda each: each["key"])[:wanted]


def _group(template: Records, codes: list[int]) -> tuple[str, ...]:
    return tuple(column.values[code] for column, code in zip(template.of_role("quasi"), codes, strict=True))
