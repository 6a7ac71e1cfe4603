"""qsync: a replicated database in which every write has a definite outcome."""

PART_OF = "qsync"
__version__ = "0.1.0"
