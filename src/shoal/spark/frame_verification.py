"""Verification on Spark: is a data frame the release that a certificate is about, and does its promise still hold?

As `shoal verify` here: the certificate is believed in nothing that can be found out. The executors read and hash the rows and audit
them anew, in the roles that the certificate states. A folder of Parquet files must hold no column that Spark does not show, and
nothing else either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shoal.certificate.document import CertificateFile, certificate_in, read_certificate
from shoal.certificate.facts import Published
from shoal.certificate.sign import public_key
from shoal.certificate.terms import known_by_rows
from shoal.certificate.verification import Subject, Verification, folder_check, verification
from shoal.errors import InputError, option
from shoal.models import with_knowledge
from shoal.records.formats.folders import data_files
from shoal.records.roles import name_list, texts_of
from shoal.records.source import item_names
from shoal.records.storage.streams import display_name
from shoal.spark.audits import audit_rows, check_auditable
from shoal.spark.data.frame_records import FrameRoles
from shoal.spark.data.frame_roles import read_frame
from shoal.spark.data.sets import check_session
from shoal.spark.data.spark_session import master_of, start_session
from shoal.spark.data.storage import TABLE, Files, frame_of, place_of, unreadable_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    rows, in the files that the frame was read from, cannot be seen here: the command `shoal verify` on Spark looks at it.
    """
    check_session(df)
    file = _certificate(certificate, df.sparkSession)
    return verification(file, _subject(lambda: df, sensitive, knowledge, hierarchy), key=key)


def verify_place(
    engine: str,
    certificate: str,
    data: str,
    *,
    key: str | None = None,
    sensitive: Any = None,
    knowledge: str | None = None,
    hierarchy: Any = None,
) -> Verification:
    """As `verify`, of Parquet at a path of this machine or of Spark's, or of `table:NAME`, and of what lies beside it."""
    file: CertificateFile | None = None
    if "://" not in certificate:  # what is wrong with a file here is said before Spark starts
        file = read_certificate(certificate)
        if not known_by_rows(file.content):
            raise InputError(
                f"the certificate is about a file, which is known by its bytes; verify it without {option('engine', 'spark')}"
            )
    if key is not None:
        public_key(key)
    master = cast(str, master_of(engine))
    session = start_session(master)
    place = place_of(data, master)
    file = file or _certificate(certificate, session)
    folder = None
    if place.startswith(TABLE):
        table = frame_of(session, place)
        frame, name = (lambda: table), place.removeprefix(TABLE)
    else:
        if _PATTERN.search(place):
            raise InputError(f"{place}: Spark takes * ? [ ] {{ }} in a path for patterns; name a folder without them")
        frame, name = (lambda: _frame(session, place)), display_name(place)
        entries = Files(session).entries(place)
        if entries is not None:
            data_files(entries, name)  # raises if there are none, or if it is not plain which they are
            folder = folder_check(entries)
    subject = _subject(frame, sensitive, knowledge, hierarchy)
    return verification(file, replace(subject, name=name, folder=folder), key=key)


def _frame(session: SparkSession, place: str) -> DataFrame:
    """The data frame at a path; raises if its files hold columns that Spark does not show."""
    stored = Files(session).parquet_columns(place)
    frame = frame_of(session, place)
    if tuple(frame.columns) != stored:
        raise InputError(f"its files hold the columns {name_list(stored)}, and Spark shows {name_list(frame.columns)}")
    return frame


def _subject(frame: Callable[[], DataFrame], sensitive: Any, knowledge: Path | None, hierarchy: Any) -> Subject:
    """What is verified: a data frame, and what only the caller can say of it."""

    def auditor(guarantee: Any, how: Mapping[str, Any], by_rows: bool) -> Published:
        with unreadable_files():
            return _recheck(frame(), guarantee, how, sensitive is not None, knowledge, hierarchy)

    named = None if sensitive is None else _item_names(sensitive)
    return Subject(auditor, sensitive=named, knows_rules=knowledge is not None)


def _recheck(
    df: DataFrame, guarantee: Any, how: Mapping[str, Any], named: bool, knowledge: Path | None, hierarchy: Any
) -> Published:
    """The data frame, read and audited in the roles of a certificate; `named`: the sensitive items are the caller's words."""
    check_auditable(guarantee)
    items, quasi, sensitive, keep = (texts_of(how.get(role)) for role in ("items", "quasi", "sensitive", "keep"))
    missing = [name for name in (*items, *quasi, *keep, *(() if named else sensitive)) if name not in df.columns]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}")
    if len(items) > 1:
        raise InputError(f"the items stand in several columns ({name_list(items)}), which Spark does not write")
    roles = FrameRoles(items[0] if items else None, quasi, sensitive, keep, numeric=how.get("numeric"))
    seen, guarantee = read_frame(df, guarantee, roles)
    try:
        unseen = [name for name in df.columns if name not in seen.columns]
        if unseen:
            raise InputError(f"column {unseen[0]!r} has no role in the certificate")
        if not len(seen):
            raise InputError("there are no rows")
        guarantee = with_knowledge(guarantee, seen.template, knowledge, hierarchy)
        table, sets = seen.template, seen.sets
        marked = getattr(guarantee, "sensitive", ()) if table is None else table.sensitive_items
        return Published(
            guarantee,
            audit_rows(seen, guarantee),
            len(seen),
            seen.digest(),
            sensitive_items=len(marked),
            **({"empty": sets.empty, "tokens": len(sets.vocabulary)} if seen.has_sets else {}),
        )
    finally:
        seen.forget()


def _certificate(given: Path | CertificateFile, session: SparkSession) -> CertificateFile:
    """The certificate in a file of this machine or, if there is none of the name, of Spark's."""
    if isinstance(given, CertificateFile):
        return given
    path = os.fspath(given)
    if os.path.exists(path) or "://" not in path:
        return read_certificate(path)
    return certificate_in(Files(session).read(path), path.rpartition("/")[2])


def _item_names(sensitive: str | Collection[str]) -> tuple[str, ...]:
    """The sensitive items as they are given: texts, or a file with one on each line."""
    given = [sensitive] if isinstance(sensitive, str | os.PathLike) else list(sensitive)
    return tuple(name for text in given for name in (item_names(text, ()) if os.path.isfile(text) else [str(text)]))
