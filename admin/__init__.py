"""Operations of operators: status, administration, drills and checks.

Internal: the public package is `qsync`.
"""

PART_OF = "qsync"
