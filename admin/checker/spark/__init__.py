"""The checker on Spark (tier 2): the same invariants over any number of runs, nodes and rows."""
