"""Chunks: algorithms that publish which items people have, in pieces, and not which pieces belong to one person."""
