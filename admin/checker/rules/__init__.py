"""The invariants of evidence, one file each: pure functions from a run's tables to breaches."""
