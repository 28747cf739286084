"""What `--engine spark` and a plan's `engine: spark` stand for: a release, an audit, a verification, from paths and tables of Spark's own.

Data are Parquet (a file, a folder, hdfs://, s3a://) or `table:NAME`, and so is what is written. What only makes sense on one machine is
refused by name.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.engines import Choice, chosen
from shoal.errors import InputError, option
from shoal.passwords import without_passwords
from shoal.plan.model import Plan
from shoal.release import check_hash

if TYPE_CHECKING:
    from shoal.algorithms.recoding import Progress
    from shoal.certificate.verification import Verification
    from shoal.guarantees.audit import Audit
    from shoal.spark import SparkRelease

TABLE = "table:"


@dataclass(frozen=True)
class OnSpark:
    """A release that was made on Spark, and where it went."""

    release: SparkRelease
    engine: Choice
    output: str | None
    certificate: str | None
    notes: tuple[str, ...] = ()
    """For the owner, about the release and its signature."""

    def to_dict(self) -> dict[str, Any]:
        """As `Release.to_dict`, as far as Spark knows it. Memory is that of the driver."""
        from shoal.release import peak_mb

        release = self.release
        return {
            **release.first_facts(),
            "checked": release.audit.checked,
            "rows": release.rows,
            "seconds": round(release.seconds, 3),
            "peak_mb": peak_mb(),
            "input_sha256": release.input_sha256,
            "output_sha256": release.output_sha256,
            "engine": str(self.engine),
            "output": self.output,
            "certificate": self.certificate,
            **release.details,
            "notes": list(self.notes),
        }


def released(
    engine: Choice,
    data: str,
    guarantee: Any,
    arguments: Mapping[str, Any],
    *,
    output: str | None = None,
    certificate: str | None = None,
    progress: Progress | None = None,
) -> OnSpark:
    """The release on Spark, written to `output` (a folder that is not there yet, or table:NAME) if it is given.

    Among the arguments, `sign` is the file of the private key that the certificate is signed with, and `force` replaces a release.
    """
    from shoal import spark

    if arguments.get("report") is not None:
        raise InputError(
            f"{option('report')} is for the local engine: a file where Spark writes cannot be kept to its owner; leave it out"
        )
    sign, force = arguments.get("sign"), bool(arguments.get("force"))
    taken = _taken(spark.anonymize, {name: arguments[name] for name in arguments if name not in ("sign", "force")})
    _check_places(data, output, certificate)
    _check_free(engine, output, force)
    notes = _signing_notes(sign, output, certificate)
    output, certificate = _place(engine, output), _place(engine, certificate)
    release = spark.anonymize(_frame(engine, data), guarantee, progress=progress, **taken)
    if output is not None:
        named = {"table": output.removeprefix(TABLE)} if output.startswith(TABLE) else {"path": output}
        release.write(**named, certificate=certificate, sign=sign, force=force)
        if certificate is None and "path" in named:
            certificate = f"{output}.certificate.json"
    return OnSpark(release, engine, output, certificate, (*release.notes, *notes))


def audited(engine: Choice, data: str, guarantee: Any, arguments: Mapping[str, Any]) -> Audit:
    """Whether what lies at a place of Spark's keeps the guarantee."""
    from shoal import spark

    taken = _taken(spark.audit, arguments)
    return spark.audit(_frame(engine, data), guarantee, **taken)


def verified(
    engine: Choice,
    certificate: str,
    data: str,
    *,
    key: str | None = None,
    sensitive: Any = None,
    knowledge: str | None = None,
    hierarchy: Any = None,
) -> Verification:
    """Whether what lies at a place of Spark's is the release that a certificate is about, and its promise still holds."""
    from shoal.certificate.document import read_certificate
    from shoal.certificate.sign import public_key
    from shoal.certificate.terms import known_by_rows
    from shoal.engines.spark.session import started
    from shoal.spark.verifying import verify_place

    file = None
    if "://" not in certificate:  # what is wrong with a file here is said before Spark starts
        file = read_certificate(certificate)
        if not known_by_rows(file.content):
            raise InputError(
                f"the certificate is about a file, which is known by its bytes; verify it without {option('engine', 'spark')}"
            )
    if key is not None:
        public_key(key)
    return verify_place(
        started(engine.master),
        _place(engine, data) or data,
        file or certificate,
        key=key,
        sensitive=sensitive,
        knowledge=knowledge,
        hierarchy=hierarchy,
    )


