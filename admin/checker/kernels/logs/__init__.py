"""Invariants of one log as kernels, which are fed with its slices in order."""
