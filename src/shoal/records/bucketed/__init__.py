"""The published forms of a release in buckets that are not a single table."""
