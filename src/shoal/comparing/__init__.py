"""Comparing: one plan at many parameters and by many algorithms, every release audited, one row each.

A comparison file is a plan with one more key, `compare`, that holds a grid. Each cell of the grid is a plain plan that could be run alone.
Cells run in processes of their own and are kept in a folder under a name that comes from their content, so that a comparison that
was interrupted, or whose grid grew, computes only what is missing. A cell that cannot be is a row, too, with its reason.
"""

from shoal.comparing.cells import Cell, Outcome
from shoal.comparing.files import write_files
from shoal.comparing.grid import Comparison, comparison_of, comparison_schema, read_comparison
from shoal.comparing.running import Found, Progress, compare
from shoal.comparing.table import Row, csv_text, frame_of, rows_of

__all__ = [
    "Cell",
    "Comparison",
    "Found",
    "Outcome",
    "Progress",
    "Row",
    "compare",
    "comparison_of",
    "comparison_schema",
    "csv_text",
    "frame_of",
    "read_comparison",
    "rows_of",
    "write_files",
]
