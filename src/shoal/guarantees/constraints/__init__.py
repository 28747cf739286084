"""Constraints: a policy says which sets of items are protected, and which items may be put together."""
