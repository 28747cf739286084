"""The only Numba code: arrays in, arrays out. Compiled at first use and cached beside the package or in the user's cache."""

from __future__ import annotations

from pathlib import Path


def compiled() -> bool:
    """Whether machine code from an earlier run is at hand; if not, the first call takes several seconds longer."""
    from shoal.kernels.rows import recode_block

    return any(Path(recode_block.stats.cache_path or "").glob("rows.recode_block-*.nbi"))
