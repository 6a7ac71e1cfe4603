"""Invariants of one log as kernels that take its slices in order."""
