"""The search of sets under k^m-anonymity on Spark: in one task, in parts of near rows, or cut by cut in blocks."""
