"""Releases of the same people again: what of a new one can be published beside those that are out already."""
