"""Audits of tables on Spark: k-anonymity, (k,k^m)-anonymity and (k,l^m)-diversity, counted in blocks of whole classes.

Inside a block the local code counts. What is added on the driver are counts, and witnesses ranked as they are ranked locally: by
support and size, then by the order in which the local walk meets them. That order is one of supports inside the class, of the
class's codes and of item ids, and none of these depends on the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, option
from shoal.guarantees.audit import Audit, Witness, empty_rows
from shoal.guarantees.km import KmAnonymity, affordable_size
from shoal.guarantees.lm import LmDiversity, with_inferences
from shoal.guarantees.rt import RTAnonymity, known_items, told_apart
from shoal.guarantees.table import TableAnonymity, classes, fewest_values
from shoal.guarantees.values.missing import check_named
from shoal.kernels.audit.inference import count_inferences
from shoal.numbers import Bools, Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.spark.audits.class_blocks import Answer, answers, by_values, row_numbers, worst
from shoal.spark.data.executors import count_batch, count_keys
from shoal.spark.data.frame_records import SparkRecords, local_records
from shoal.spark.data.packing import pieces, row_of


def audit_table(records: SparkRecords, guarantee: TableAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `TableAnonymity.audit`. Classes are counted whole, whatever is asked."""
    sensitive = records.template.of_role("sensitive")
    if guarantee.l > 1 and not sensitive:
        raise InputError(
            f"l = {guarantee.l}, but no column is sensitive; say with {option('sensitive')} which one, or leave l out"
        )
    check_named(guarantee.missing, [column.name for column in sensitive])
    blocks = answers(records, by_values, _small_or_plain, guarantee=guarantee, keep=witnesses)
    bad = sum(block["bad"] for block in blocks)
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not bad,
        checked=sum(block["classes"] for block in blocks),
        violations=bad,
        witnesses=tuple(
            _witness(
                records.template,
                one,
                f"{one['support']:,} of {guarantee.k:,} rows"
                if one["support"] < guarantee.k
                else f"{one['fewest']:,} of {guarantee.l:,} sensitive values",
            )
            for one in worst(blocks, "worst", witnesses)
        ),
        facts=_class_facts(blocks, len(records))
        | ({"fewest_sensitive": min(block["fewest"] for block in blocks)} if sensitive and blocks else {}),
    )


