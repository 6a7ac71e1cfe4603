"""Leader election: terms, votes, quorums, fencing and transfer.

Pure; knows log positions, never rows. Loads nothing: clients want its numbers, not its rules.
"""

PART_OF = "qsync"
