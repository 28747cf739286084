"""The published forms of a release in buckets that are no single table."""
