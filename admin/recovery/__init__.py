"""Forced recovery: a cluster without a majority continues from one survivor (M8)."""
