"""The tags of a cluster that may be broken on purpose."""

ALLOWED_TAGS = ("lab", "drills-allowed")
"""Drills refuse a cluster with another tag, and its nodes have no fault points."""
