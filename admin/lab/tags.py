"""The tags of a cluster that may be broken on purpose."""

ALLOWED_TAGS = ("lab", "drills-allowed")
"""Drills leave alone a cluster that has neither, and its nodes have no fault points."""
