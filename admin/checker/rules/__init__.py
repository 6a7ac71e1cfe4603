"""The invariants of evidence, a file each: pure functions from the tables of a run to breaches."""
