"""Running a plan: the one call that it stands for, the files it reads and writes, and refusals in its own terms."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, Unreachable
from shoal.hierarchy.spec import is_made
from shoal.limits import limited_inputs
from shoal.plan.combinations import ROLES_OF
from shoal.plan.model import ROLES, K, Km, Lm, Plan, Rt
from shoal.plan.places import Place, shown
from shoal.records.columns import is_header, its_columns, listed
from shoal.records.database.address import is_address, moved, queried
from shoal.records.storage.streams import display_name, fingerprint

if TYPE_CHECKING:
    from shoal.algorithms.recoding import Progress
    from shoal.release import Release, Targets
    from shoal.spark.running import OnSpark


@dataclass(frozen=True)
class Call:
    """The call of `shoal.release.anonymize` that a plan stands for."""

    data: str
    guarantee: Any
    arguments: Mapping[str, Any]


def call_of(plan: Plan) -> Call:
    """What `run_plan` asks for: `anonymize(call.data, call.guarantee, **call.arguments)`. Only what the plan says is given."""
    roles = {role: plan.of_role(role) for role in ROLES}
    sensitive: Any = roles["sensitive"] or plan.sensitive_items or None
    if plan.sensitive_file is not None:
        sensitive = _path(plan, plan.sensitive_file)
    elif isinstance(sensitive, tuple) and len(sensitive) == 1:
        sensitive = sensitive[0]
    arguments: dict[str, Any] = {
        "hierarchy": _hierarchy(plan),
        "algorithm": plan.algorithm,
        "sensitive": sensitive,
        "quasi": roles["quasi"] or None,
        "keep": roles["keep"] or None,
        "format": plan.input.format,
        "separator": plan.input.separator,
        "numeric": plan.input.numeric,
        "input_limit": plan.input.limit,
        "items": roles["items"][0] if len(roles["items"]) == 1 else roles["items"] or None,
        "id": next(iter(roles["id"]), None),
        "drop": roles["drop"] or None,
        **plan.options.model_dump(exclude_none=True),
        "keep_order": plan.keep_order or None,
    }
    if plan.options.knowledge is not None:
        arguments["knowledge"] = _path(plan, plan.options.knowledge)
    given = {name: value for name, value in arguments.items() if value is not None}
    return Call(_data(plan), _guarantee(plan), given)


def run_plan(plan: Plan, *, force: bool = False, progress: Progress | None = None) -> Release:
    """The release of a plan, written to its outputs, if it has any."""
    from shoal import release as way

    check_local(plan)
    targets = check_files(plan, force=force)
    call = call_of(plan)
    with in_terms_of(plan):
        release = way.anonymize(call.data, call.guarantee, progress=progress, **call.arguments)
    check_hash(plan, release.input_sha256)
    if targets is not None:
        with in_terms_of(plan):
            named = (targets.data, targets.certificate, targets.rules)
            release.write(*named, force, sign=targets.sign, report=targets.report, progress=progress)
    return release


def check_local(plan: Plan) -> None:
    """Raises for a plan that is for Spark."""
    if plan.on_spark:
        raise plan.refusal(("engine",), "this plan is for Spark: run it with shoal run, or take engine: local")


def run_plan_on_spark(plan: Plan, *, force: bool = False, progress: Progress | None = None) -> OnSpark:
    """As `run_plan`, for a plan with `engine: spark`."""
    from shoal.engines import chosen
    from shoal.spark.running import released

    call, outputs = call_of(plan), plan.outputs
    arguments = dict(call.arguments) | {"force": force}
    if outputs is not None:
        arguments |= {
            "rules": outputs.rules,
            "report": outputs.report,
            "sign": None if outputs.sign is None else _path(plan, outputs.sign),
        }
    written = None if outputs is None else _path(plan, outputs.data)
    certificate = None if outputs is None or outputs.certificate is None else _path(plan, outputs.certificate)
    with in_terms_of(plan):
        found = released(
            chosen(plan.engine),
            call.data,
            call.guarantee,
            arguments,
            output=written,
            certificate=certificate,
            progress=progress,
        )
    check_hash(plan, found.release.input_sha256)
    return found


def check_files(plan: Plan, *, force: bool = False) -> Targets | None:
    """The files to write. Raises if an input is missing or another file than the plan means, or if an output could not be written."""
    for place, given in _input_files(plan):
        path = _path(plan, given)
        if path != "-" and "://" not in path and not is_address(path) and not os.path.isfile(path):
            what = "it is a folder" if os.path.isdir(path) else "there is no such file"
            forms = "" if place[0] != "hierarchies" else ", or take a known form such as balanced:5"
            raise plan.refusal(place, f"{shown(given)}: {what}; paths are relative to the plan's folder{forms}")
    targets = targets_of(plan)
    if targets is not None:
        try:
            inputs = [_data(plan), *(_path(plan, given) for place, given in _input_files(plan) if place[0] != "input")]
            if plan.origin.sha256 is not None:  # it was read from a file
                inputs.append(_path(plan, plan.origin.name))
            targets.check(force=force, inputs=tuple(inputs))
        except InputError as error:
            raise plan.refused(("outputs",), error) from None
    # The hash of a table is known when it has been read, which is before anything is written.
    if (
        plan.input.sha256 is not None
        and "://" not in plan.input.path
        and not _in_database(plan)
        and plan.input.path != "-"
    ):
        check_hash(plan, fingerprint(_path(plan, plan.input.path)))
    _check_against_file(plan)
    return targets


def check_hash(plan: Plan, sha256: str) -> None:
    """Raises if the data are not those of which the plan has the hash."""
    if plan.input.sha256 not in (None, sha256):
        if _in_database(plan):
            raise plan.refusal(
                ("input", "sha256"),
                f"{display_name(_data(plan))} holds other rows than those the plan was made for (they have {sha256}); "
                "look at them, and correct the hash",
            )
        raise plan.refusal(
            ("input", "sha256"),
            f"{display_name(plan.input.path)} is another file than the one the plan was made for (it has {sha256}); "
            "take that file, or look at this one and correct the hash",
        )


def targets_of(plan: Plan) -> Targets | None:
    """The files that a plan writes, if it names any."""
    from shoal.release import Targets

    if plan.outputs is None:
        return None
    outputs = plan.outputs
    named = (outputs.data, outputs.certificate, outputs.rules, outputs.sign, outputs.report)
    return Targets.of(*(None if name is None else _path(plan, name) for name in named))  # type: ignore[arg-type]


def _check_against_file(plan: Plan) -> None:
    """Raises if the plan names columns that the file lacks, or leaves some of them without a role."""
    if not plan.columns or ("://" in plan.input.path and not _in_database(plan)):
        return
    from shoal.records.formats.peek import column_names

    name = display_name(_data(plan))
    with in_terms_of(plan):
        columns = column_names(_data(plan), plan.input.format)
    if not columns:
        return
    for column in plan.columns:
        if column not in columns:
            raise plan.refusal(
                ("columns", column), f"{name} has no such column; {its_columns(columns, list(plan.columns))}"
            )
    without = [column for column in columns if column not in plan.columns]
    if without:
        taken = ", ".join((*ROLES_OF[plan.kind], "drop"))
        which = listed(without) if is_header(columns, list(plan.columns)) else f"{len(without):,} columns"
        raise plan.refusal(("columns",), f"{which} of {name} stand without a role; give each one of {taken}")


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


def _path(plan: Plan, path: str) -> str:
    """A path of the plan as this process finds it. Standard streams and addresses of servers are no paths, but SQLite is a file."""
    if plan.on_spark and path.startswith("table:"):
        return path
    if is_address(path):
        return moved(path, lambda file: os.path.join(plan.origin.folder, file))
    return path if path == "-" or "://" in path else os.path.join(plan.origin.folder, path)


def _data(plan: Plan) -> str:
    """What is read: a path, or an address with the query that is asked there."""
    return str(queried(_path(plan, plan.input.path), plan.input.query))


def _in_database(plan: Plan) -> bool:
    return is_address(plan.input.path)


def _hierarchy(plan: Plan) -> Any:
    given = plan.hierarchies
    if isinstance(given, dict):
        found = {name: spec if is_made(spec) else _path(plan, spec) for name, spec in given.items()}
        return next(iter(found.values()), None) if plan.kind == "km" else found
    return given if given is None or is_made(given) else _path(plan, given)


def _guarantee(plan: Plan) -> Any:
    promise = plan.guarantee
    if isinstance(promise, Km):
        from shoal.guarantees.km import KmAnonymity

        return KmAnonymity(promise.k, promise.m)
    if isinstance(promise, K):
        from shoal.guarantees.k import KAnonymity
        from shoal.guarantees.table import TableAnonymity

        if plan.kind == "table":
            return TableAnonymity(promise.k, promise.l, _missing(promise.missing))
        return KAnonymity(promise.k, promise.l)
    if isinstance(promise, Rt):
        from shoal.guarantees.rt import RTAnonymity

        return RTAnonymity(promise.k, promise.m)
    if isinstance(promise, Lm):
        from shoal.guarantees.lm import LmDiversity

        return LmDiversity(promise.k, promise.l, promise.m)
    from shoal.guarantees.diversity import MatchingDiversity

    return MatchingDiversity(promise.l, missing=_missing(promise.missing))


def _missing(given: Any) -> Any:
    return "unknown" if given is None else given


@contextlib.contextmanager
def in_terms_of(plan: Plan) -> Iterator[None]:
    """What is refused below speaks of the plan's keys."""
    try:
        with limited_inputs(plan.input.limit):
            yield
    except (InputError, Unreachable) as error:
        raise error.worded(plan.origin.mention).within(plan.origin.where()) from None
