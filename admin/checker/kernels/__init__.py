"""The invariants of evidence as kernels: each one function, whoever runs it."""
