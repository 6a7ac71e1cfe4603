"""The checker on Spark (tier 2): the same invariants for any number of runs, nodes and rows."""
