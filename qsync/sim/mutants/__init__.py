"""Mutants: each breaks one rule of the protocol, by a change of the nodes."""
