"""The log as a sequence of files, zero-filled ahead: one write and one flush per commit."""
