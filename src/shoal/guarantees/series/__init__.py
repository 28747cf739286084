"""Promises about several releases together."""
