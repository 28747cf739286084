"""Shoal publishes set-valued data so that every record hides in a crowd of k, and proves it."""

__version__ = "0.1.0"
