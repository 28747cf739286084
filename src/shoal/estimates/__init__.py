"""Beforehand: what raw data give away, and what a promise would cost, tried on samples of the rows."""
