"""Rows on the executors: sessions, data frames read and written, sets and records of numbers, and the one door back to the driver."""
