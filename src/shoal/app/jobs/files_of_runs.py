"""What the files of a run are called, and its stages: pages know them without what makes and measures releases, which is long to load."""

from __future__ import annotations

from shoal.errors import InputError

CERTIFICATE, RULES, REPORT = "certificate.json", "rules.csv", "report.json"
STAGES = ("Checking the plan", "Making the release", "Measuring what it cost")
"""In the order in which they come."""


def check_name(name: str) -> None:
    """Raises if a file of data cannot have this name here."""
    if name.startswith(("certificate.", "rules.", "report.", ".")):
        raise InputError(f"{name}: the app has a file of that name itself; give the release another name")
