"""Plan: one release, written down: input, roles, hierarchies, promise, algorithm, options, outputs.

A plan is YAML or JSON, version 1, and holds paths and hashes, never data. It stands for one call of `shoal.release.anonymize` and
one of `Release.write`, with exactly what it says; relative paths are relative to the plan's own folder. What is wrong in it is
refused with the path in the file, its line and the remedy, before any data is read: `plan.yaml: guarantee.k (line 9): ...`.
"""

from shoal.plan.ask import plan_from
from shoal.plan.model import Plan, json_schema
from shoal.plan.parse import plan_of, read_plan
from shoal.plan.places import Origin
from shoal.plan.save import plan_yaml, relative_path

__all__ = ["Origin", "Plan", "json_schema", "plan_from", "plan_of", "plan_yaml", "read_plan", "relative_path"]
