"""The vocabulary tables of an OMOP database as the two files that Athena gives out: what stands above some concepts, and no more.

The server picks the rows: of `concept` those that are asked for, of `concept_ancestor` what is above them and how that hangs together. So
the files are small, whatever the size of the vocabulary.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory

from shoal.errors import InputError
from shoal.records.database.address import address_of
from shoal.records.database.session import Session, quote_name
from shoal.records.tokens import as_text


@contextmanager
def vocabulary_files(text: str, codes: Collection[str]) -> Iterator[list[str]]:
    """The paths of CONCEPT.csv and CONCEPT_ANCESTOR.csv for these concept ids, as long as the block lasts."""
    address = address_of(text)
    if address.table is None or address.parts[-1].lower() != "concept":
        raise InputError(
            f"{address.shown}: name the table with the concepts (?table=concept or ?table=SCHEMA.concept); "
            "concept_ancestor is looked for beside it"
        )
    *schema, name = address.parts
    beside = "CONCEPT_ANCESTOR" if name.isupper() else "concept_ancestor"
    concept, ancestor = quote_name(*schema, name), quote_name(*schema, beside)
    wanted = ", ".join(sorted({one for code in codes if (one := code.strip()).isascii() and one.isdigit()})) or "-1"
    above = f"SELECT ancestor_concept_id FROM {ancestor} WHERE descendant_concept_id IN ({wanted})"
    queries = {
        "CONCEPT.csv": f"SELECT concept_id, invalid_reason FROM {concept} WHERE concept_id IN ({wanted})",
        "CONCEPT_ANCESTOR.csv": "SELECT ancestor_concept_id, descendant_concept_id, min_levels_of_separation "
        f"FROM {ancestor} WHERE descendant_concept_id IN ({wanted}) "
        f"OR (min_levels_of_separation = 1 AND descendant_concept_id IN ({above}))",
    }
    session = Session(replace(address, table=None))
    try:
        with TemporaryDirectory(prefix="shoal-") as folder:
            for file, query in queries.items():
                _write(session, query, os.path.join(folder, file))
            yield [os.path.join(folder, file) for file in queries]
    finally:
        session.close()


def _write(session: Session, query: str, path: str) -> None:
    """The rows of a query as a table with tabs between its cells."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\t".join(session.schema(query).names) + "\n")
        for batch in session.batches(query):
            columns = [as_text(column).fill_null("").to_pylist() for column in batch.columns]
            file.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))
