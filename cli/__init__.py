"""What a person types and sees. Internal: the public package is `qsync`."""

PART_OF = "qsync"
