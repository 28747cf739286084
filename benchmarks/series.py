"""What a series costs against independent releases: information kept, and rows that wait.

52 batches, k = 5, m = 2, up to 5% of the occurrences deleted, rows wait for up to 4 batches. Complete Journey in the order of its file
under the tree of the shop; Quest data under frequency:5. The series chooses its cut by the first batch, with hybrid; independent
releases each choose their own, with hybrid (the 1st, 18th, 35th and 52nd batch are measured) and with local, the default (the same four).
Information kept is that of the batches together, each weighed by its occurrences. CPU seconds are those of all batches that were
measured, by the batch, the first apart.
"""

from __future__ import annotations

import numpy as np

from km import TREES, data
from measuring import Row, cpu_seconds, folder

BATCHES = 52
SAMPLED = (0, 17, 34, 51)
WITHOUT_DATA = ("series",)


def section_series() -> list[Row]:
    sizes = [{"data": "Quest", "rows": 20_000}, {"data": "Quest", "rows": 1_000_000}]
    journey = [{"data": "Complete Journey", "rows": 2_997}] if folder() is not None else []
    return [{**what, "way": way} for what in (*journey, *sizes) for way in ("series", "hybrid", "local")]


def case_series(data_name: str, rows: int, way: str) -> Row:
    """A series of 52 batches beside independent releases, k = 5, m = 2"""
    import shoal
    from shoal.algorithms.recoding import Options
    from shoal.models.km import cut_worth
    from shoal.records.samples.quest import quest
    from shoal.series.batches import next_batch

    promise, tree = shoal.KmAnonymity(5, 2), None
    if data_name == "Quest":
        root, everything = None, quest(rows * BATCHES, seed=1)
    else:
        root, everything = folder(), data(data_name)
        assert root is not None
        tree = root / TREES[data_name]
    asked = dict.fromkeys(("algorithm", "hierarchy", "suppress", "price", "unknown"), None)
    asked |= {"hierarchy": "frequency:5" if tree is None else str(tree)}
    numbers = range(BATCHES) if way == "series" else SAMPLED
    kept, weights, seconds, waiting, changes, state = [], [], [], [], 0, {}
    for number in numbers:
        part = everything.take(np.arange(number * rows, (number + 1) * rows))
        part = shoal.Baskets.from_codes(part.lengths, part.items, part.vocabulary)
        before = cpu_seconds()
        if way == "series":
            batch = next_batch(state, part, promise, asked, Options(), 4)
            state = batch.state
            waiting.append(batch.waiting)
            changes += batch.cut_changed
            if batch.going is None:  # all of a small batch waits
                continue
            lost = cut_worth(batch.going.recoding, batch.rows, None).lost["info"]
            weights.append(batch.rows.occurrences)
        else:
            release = shoal.anonymize(part, promise, algorithm=way, hierarchy=asked["hierarchy"], suppress=0.05)
            lost = release.loss["info"]
            weights.append(part.occurrences)
        seconds.append(cpu_seconds() - before)
        kept.append(1 - lost)
    return {
        "data": data_name,
        "rows": rows,
        "way": way,
        "information kept": f"{np.average(kept, weights=weights):.1%}",
        "first batch": f"{kept[0]:.1%}",
        "rows waiting, on average": f"{np.mean(waiting) / rows:.2%}" if waiting else "-",
        "at most": f"{max(waiting) / rows:.2%}" if waiting else "-",
        "cut became coarser": f"{changes} times" if way == "series" else "-",
        "CPU s, first": f"{seconds[0]:.0f}",
        "CPU s, later": f"{np.mean(seconds[1:]):.1f}",
    }
