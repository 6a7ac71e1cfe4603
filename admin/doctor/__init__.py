"""Diagnoses a cluster: small checks, each from facts to findings with a fix."""
