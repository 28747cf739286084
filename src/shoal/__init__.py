"""Shoal publishes set-valued data so that every record hides in a crowd of k, and proves it.

    import shoal

    release = shoal.anonymize(frame, shoal.KmAnonymity(k=5, m=2))      # a path, a data frame, rows, an address of a database
    release.audit.require()
    public = release.to_pandas()                                       # to_polars(), to_arrow(), write("public.csv")
    shoal.verify(release.certificate(), public).require()

Names are imported when they are first used, so `import shoal` costs almost nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.analysis.counts import (
        CountEstimate,
        Range,
        RuleEstimate,
        estimate_counts,
        estimate_pairs,
        estimate_rules,
    )
    from shoal.certificate.verification import Verification
    from shoal.errors import InputError, ShoalError, Unreachable
    from shoal.estimates.beforehand import estimate
    from shoal.estimates.outlook import Outlook
    from shoal.estimates.raw_profile import Profile, profile
    from shoal.evaluation.evaluation import Evaluation, evaluate
    from shoal.gates.inspection import Inspection, gate
    from shoal.guarantees.audit import Audit, Witness
    from shoal.guarantees.chunks import ChunkAnonymity
    from shoal.guarantees.constraints.policy import Policy
    from shoal.guarantees.constraints.promise import ConstraintAnonymity
    from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity
    from shoal.guarantees.k import KAnonymity
    from shoal.guarantees.km import KmAnonymity
    from shoal.guarantees.km_local import LocalKmAnonymity
    from shoal.guarantees.lm import LmDiversity
    from shoal.guarantees.rt import RTAnonymity
    from shoal.guarantees.table import TableAnonymity
    from shoal.hierarchy.files import read_hierarchy, write_hierarchy
    from shoal.hierarchy.tree import Hierarchy
    from shoal.models.km import build_hierarchy, learn_hierarchy
    from shoal.plan import Plan, read_plan
    from shoal.plan.draft import Draft, draft
    from shoal.plan.policy_file import read_policy
    from shoal.records.baskets import Baskets
    from shoal.records.formats.frames import to_arrow, to_pandas, to_polars
    from shoal.records.knowledge import Rules
    from shoal.records.records import Records
    from shoal.records.source import load_records, read
    from shoal.records.writing import write
    from shoal.release import Release, anonymize, audit, resolve_hierarchy, run, stack, verify
    from shoal.studies.attack import Attack, attack
    from shoal.studies.compare.side_by_side import SideBySide, compare
    from shoal.studies.rule_study import rules
    from shoal.studies.series_attack import SeriesAttack, attack_series

__all__ = [
    "Attack", "Audit", "Baskets", "ChunkAnonymity", "ConstraintAnonymity", "CountEstimate", "Draft", "Evaluation",
    "Hierarchy", "InputError", "Inspection", "KAnonymity", "KmAnonymity", "LmDiversity", "LocalKmAnonymity",
    "MatchingDiversity", "Outlook", "PlainDiversity", "Plan", "Policy", "Profile", "RTAnonymity", "Range", "Records",
    "Release", "RuleEstimate", "Rules", "SeriesAttack", "ShoalError", "SideBySide", "TableAnonymity", "Unreachable",
    "Verification", "Witness", "__version__", "anonymize", "attack", "attack_series", "audit", "build_hierarchy",
    "compare", "draft", "estimate", "estimate_counts", "estimate_pairs", "estimate_rules", "evaluate", "gate",
    "learn_hierarchy", "load_records", "profile", "read", "read_hierarchy", "read_plan", "read_policy", "reconstruct",
    "resolve_hierarchy", "rules", "run", "stack", "to_arrow", "to_pandas", "to_polars", "verify", "write",
    "write_hierarchy",
]  # fmt: skip

_HOMES = {
    "shoal.estimates.beforehand": ("estimate",),
    "shoal.estimates.outlook": ("Outlook",),
    "shoal.certificate.verification": ("Verification",),
    "shoal.models.km": ("build_hierarchy", "learn_hierarchy"),
    "shoal.plan.draft": ("Draft", "draft"),
    "shoal.records.knowledge": ("Rules",),
    "shoal.studies.attack": ("Attack", "attack"),
    "shoal.studies.compare.side_by_side": ("SideBySide", "compare"),
    "shoal.studies.rule_study": ("rules",),
    "shoal.studies.series_attack": ("SeriesAttack", "attack_series"),
    "shoal.analysis.reconstruction": ("reconstruct",),
    "shoal.analysis.counts": (
        "CountEstimate",
        "Range",
        "RuleEstimate",
        "estimate_counts",
        "estimate_pairs",
        "estimate_rules",
    ),
    "shoal.errors": ("InputError", "ShoalError", "Unreachable"),
    "shoal.gates.inspection": ("Inspection", "gate"),
    "shoal.guarantees.audit": ("Audit", "Witness"),
    "shoal.guarantees.constraints.policy": ("Policy",),
    "shoal.guarantees.constraints.promise": ("ConstraintAnonymity",),
    "shoal.guarantees.chunks": ("ChunkAnonymity",),
    "shoal.guarantees.diversity": ("MatchingDiversity", "PlainDiversity"),
    "shoal.guarantees.k": ("KAnonymity",),
    "shoal.guarantees.km": ("KmAnonymity",),
    "shoal.guarantees.km_local": ("LocalKmAnonymity",),
    "shoal.guarantees.lm": ("LmDiversity",),
    "shoal.guarantees.rt": ("RTAnonymity",),
    "shoal.guarantees.table": ("TableAnonymity",),
    "shoal.hierarchy.files": ("read_hierarchy", "write_hierarchy"),
    "shoal.hierarchy.tree": ("Hierarchy",),
    "shoal.plan": ("Plan", "read_plan"),
    "shoal.plan.policy_file": ("read_policy",),
    "shoal.records.baskets": ("Baskets",),
    "shoal.records.source": ("load_records", "read"),
    "shoal.records.records": ("Records",),
    "shoal.records.formats.frames": ("to_arrow", "to_pandas", "to_polars"),
    "shoal.records.writing": ("write",),
    "shoal.release": ("Release", "anonymize", "audit", "resolve_hierarchy", "run", "stack", "verify"),
    "shoal.evaluation.evaluation": ("Evaluation", "evaluate"),
    "shoal.estimates.raw_profile": ("Profile", "profile"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
