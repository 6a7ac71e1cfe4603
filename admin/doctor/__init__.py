"""Looks a cluster over: small checks, each from facts to findings with a fix."""
