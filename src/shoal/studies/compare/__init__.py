"""Comparing: one plan at many parameters and by many algorithms, every release audited, one row each.

A comparison file is a plan with one more key, `compare`, that holds a grid. Each cell of the grid is a plain plan that could be run alone.
Cells run in processes of their own and are kept in a folder under a name that comes from their content, so that a comparison that
was interrupted, or whose grid grew, computes only what is missing. A cell that cannot be is a row, too, with its reason.
"""

from shoal.studies.compare.cell import Cell, Outcome
from shoal.studies.compare.comparison import Results, compare
from shoal.studies.compare.comparison_page import write_files
from shoal.studies.compare.comparison_table import Row, csv_text, frame_of, rows_of
from shoal.studies.compare.grid import Comparison, comparison_of, comparison_schema, read_comparison
from shoal.studies.study import Tally

__all__ = [
    "Cell", "Comparison", "Outcome", "Results", "Row", "Tally", "compare", "comparison_of", "comparison_schema",
    "csv_text", "frame_of", "read_comparison", "rows_of", "write_files",
]  # fmt: skip
