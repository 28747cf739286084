"""What was read, and from where: one noun for sets and tables, files, databases and Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.records.baskets import Baskets
from shoal.records.layout import Layout
from shoal.records.records import Records

if TYPE_CHECKING:
    from shoal.records.database.read import Identity


@dataclass(frozen=True)
class Source:
    """What was read, and from where. A file of sets is Records without columns, whose items are the sets."""

    name: str
    """What messages call it: the file's name without folders."""
    records: Records
    sha256: str
    """Of the raw bytes of the input; of a canonical form of the records for Python objects."""
    layout: Layout
    origin: Identity | None = None
    """Which table or query of which database it is: no release may write over it."""
    notes: tuple[str, ...] = ()
    """For the owner: what was taken for something else than one might expect. They may name values."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def baskets(self) -> Baskets:
        """The sets of data that have some."""
        assert self.records.items is not None
        return self.records.items

    @property
    def rows(self) -> Baskets | Records:
        """What an audit looks at: the sets where there is nothing else, or the whole table."""
        return self.baskets if self.records.holds_sets_alone else self.records
