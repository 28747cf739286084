"""What a change costs: the prices that a search goes by, and what a finished release has cost, each measure in a file of its own."""
