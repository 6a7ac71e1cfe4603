"""The log as a row of files that are zero-filled ahead: one write and one flush a commit."""
