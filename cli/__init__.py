"""The command line and the terminal screens. Internal: the public package is `qsync`."""

PART_OF = "qsync"
