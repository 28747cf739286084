"""Publishing: writing a release to files, or to a table and files, that appear together or not at all.

What was written is read again before it gets its name, and must hold exactly the rows that passed the audit.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.algorithms.recoding import Progress
from shoal.certificate.document import certificate_file, check_certificate_name
from shoal.certificate.facts import ROWS_HASHED, Making, Published
from shoal.certificate.facts import certificate as certificate_of
from shoal.certificate.owner import has_key, key_path, owner_files, report_bytes
from shoal.certificate.sign import signer
from shoal.errors import InputError, Message, near_miss, option
from shoal.guarantees.registry import roles_for
from shoal.hierarchy.spec import is_made, near_form
from shoal.limits import limited_inputs
from shoal.options import File as Path
from shoal.options import Place
from shoal.plan.model import Plan
from shoal.plan.places import short_form
from shoal.records.database.address import DATABASES, ONLY_READ, address_of, file_of, is_address, without_password
from shoal.records.database.write import TableTarget, check_table, same_file, table_rows
from shoal.records.formats.peek import column_names
from shoal.records.formats.text import csv_cell, escape_guard
from shoal.records.layout import FORMATS, TEXT_FORMATS, Layout, format_of, layout_for
from shoal.records.records import Records
from shoal.records.roles import is_header, its_columns, name_list
from shoal.records.source import fingerprint
from shoal.records.spelling.set_cells import parting_mark
from shoal.records.storage.digest import DIGEST, row_digest
from shoal.records.storage.publication import (
    Publication,
    StagedFile,
    check_apart,
    check_targets,
    display_name,
    passing_folder,
    writing_errors,
)
from shoal.records.stores.remote import has_scheme, is_remote, remote_of
from shoal.records.stores.upload import Upload, check_stored, check_writable
from shoal.records.writing import Told, flags_to_read, write_to, written_records, written_tokens
from shoal.series.ledger import write_ledger

if TYPE_CHECKING:
    from shoal.release import Release


_ENDINGS = {"long": "csv"}
"""How names of formats end that are not called by their ending."""


@dataclass(frozen=True)
class Targets:
    """The files, or the table and the files, that a release is written to. They appear together or not at all."""

    data: str = field(repr=False)  # an address may hold a password
    certificate: str | None
    rules: str | None
    sign: str | None = None
    """The private key that the certificate is signed with."""
    report: str | None = None

    @classmethod
    def of(
        cls,
        data: Path,
        certificate: Path | None = None,
        rules: Path | None = None,
        sign: Path | None = None,
        report: Path | None = None,
    ) -> Targets:
        """The certificate lies beside the data unless named; data on standard output (`-`) has none then, and a table needs one."""
        out = os.fspath(data)
        if certificate is None and out != "-" and not is_address(out):
            certificate = f"{out}.certificate.json"
        return cls(out, *(None if path is None else os.fspath(path) for path in (certificate, rules, sign, report)))

    @property
    def files(self) -> tuple[str, ...]:
        """In the order in which they are put in place: whoever finds the data finds its certificate."""
        named = (self.certificate, self.rules, self.report, None if is_address(self.data) else self.data)
        return tuple(name for name in named if name not in (None, "-") and not is_remote(name))

    @property
    def objects(self) -> tuple[str, ...]:
        """Those that go to a store, in the order in which they get their names there."""
        return tuple(name for name in (self.certificate, self.data) if name is not None and is_remote(name))

    @property
    def private(self) -> tuple[str, ...]:
        """Those that are for the owner alone."""
        return tuple(name for name in (self.rules, self.report) if name is not None)

    def check(self, *, force: bool = False, inputs: tuple[str, ...] = ()) -> None:
        """Raises if they could not be written: better before a long run than after it."""
        self.check_files(force=force, inputs=inputs)
        if is_address(self.data):
            check_table(self.data, force=force, sources=[given for given in inputs if is_address(given)])
        check_stored(self.objects, force=force)

    def check_files(self, *, force: bool = False, inputs: tuple[str, ...] = ()) -> None:
        """As `check`, without a look into a database."""
        for name in (self.data, self.certificate, *self.private):
            if name is not None and has_scheme(name) and not is_address(name):
                remote_of(name)  # raises, with what is supported
        check_writable(self.objects, filter(is_remote, inputs))
        if is_address(self.data) and (kind := address_of(self.data).kind) in ONLY_READ:
            raise InputError(
                f"{display_name(self.data)}: {kind}: is for reading; write to a file, such as release.parquet, and load that"
            )
        if self.data != "-":
            layout_for(self.data)
        if is_address(self.data) and self.certificate is None:
            raise InputError(
                f"{display_name(self.data)}: a table has no place for its certificate; name a file for it with {option('certificate')}"
            )
        if self.certificate is not None:
            check_certificate_name(self.certificate)
        if self.sign is not None:
            if self.certificate is None:
                raise InputError(f"there is no certificate to sign; name one with {option('certificate')}")
            signer(self.sign)
            inputs = (*inputs, self.sign)
        if self.rules == "-":
            raise InputError("rules go to a file of their own, not to standard output")
        if self.report == "-":
            raise InputError("the report goes to a file of its own, not to standard output; name one")
        if is_remote(self.certificate) and not is_remote(self.data):
            raise InputError(
                "a certificate goes to a store together with its data alone; write it to a file, or the data to the store, too"
            )
        if private := [name for name in self.private if is_remote(name)]:
            raise InputError(
                f"{display_name(private[0])}: it is for its owner alone, and a store does not promise who reads it; "
                "name a file on this machine"
            )
        kept = [("an input of this release", file_of(given)) for given in inputs if os.path.exists(file_of(given))]
        if is_address(self.data):
            kept.append(("the database of this release", file_of(self.data)))
        check_apart(self.files, [*kept, *owner_files()])
        check_targets(self.files, force=force, database=self.data if is_address(self.data) else None)


@dataclass(frozen=True)
class Written:
    """What a release was written to."""

    targets: Targets
    layout: Layout
    sha256: str
    seconds: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        proof = self.targets.certificate
        return f"Written({self.targets.data}{'' if proof is None else f', certificate {proof}'}, sha256 {self.sha256[:12]}…)"


def targets_of(plan: Plan) -> Targets | None:
    """The files that a plan writes, if it names any."""
    if plan.outputs is None:
        return None
    named = plan.outputs.model_dump()
    paths = {key: None if named[key] is None else plan.path_of(named[key]) for key in named}
    return Targets.of(**(paths | ({"data": held} if (held := plan.memory.get(("outputs", "data"))) else {})))


def check_files(plan: Plan, *, force: bool = False) -> Targets | None:
    """The files to write. Raises if an input is missing or another file than the plan means, or if an output could not be written."""
    files = list(_input_files(plan))
    for place, given in () if plan.is_asked else files:  # what was asked for by options, the readers miss
        path = plan.path_of(given)
        is_folder = place == ("input", "path") and os.path.isdir(path)
        is_there = is_folder or os.path.isfile(file_of(path))
        if path != "-" and not has_scheme(path) and not is_address(path) and not is_there:
            what = "it is a folder" if os.path.isdir(path) else "there is no such file"
            is_tree = place[0] == "hierarchies"
            near, forms = (near_form(given), ", or take a known form such as balanced:5") if is_tree else ("", "")
            raise plan.refusal(
                place, f"{short_form(given)}: {what}; {near}paths are relative to the plan's folder{forms}"
            )
    targets = targets_of(plan)
    if targets is not None:
        inputs = [plan.data, *(plan.path_of(given) for place, given in files if place[0] != "input")]
        if plan.ledger is not None:
            inputs.append(plan.ledger)
        if plan.origin.sha256 is not None:  # it was read from a file
            inputs.append(plan.path_of(plan.origin.name))
        try:
            targets.check(force=force, inputs=tuple(path for path in inputs if isinstance(path, str)))
        except InputError as error:
            raise plan.refusal_of(("outputs",), error) from None
    # The hash of a table is known when it has been read, which is before anything is written.
    is_file = "://" not in plan.input.path and plan.input.path != "-" and not is_address(plan.input.path)
    if plan.input.sha256 is not None and is_file:
        check_hash(plan, fingerprint(plan.path_of(plan.input.path)))
    if not plan.is_asked:
        _check_columns(plan)
    return targets


def _input_files(plan: Plan) -> Iterator[tuple[Place, str]]:
    yield ("input", "path"), plan.input.path
    if plan.sensitive_file is not None:
        yield ("sensitive_file",), plan.sensitive_file
    specs = plan.hierarchies if isinstance(plan.hierarchies, dict) else {"": plan.hierarchies}
    for name, spec in specs.items():
        if spec is not None and not is_made(spec):
            yield ("hierarchies", name) if name else ("hierarchies",), spec
    if plan.options.knowledge is not None:
        yield ("options", "knowledge"), plan.options.knowledge
    if plan.outputs is not None and plan.outputs.sign is not None:
        yield ("outputs", "sign"), plan.outputs.sign


def check_hash(plan: Plan, sha256: str) -> None:
    """Raises if the data are not those of which the plan has the hash."""
    if plan.input.sha256 in (None, sha256):
        return
    if is_address(plan.input.path):
        raise plan.refusal(
            ("input", "sha256"),
            f"{display_name(plan.data)} holds other rows than those the plan was made for (they have {sha256}); "
            "look at them, and correct the hash",
        )
    raise plan.refusal(
        ("input", "sha256"),
        f"{display_name(plan.input.path)} is another file than the one the plan was made for (it has {sha256}); "
        "take that file, or look at this one and correct the hash",
    )


def _check_columns(plan: Plan) -> None:
    """Raises if the plan names columns that the file lacks, or leaves some of them without a role."""
    if not plan.columns or ("://" in plan.input.path and not is_address(plan.input.path)):
        return
    name = display_name(plan.data)
    with plan.speaking():
        columns = column_names(plan.content, plan.input.format)
    if not columns:
        return
    for column in plan.columns:
        if column not in columns:
            raise plan.refusal(
                ("columns", column), f"{name} has no such column; {its_columns(columns, list(plan.columns), column)}"
            )
    without = [column for column in columns if column not in plan.columns]
    if without:
        taken = ", ".join(roles_for(plan.kind))
        which = name_list(without) if is_header(columns, list(plan.columns)) else f"{len(without):,} columns"
        raise plan.refusal(("columns",), f"{which} of {name} stand without a role; give each one of {taken}")


def write(release: Release, targets: Targets, *, force: bool = False, progress: Progress | None = None) -> Written:
    """Publish: all files appear together, after what is on disk was read again and compared, or not at all."""
    started = time.monotonic()
    turn = release.turn
    if turn is not None and turn.repeats:
        return Written(targets, release.layout, "", 0.0)
    if turn is not None:
        turn.check_place(targets.certificate)
    if not release.is_published:
        return _write_ledger_alone(release, targets)
    targets.check_files(force=force, inputs=release.inputs)
    key_is_new = targets.certificate is not None and not has_key()
    way = _write_table if is_address(targets.data) else _write_file
    layout, sha256, notes = way(release, targets, force, progress or (lambda doing, share, **facts: None))
    notes = _writing_notes(targets, notes, release.proposal.rules_note, key_is_new and has_key())
    notes += () if targets.sign is None else signer(targets.sign).notes
    return Written(targets, layout, sha256, time.monotonic() - started, notes)


def _write_ledger_alone(release: Release, targets: Targets) -> Written:
    """All rows wait: the ledger knows them, and nothing else is written."""
    assert release.turn is not None
    write_ledger(release.turn.path, release.turn.ledger)
    return Written(targets, release.layout, "", 0.0)


def write_stream(release: Release, file: Any, form: str | None, proof: Any, sign: Path | None) -> Written:
    """Publish to open files: data, and the certificate where there is a file for it, as JSON. What is written was read again before."""
    started = time.monotonic()
    named = getattr(file, "name", None)
    name = os.path.basename(named) if isinstance(named, str) else ""
    if form not in (None, *FORMATS):
        raise InputError(f"format {form!r} is not known; {near_miss(form, FORMATS)}take one of {', '.join(FORMATS)}")
    form = form or format_of(name)[0] or ("csv" if release.layout.format in DATABASES else release.layout.format)
    layout = layout_for(f"release.{_ENDINGS.get(form, form)}", release.layout)
    if closed := [one for one in (file, proof) if getattr(one, "closed", False)]:
        raise InputError(f"the {type(closed[0]).__name__} is closed; give one that is open for writing")
    as_text = isinstance(file, io.TextIOBase)
    if as_text and form not in TEXT_FORMATS:
        raise InputError(f"{form} is not text; open the file in binary mode")
    with _passing_through() as staged:
        layout = write_to(staged, release.published, layout, name or "the file")
        staged.close()
        _, flags = _read_again(release, staged.path, layout)
        name = name or f"release.{_ENDINGS.get(form, form)}"
        content = _certificate(release, name, staged.sha256, _reading(release, layout, flags))
        with open(staged.path, "rb") as done, writing_errors(name):
            shutil.copyfileobj(codecs.getreader("utf-8")(done) if as_text else done, file)
    if proof is not None:
        facts = certificate_file(content, ".json", None if sign is None else signer(sign))
        proof.write(facts.decode() if isinstance(proof, io.TextIOBase) else facts)
    targets = Targets(name, None, None)
    return Written(targets, layout, staged.sha256, time.monotonic() - started, _reading_notes(targets, flags))


def row_certificate(release: Release, sign: Path | None = None) -> dict[str, Any]:
    """The facts of a certificate about the rows of a release, in whatever frame or file they are: known by their hashes, in any order."""
    layout = replace(release.layout, format="arrow", separator=" ", id=None, compression=None, delimiter=",")
    with limited_inputs(sys.maxsize):
        flags = flags_to_read(release.to_arrow(), release.published, layout)
    reading = {**_reading(release, layout, flags), "format": "parquet", "digest": DIGEST}
    content = _certificate(release, "rows", row_digest(release.published), reading)
    facts: dict[str, Any] = json.loads(certificate_file(content, ".json", None if sign is None else signer(sign)))
    return facts


def _write_file(
    release: Release, targets: Targets, force: bool, progress: Progress
) -> tuple[Layout, str, tuple[str, ...]]:
    with (
        Upload(targets.objects, force=force) as upload,
        Publication(
            (*targets.files, *_ledger(release)),
            force=force,
            at_last=upload.place,
            stored=upload.data,
            revised=_ledger(release),
        ) as publication,
        contextlib.ExitStack() as stack,
    ):
        staged = _staged_files(release, publication, targets)
        staged |= {target: upload.file(target) for target in targets.objects}
        file = staged.get(targets.data) or stack.enter_context(_passing_through())
        progress("writing", 0.0)
        layout = write_to(file, release.published, layout_for(targets.data, release.layout), targets.data)
        file.close()
        progress("reading it again", 0.0)
        as_written, flags = _read_again(release, file.path, layout)
        _write_papers(release, staged, targets, layout, file.sha256, as_written, flags)
        if targets.data == "-":
            with open(file.path, "rb") as done, writing_errors("-"):
                shutil.copyfileobj(done, sys.stdout.buffer)
                sys.stdout.buffer.flush()
        if targets.objects:
            progress("uploading", 0.0)
            upload.send()
    return layout, file.sha256, _reading_notes(targets, flags) + upload.notes


def _write_table(
    release: Release, targets: Targets, force: bool, progress: Progress
) -> tuple[Layout, str, tuple[str, ...]]:
    """One transaction, committed when the table was read again and the files have their names."""
    origins = () if release.origin is None else (release.origin,)
    shares_file = same_file(targets.data, origins)
    files = (*targets.files, *_ledger(release))
    with Publication(files, force=force, database=targets.data, revised=_ledger(release)) as publication:
        table = publication.table(TableTarget(targets.data, force=force, sources=origins, id=publication.id))
        staged = _staged_files(release, publication, targets)
        progress("writing", 0.0)
        wanted = layout_for(targets.data, release.layout)
        rows, layout = table_rows(release.published, wanted, targets.data)
        table.write(rows)
        progress("reading it again", 0.0)
        as_written, flags = _read_again(release, table.read_again(), layout)
        sha256 = table.sha256
        _write_papers(release, staged, targets, layout, sha256, as_written, flags)
        progress("committing", 0.0)
    return layout, sha256, _reading_notes(targets, flags) + ((SAME_FILE,) if shares_file else ())


def _ledger(release: Release) -> tuple[str, ...]:
    """The ledger of its series, which every release writes anew."""
    return () if release.turn is None else (release.turn.path,)


def _staged_files(release: Release, publication: Publication, targets: Targets) -> dict[str, StagedFile]:
    private = (*targets.private, *_ledger(release))
    return {
        target: publication.file(target, private=target in private) for target in (*targets.files, *_ledger(release))
    }


def _write_papers(
    release: Release,
    staged: Mapping[str, StagedFile],
    targets: Targets,
    layout: Layout,
    sha256: str,
    as_written: Mapping[str, str],
    flags: Told,
) -> None:
    """Rules, report and certificate, where they are asked for, and the ledger of a series."""
    if (turn := release.turn) is not None:
        where = targets.data if is_remote(targets.data) else without_password(targets.data)
        at = None if where == "-" else where if is_remote(where) or is_address(where) else os.path.realpath(where)
        staged[turn.path].write(turn.ledger.written_to(at, sha256, dict(flags)).to_bytes())
    if targets.rules is not None:
        staged[targets.rules].write(_csv(release.proposal.rules(lambda token: as_written.get(token, ""))))
    if targets.report is not None:
        notes = _writing_notes(targets, _reading_notes(targets, flags), release.proposal.rules_note, False)
        facts = release.facts(Written(targets, layout, sha256, 0.0, notes))
        staged[targets.report].write(report_bytes(facts))
    if targets.certificate is not None:
        content = _certificate(release, targets.data, sha256, _reading(release, layout, flags))
        vouching = None if targets.sign is None else signer(targets.sign)
        staged[targets.certificate].write(certificate_file(content, targets.certificate, vouching))


def _read_again(release: Release, path: Any, layout: Layout) -> tuple[dict[str, str], Told]:
    """What each published token is called in the written file or table, and what a reader of it must be told, if anything.

    Raises unless the file holds exactly the rows that passed the audit. A token of which every occurrence was deleted is not
    among them. What was written here is not a stranger's: it may be as large as it is.
    """
    sets = Records.of(release.published).items
    names = () if sets is None else sets.vocabulary
    as_written = dict(zip(names, written_tokens(names, layout), strict=True))
    with limited_inputs(sys.maxsize):
        return as_written, flags_to_read(path, release.published, layout)


def _reading(release: Release, layout: Layout, flags: Told) -> dict[str, Any]:
    """How the written file is read, for the certificate: roles of its columns, format, separator; sensitive items only as a number."""
    given = dict(flags)
    stands = {"format": layout.format}
    if layout.format in DATABASES:
        stands["sha256_of"] = ROWS_HASHED
    if not isinstance(release.published, Records):
        return {**stands, **given}
    records = written_records(release.published, layout)
    roles = {column.name: column.role for column in records.columns}
    apart = records.sensitive_name
    if records.items is not None:
        roles |= {records.items_name: "items"} | ({apart: "sensitive items"} if apart is not None else {})
    return (
        {**stands, "columns": roles}
        | ({"separator": given["separator"]} if "separator" in given else _told_separator(release, records))
        | ({"sensitive_items": len(records.sensitive_items)} if records.sensitive_items else {})
    )


def _told_separator(release: Release, records: Records) -> dict[str, str]:
    """What the owner said parts items, where sensitive values would otherwise be taken for sets."""
    taken = any(parting_mark(column.values) is not None for column in records.of_role("sensitive"))
    return {"separator": release.layout.separator} if taken and records.items is None else {}


def _certificate(release: Release, output: str, output_sha256: str, reading: Mapping[str, Any]) -> dict[str, Any]:
    made = Making(
        algorithm=release.algorithm,
        optimal=release.optimal,
        parameters=release.proposal.parameters,
        disclosed=release.proposal.certified(),
        warnings=release.proposal.warnings,
        input_sha256=release.input_sha256,
        keep_order=release.keep_order,
        risk=release.risk,
    )
    file = Published(release.guarantee, release.audit, release.rows, output_sha256, release.details.get("empty", 0))
    return certificate_of(file, made, {"file": display_name(output), **reading})


SAME_FILE = "the table stands in the same file as what it was made from: give away the table, not the file"


def _reading_notes(targets: Targets, flags: Told) -> tuple[str, ...]:
    given = " ".join(option(name, text) for name, text in flags)
    return (Message(f"to read {display_name(targets.data)} back, pass {given}"),) if flags else ()


def _writing_notes(targets: Targets, notes: tuple[str, ...], rules_note: str, key_was_made: bool) -> tuple[str, ...]:
    found = list(notes)
    if targets.rules is not None:
        found.append(f"{targets.rules} {rules_note}: keep it, do not publish it")
    if targets.report is not None:
        found.append(f"{targets.report} has exact figures, also of what is rare: keep it, do not publish it")
    if key_was_made:
        found.append(f"your key for the hashes in certificates was made in {key_path()}; keep it, and keep it secret")
    return tuple(found)


@contextlib.contextmanager
def _passing_through() -> Iterator[StagedFile]:
    """A file for data on its way to standard output: it is checked on disk before the first byte leaves.

    Where the system lets an open file be read without a name, it has none, and goes away with the process, however that ends.
    """
    folder = passing_folder()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        file = StagedFile(os.path.join(folder, "data"), os.path.join(folder, "data"))
        file.create()
        stack.callback(file.close)
        if os.path.isdir("/proc/self/fd"):
            number = os.open(file.path, os.O_RDONLY)
            stack.callback(os.close, number)
            shutil.rmtree(folder, ignore_errors=True)
            file.path = f"/proc/{os.getpid()}/fd/{number}"
        yield file


def _csv(rows: Iterator[tuple[str, ...]]) -> bytes:
    return "".join(",".join(csv_cell(escape_guard(cell), ",") for cell in row) + "\n" for row in rows).encode()