def _signing_notes(sign: str | None, output: str | None, certificate: str | None) -> tuple[str, ...]:
    """What the owner of the key must know; raises if it cannot sign, or if there is nothing to sign."""
    from shoal.certificate.sign import signer

    if sign is None:
        return ()
    if output is None:
        raise InputError(f"{option('sign')} needs {option('output')}; without it nothing is written")
    if certificate is None and output.startswith(TABLE):
        raise InputError(
            f"a table has no place for its certificate, and so there is none to sign; name a file for it with {option('certificate')}"
        )
    return signer(sign).notes


def _frame(engine: Choice, data: str) -> Any:
    from shoal.engines.spark.reading import frame_of
    from shoal.engines.spark.session import started

    return frame_of(started(engine.master), _place(engine, data) or data)


def _place(engine: Choice, path: str | None) -> str | None:
    """A path as Spark finds it. On this machine that is one of this folder, wherever Spark was started; on a cluster Spark knows best."""
    on_cluster = engine.master is not None and not engine.master.startswith("local")
    if path is None or on_cluster or path.startswith(TABLE) or "://" in path:
        return path
    return os.path.abspath(path)


def _taken(call: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that Spark has a use for; raises for others that were given."""
    known = inspect.signature(call).parameters
    given = {
        name: value for name, value in arguments.items() if value is not None and value != () and value is not False
    }
    for name in given:
        if name not in known:
            raise InputError(
                f"{option(name)} has no use with {option('engine', 'spark')}; leave it out, or use the local engine"
            )
    return given


def _check_places(data: str, output: str | None, certificate: str | None) -> None:
    if data == "-" or output == "-":
        raise InputError(
            "Spark reads and writes Parquet folders and tables; standard input and output are for the local engine"
        )
    if output is None and certificate is not None:
        raise InputError(f"{option('certificate')} needs {option('output')}; without it nothing is written")
    ending = "" if output is None or output.startswith(TABLE) else os.path.splitext(output)[1].lower()
    if ending in _FILES:
        raise InputError(
            f"{os.path.basename(without_passwords(str(output)))}: Spark writes a folder of Parquet files, or table:NAME; give a name "
            f"without {ending}"
        )


def _check_free(engine: Choice, output: str | None, force: bool) -> None:
    """Raises for what would be refused when all is done."""
    at = _place(engine, output)
    if at is None:
        return
    here = os.path.isabs(at)
    if force and not here:
        raise InputError(
            f"{os.path.basename(at)}: {option('force')} replaces a folder of this machine, and nothing else on Spark; write elsewhere"
        )
    if here and not force and os.path.lexists(at):
        raise InputError(
            f"{os.path.basename(at)}: it is there already; pass {option('force')} to replace it, or write to another place"
        )


_FILES = {".csv", ".tsv", ".dat", ".json", ".jsonl", ".arrow", ".gz", ".zst"}


def run_plan_on_spark(plan: Plan, *, force: bool = False, progress: Progress | None = None) -> OnSpark:
    """The release of a plan with `engine: spark`, written to its outputs, if it has any."""
    outputs = plan.outputs
    arguments = plan.keywords() | {"force": force}
    if outputs is not None:
        arguments |= {
            "rules": outputs.rules,
            "report": outputs.report,
            "sign": None if outputs.sign is None else plan.path_of(outputs.sign),
        }
    written = None if outputs is None else plan.path_of(outputs.data)
    certificate = None if outputs is None or outputs.certificate is None else plan.path_of(outputs.certificate)
    with plan.speaking():
        made = released(
            chosen(plan.engine),
            plan.data,
            plan.promise,
            arguments,
            output=written,
            certificate=certificate,
            progress=progress,
        )
    check_hash(plan, made.release.input_sha256)
    return made
