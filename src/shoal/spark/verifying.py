"""Verification on Spark: is a data frame the release that a certificate is about, and does its promise still hold?

As `shoal verify` here: the certificate is believed in nothing that can be found out. The executors read and hash the rows and audit
them anew, in the roles that the certificate states. A folder of Parquet files must hold no column that Spark does not show, and
nothing else either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from shoal.certificate.checks import Check
from shoal.certificate.document import CertificateFile, certificate_in, read_certificate
from shoal.certificate.facts import Published
from shoal.certificate.verification import Subject, Verification, folder_check, verification
from shoal.errors import InputError
from shoal.records.columns import listed
from shoal.records.formats.folders import data_files
from shoal.records.storage.streams import display_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from shoal.engines.spark.records import SparkRecords
    from shoal.engines.spark.sets import SparkSets

Path = str | os.PathLike[str]

_PATTERN = re.compile(r"[*?\[\]{}\\]")


def verify(
    df: DataFrame,
    certificate: Path | CertificateFile,
    *,
    key: Path | None = None,
    sensitive: str | Collection[str] | None = None,
    knowledge: Path | None = None,
    hierarchy: Any = None,
) -> Verification:
    """Whether a data frame is the release that a certificate is about, and its promise still holds.

    The certificate is a file of the driver, or of Spark's (hdfs://...); all else is as for `shoal.release.verify`. What lies beside the
    rows, in the files that the frame was read from, cannot be seen here: `shoal verify --engine spark` looks at it.
    """
    from shoal.engines.spark.sets import check_session

    check_session(df)
    file = _certificate(certificate, df.sparkSession)
    return _verified(lambda: df, file, None, None, key, sensitive, knowledge, hierarchy)


def verify_place(
    session: SparkSession, place: str, certificate: Path | CertificateFile, *, key: Path | None = None, **how: Any
) -> Verification:
    """As `verify`, of Parquet at a path of Spark's, or of `table:NAME`."""
    from shoal.engines.spark.reading import TABLE, frame_of
    from shoal.engines.spark.storage import Files

    file = _certificate(certificate, session)
    how = {name: how.get(name) for name in ("sensitive", "knowledge", "hierarchy")}
    if place.startswith(TABLE):
        table = frame_of(session, place)
        return _verified(lambda: table, file, None, place.removeprefix(TABLE), key, **how)
    if _PATTERN.search(place):
        raise InputError(f"{place}: Spark takes * ? [ ] {{ }} in a path for patterns; name a folder without them")
    entries = Files(session).entries(place)
    if entries is not None:
        data_files(entries, display_name(place))  # raises if there are none, or if it is not plain which they are
    folder = None if entries is None else folder_check(entries)
    return _verified(lambda: _frame(session, place), file, folder, display_name(place), key, **how)


def _frame(session: SparkSession, place: str) -> DataFrame:
    """The data frame at a path; raises if its files hold columns that Spark does not show."""
    from shoal.engines.spark.reading import frame_of
    from shoal.engines.spark.storage import Files

    stored = Files(session).parquet_columns(place)
    frame = frame_of(session, place)
    if tuple(frame.columns) != stored:
        raise InputError(f"its files hold the columns {listed(stored)}, and Spark shows {listed(frame.columns)}")
    return frame


def _verified(
    frame: Callable[[], DataFrame],
    certificate: CertificateFile,
    folder: Check | None,
    name: str | None,
    key: Path | None,
    sensitive: Any,
    knowledge: Path | None,
    hierarchy: Any,
) -> Verification:
    from shoal.engines.spark.reading import unreadable_files

    def auditor(guarantee: Any, how: Mapping[str, Any], by_rows: bool) -> Published:
        with unreadable_files():
            return _recheck(frame(), guarantee, how, sensitive is not None, knowledge, hierarchy)

    named = None if sensitive is None else _named(sensitive)
    subject = Subject(auditor, None, name, folder, named, knows_rules=knowledge is not None)
    return verification(certificate, subject, key=key)


def _recheck(
    df: DataFrame, guarantee: Any, how: Mapping[str, Any], named: bool, knowledge: Path | None, hierarchy: Any
) -> Published:
    """The data frame, read and audited in the roles of a certificate; `named`: the sensitive items are the caller's words."""
    from shoal.engines.spark import SparkEngine
    from shoal.engines.spark.audits import check_auditable
    from shoal.engines.spark.records import SparkRecords
    from shoal.engines.spark.roles import published_as
    from shoal.models import with_knowledge
    from shoal.records.roles import texts_of
    from shoal.spark.release import digest_of

    check_auditable(guarantee)
    items, quasi, sensitive, keep = (texts_of(how.get(role)) for role in ("items", "quasi", "sensitive", "keep"))
    missing = [name for name in (*items, *quasi, *keep, *(() if named else sensitive)) if name not in df.columns]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}")
    if len(items) > 1:
        raise InputError(f"the items stand in several columns ({listed(items)}), which Spark does not write")
    column, numeric = items[0] if items else None, how.get("numeric")
    seen, guarantee = published_as(df, guarantee, column, quasi, sensitive, numeric, keep)
    try:
        _refuse_unseen(df, seen)
        guarantee = with_knowledge(guarantee, getattr(seen, "template", None), knowledge, hierarchy)
        sets = seen.sets if isinstance(seen, SparkRecords) else seen
        is_set = not isinstance(seen, SparkRecords) or seen.template.items is not None
        marked = (
            seen.template.sensitive_items if isinstance(seen, SparkRecords) else getattr(guarantee, "sensitive", ())
        )
        return Published(
            guarantee,
            SparkEngine().audit(seen, guarantee),
            len(seen),
            digest_of(seen),
            sensitive_items=len(marked),
            **({"empty": sets.empty, "tokens": len(sets.vocabulary)} if is_set else {}),
        )
    finally:
        seen.forget()


def _refuse_unseen(df: DataFrame, seen: SparkSets | SparkRecords) -> None:
    """Raises if there are columns that neither the audit nor the hash looks at, or no rows."""
    from shoal.engines.spark.records import SparkRecords

    if isinstance(seen, SparkRecords):
        table = seen.template
        looked_at = {*(column.name for column in table.columns), *seen.kept, table.sensitive_name}
        looked_at |= {table.items_name} if table.items is not None else set()
    else:
        looked_at = {seen.column}
    unseen = [name for name in df.columns if name not in looked_at]
    if unseen:
        raise InputError(f"column {unseen[0]!r} has no role in the certificate")
    if not len(seen):
        raise InputError("there are no rows")


def _certificate(given: Path | CertificateFile, session: SparkSession) -> CertificateFile:
    """The certificate in a file of this machine or, if there is none of the name, of Spark's."""
    from shoal.engines.spark.storage import Files

    if isinstance(given, CertificateFile):
        return given
    path = os.fspath(given)
    if os.path.exists(path) or "://" not in path:
        return read_certificate(path)
    return certificate_in(Files(session).read(path), path.rpartition("/")[2])


def _named(sensitive: str | Collection[str]) -> tuple[str, ...]:
    """The sensitive items as they are given: texts, or a file with one on each line."""
    from shoal.records.record_reading import item_names

    given = [sensitive] if isinstance(sensitive, str | os.PathLike) else list(sensitive)
    return tuple(name for text in given for name in (item_names(text, ()) if os.path.isfile(text) else [str(text)]))
