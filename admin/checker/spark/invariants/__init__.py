"""Invariants of large tables, over columns of files: no row of them goes through Java."""
