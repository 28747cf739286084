"""Writing plans as YAML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import yaml

from shoal.errors import InputError
from shoal.plan.model import Plan
from shoal.records.database.address import is_address, with_path


def plan_yaml(plan: Plan) -> str:
    """The plan as YAML, without what it leaves open. Raises for one that holds what lives in memory alone."""
    if plan.memory:
        raise InputError("the plan holds what lives in memory alone; write it to files, and name those")
    return yaml_text(plan.model_dump(exclude_defaults=True))


def yaml_text(document: Mapping[str, Any]) -> str:
    """A document as YAML, names in their own script."""

    def dumped(allow_unicode: bool) -> str:
        text: str = yaml.safe_dump(
            document, sort_keys=False, width=10**9, default_flow_style=False, allow_unicode=allow_unicode
        )
        return text

    text = dumped(True)
    # YAML takes some rare characters (U+0085, U+2028) for ends of lines; then all names are spelled out.
    return text if yaml.safe_load(text) == document else dumped(False)


def relative_path(path: str, folder: str) -> str:
    """A path from here as a plan in `folder` has to give it; absolute ones, standard streams and addresses stay as they are."""
    if is_address(path):
        return with_path(path, lambda file: relative_path(file, folder))
    if not folder or path == "-" or "://" in path or os.path.isabs(path):
        return path
    return os.path.relpath(path, folder)
