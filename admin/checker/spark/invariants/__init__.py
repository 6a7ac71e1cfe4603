"""Invariants of large tables, on columns of files: no row goes through Java."""
