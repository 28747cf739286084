"""What a series of snapshots costs against releases that know nothing of each other, and how many people those give away together.

Patients of Diabetes-130 under ICD-9, k = 5, m = 2. The data say nothing of time, so quarters are made up, with a fixed seed: 6 of 10
patients are there from the first quarter on, others join, 1 in 40 leaves in each; of the diagnoses of a patient, half are there at
first, others are added. Information kept is that of the last quarter, waiting patients counted as lost; the independent releases are
made by local with what it deletes unless told otherwise. People found are those whom the attack finds in all releases together
(`shoal attack --series`, with the originals). Independent releases keep the order of their rows for that, so that it knows whose rows
are whose; of the series, the ledger knows, and its audit finds nobody.
"""

from __future__ import annotations

import csv
import os
import random
import tempfile
from pathlib import Path

from km import TREES, data
from measuring import Row, cpu_seconds, folder

QUARTERS = 4
SIZES = (10_000, 71_517)


def section_snapshots() -> list[Row]:
    return [{"patients": size, "way": way} for size in SIZES for way in ("snapshots", "independent")]


def case_snapshots(patients: int, way: str) -> Row:
    """Four snapshots of the same patients, in a series and independent of each other, k = 5, m = 2"""
    import shoal

    root = folder()
    assert root is not None
    tree = str(root / TREES["Diabetes-130"])
    promise = shoal.KmAnonymity(5, 2)
    with tempfile.TemporaryDirectory() as place:
        os.environ["SHOAL_KEY"] = str(Path(place) / "owner.key")
        originals = write_quarters(Path(place), list(data("Diabetes-130").rows())[:patients])
        released, seconds, of_series = [], 0.0, {}
        kept = as_they_are = 0.0
        for number, original in enumerate(originals, 1):
            ledger = {"series": str(Path(place) / "ledger.json"), "series_kind": "snapshots", "person": "patient"}
            how = ledger if way == "snapshots" else {"drop": "patient", "keep_order": True}
            before = cpu_seconds()
            release = shoal.anonymize(original, promise, items="codes", hierarchy=tree, **how)
            released.append(str(Path(place) / f"public{number}.csv"))
            release.write(released[-1])
            seconds += cpu_seconds() - before
            kept, as_they_are, of_series = 1 - release.loss["info"], release.kept["exact"], release.series or {}
        together = "none of all"
        if way == "independent":
            attack = shoal.attack_series(
                released, k=5, m=2, hierarchy=tree, originals=originals, items="codes", person="patient"
            )
            people = attack.outcome.people
            assert people is not None
            assert not people.guessed
            together = f"{people.together:,} of {people.people:,}"
    return {
        "patients": patients,
        "way": way,
        "information kept": f"{kept:.1%}",
        "as they are": f"{as_they_are:.1%}",
        "patients who wait": f"{of_series['waiting']:,} of {of_series['people']:,}" if of_series else "-",
        "gone, still there": f"{of_series['staying']:,}" if of_series else "-",
        "people found together": together,
        "CPU s a release": f"{seconds / QUARTERS:.1f}",
    }


def write_quarters(place: Path, patients: list[list[str]]) -> list[str]:
    """The quarters as files, a patient in each row."""
    chance = random.Random(1)
    joins = [max(0, chance.randint(-5, QUARTERS - 1)) for _ in patients]
    leaves = [next(q for q in range(1, 1000) if q == 999 or chance.random() < 1 / 40) for _ in patients]
    added = [[max(0, chance.randint(-QUARTERS, QUARTERS - 1)) for _ in codes] for codes in patients]
    files = []
    for quarter in range(QUARTERS):
        files.append(str(place / f"quarter{quarter + 1}.csv"))
        with open(files[-1], "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(("patient", "codes"))
            for number, codes in enumerate(patients):
                if joins[number] <= quarter < joins[number] + leaves[number]:
                    there = [c for c, since in zip(codes, added[number], strict=True) if since <= quarter]
                    out.writerow((f"p{number}", " ".join(there)))
    return files
