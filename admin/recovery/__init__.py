"""Forced recovery: a cluster whose majority is gone for good goes on from one survivor (M8)."""