def audit_rt(records: SparkRecords, guarantee: RTAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `RTAnonymity.audit`."""
    return _audit_classes(records, guarantee, None, witnesses, yes_or_no)[0]


def audit_lm(records: SparkRecords, guarantee: LmDiversity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `LmDiversity.audit`."""
    hidden, blocks, m = _audit_classes(
        records, RTAnonymity(guarantee.k, guarantee.m), int(guarantee.l), witnesses, yes_or_no
    )
    bad = np.array([block["bad"] for block in blocks], np.int64).reshape(-1, m + 1).sum(axis=0)
    sure = tuple(
        _witness(
            records.template,
            one,
            f"{one['both']:,} of {one['support']:,} rows hold the same sensitive item, more than 1/{guarantee.l}",
        )
        for one in worst(blocks, "sure", witnesses)
    )
    return with_inferences(guarantee, hidden, bad, sure, witnesses)


def _audit_classes(
    records: SparkRecords,
    guarantee: RTAnonymity,
    l: int | None,  # noqa: E741
    witnesses: int,
    yes_or_no: bool,
) -> tuple[Audit, list[Answer], int]:
    """The audit of (k,k^m)-anonymity, what every block says, and the largest size of a set."""
    template, k = records.template, int(guarantee.k)
    if template.items is None:
        raise InputError(
            f"the table has no items; say with {option('items')} which column holds them, or ask for {option('model', 'k')}"
        )
    lengths, of_length = _known_lengths(records)
    m = min(int(guarantee.m), int(lengths.max(initial=0)))
    full = m if yes_or_no else affordable_size(lengths, of_length, m)
    how = {"k": k, "m": m, "keep": witnesses}
    blocks = answers(records, by_values, _count_classes, size=full, only_one=yes_or_no, l=l, **how)
    rare = _by_size(blocks, full)
    complete = not rare[:, 1].any() if yes_or_no else full == m
    deciding = blocks
    if full < m and not rare[:, 1].any():
        # No breach among the sizes that can be counted: the larger ones decide, and the first breach is enough.
        deciding = answers(records, by_values, _count_classes, size=m, only_one=True, l=None, **how)
        rare = _by_size(deciding, m)
        complete = not rare[:, 1].any()
    small, n_classes, empty = (sum(block[name] for block in blocks) for name in ("small", "classes", "empty"))
    few = [_witness(template, one, f"{one['support']:,} of {k:,} rows") for one in worst(blocks, "few", witnesses)]
    thin = [_witness(template, one) for one in worst(deciding, "rare", witnesses)]
    verdict = Audit(
        guarantee=guarantee.to_dict(),
        holds=not small and not rare[:, 1].any(),
        checked=int(rare[:, 0].sum()) + n_classes,
        violations=int(rare[:, 1].sum()) + small,
        by_size={0: (n_classes, small)} | {size: tuple(rare[size].tolist()) for size in range(1, len(rare))},
        complete=complete,
        witnesses=tuple(sorted(thin + few, key=lambda w: (w.support, len(w.items))))[:witnesses],
        notes=empty_rows(empty),
        facts=_class_facts(blocks, len(records)),
    )
    return verdict, blocks, m


def _known_lengths(records: SparkRecords) -> tuple[Ints, Ints]:
    """Lengths of rows without their sensitive items, ascending, and how many rows have each."""
    hidden, sets = records.template.sensitive_items, records.sets
    if not hidden:
        return sets.lengths, sets.of_length
    of_length = count_keys(records.rows, _count_lengths, sets.longest + 1, wanted=~sets.marks(hidden))
    lengths = np.flatnonzero(of_length)
    return lengths.astype(np.int64), of_length[lengths]


def _count_lengths(batches: Iterator[pa.RecordBatch], wanted: Bools) -> Iterator[pa.RecordBatch]:
    """On a worker: how many of its rows hold so many of the wanted items."""
    for rows, baskets in pieces(batches):
        yield count_batch(np.bincount(row_of(baskets.offsets)[wanted[baskets.items]], minlength=len(rows)))


@dataclass(frozen=True, eq=False)
class Block:
    """On a worker: the rows of whole classes."""

    rows: Ints
    """Their numbers."""
    records: Records
    of_row: Ints
    """The class of each row."""
    sizes: Ints
    codes: Codes
    """Per class, the codes of its quasi-identifier values: classes are numbered in their order."""

    @classmethod
    def of(cls, table: pa.Table, template: Records) -> Block:
        rows, records = local_records(table, template)
        of_row, sizes = classes(records)
        first = np.unique(of_row, return_index=True)[1]
        quasi = [column.codes[first] for column in records.of_role("quasi")]
        codes = np.stack(quasi, axis=1) if quasi else np.zeros((len(first), 0), np.int32)
        return cls(rows, records, of_row, sizes, codes)

    def witness(self, c: int, rank: list[Any], rows: Any, **facts: Any) -> Answer:
        """What is wrong with some rows of class c, and what ranks it among what is wrong elsewhere."""
        return {"key": rank, "rows": row_numbers(self.rows, rows), "class": self.codes[c].tolist(), **facts}

    def figures(self) -> Answer:
        return {"classes": len(self.sizes), "smallest": int(self.sizes.min()), "largest": int(self.sizes.max())}


def _small_or_plain(table: pa.Table, template: Records, guarantee: TableAnonymity, keep: int) -> Answer:
    """On a worker: classes with few rows or few different sensitive values."""
    block = Block.of(table, template)
    sizes = block.sizes
    fewest = fewest_values(block.records, block.of_row, len(sizes), guarantee.missing)
    bad = np.flatnonzero((sizes < guarantee.k) | (fewest < (guarantee.l if guarantee.l > 1 else 0)))
    shown = []
    for c in bad[np.lexsort((fewest[bad], sizes[bad]))][:keep].tolist():
        size, values = int(sizes[c]), int(fewest[c])
        rank = [size, values, block.codes[c].tolist()]
        shown.append(block.witness(c, rank, block.of_row == c, support=size, fewest=values))
    return block.figures() | {"bad": len(bad), "fewest": int(fewest.min()), "worst": shown}


def _count_classes(
    table: pa.Table,
    template: Records,
    k: int,
    size: int,
    keep: int,
    only_one: bool,
    l: int | None,  # noqa: E741
    m: int,
) -> Answer:
    """On a worker: classes with few rows, sets of up to `size` items in few rows of their class, and with l what they tell."""
    block = Block.of(table, template)
    items, sensitive = known_items(block.records)
    apart, token = told_apart(items, block.of_row)
    verdict = KmAnonymity(k, max(size, 1)).audit(apart, witnesses=keep, yes_or_no=only_one, threads=1)
    support = apart.supports()
    rare = []
    for witness in verdict.witnesses:
        members = sorted(map(int, witness.items), key=lambda t: (support[t], t))
        c = int(block.of_row[witness.rows[0] - 1])
        # Tokens are met rarest first, then by class and item: the same in every block.
        each = [[int(support[t]), block.codes[c].tolist(), int(token[t])] for t in members]
        names = [items.vocabulary[token[int(name)]] for name in witness.items]
        rank = [witness.support, len(members), each]
        rare.append(block.witness(c, rank, np.array(witness.rows) - 1, support=witness.support, items=names))
    sizes = block.sizes
    small = np.flatnonzero(sizes < k)
    few = [
        block.witness(c, [int(sizes[c]), block.codes[c].tolist()], block.of_row == c, support=int(sizes[c]))
        for c in small[np.argsort(sizes[small], kind="stable")][:keep].tolist()
    ]
    answer = block.figures() | {
        "small": len(small),
        "empty": items.empty,
        "by_size": [verdict.by_size.get(s, (0, 0)) for s in range(size + 1)],
        "rare": rare,
        "few": few,
    }
    return answer if l is None else answer | _inferences(block, items, sensitive, (l, m, keep, only_one))


def _inferences(block: Block, items: Baskets, sensitive: Baskets, how: tuple[int, int, int, bool]) -> Answer:
    """On a worker: sensitive items in more than 1/l of the rows that hold a set, as `LmDiversity.audit` counts them.

    `how` has l, the largest size of a set, how many are listed, and whether the first one is enough.
    """
    order = np.argsort(block.of_row, kind="stable").astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(block.sizes))).astype(np.int64)
    bad, figures, members = count_inferences(
        items.offsets,
        items.items,
        len(items.vocabulary),
        sensitive.offsets,
        sensitive.items,
        len(sensitive.vocabulary),
        order,
        starts,
        None,
        0,
        len(block.sizes),
        *how,
    )
    sure = []
    for place, ((c, _, both, support, size), itemset) in enumerate(zip(figures.tolist(), members, strict=True)):
        inside = order[starts[c] : starts[c + 1]]
        held = items.take(inside)
        wanted = itemset[:size].tolist()
        of_item = row_of(held.offsets)[np.isin(held.items, wanted)]
        holds = np.bincount(of_item, minlength=len(inside)) == len(wanted)
        rank = [-both / support, block.codes[c].tolist(), place]
        names = [items.vocabulary[i] for i in wanted]
        sure.append(block.witness(c, rank, inside[holds], support=support, both=both, items=names))
    return {"bad": bad.tolist(), "sure": sure}


def _class_facts(blocks: list[Answer], rows: int) -> dict[str, Any]:
    """As `class_facts`, from those of blocks."""
    n = sum(block["classes"] for block in blocks)
    return {
        "classes": n,
        "smallest_class": min((block["smallest"] for block in blocks), default=0),
        "largest_class": max((block["largest"] for block in blocks), default=0),
        "average_class": rows / n if n else 0.0,
    }


def _by_size(blocks: list[Answer], size: int) -> Ints:
    """Per size of sets: (counted, too rare)."""
    counts = np.array([block["by_size"] for block in blocks], np.int64).reshape(-1, size + 1, 2)
    total: Ints = counts.sum(axis=0)
    return total


def _witness(template: Records, one: Answer, reason: str = "") -> Witness:
    """What a block says of some rows, with the values of their class."""
    group = tuple(column.values[code] for column, code in zip(template.of_role("quasi"), one["class"], strict=True))
    return Witness(tuple(one.get("items", ())), one["support"], tuple(one["rows"]), reason, group)
