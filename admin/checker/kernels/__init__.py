"""The invariants of evidence as kernels: one function each, for every runner."""
