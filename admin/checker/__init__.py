"""Proving from evidence that a cluster kept its promises."""
