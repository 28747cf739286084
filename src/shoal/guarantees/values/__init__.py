"""What promises say of sensitive values: how a missing one counts, and how often each may stand in a class."""
