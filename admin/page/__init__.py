"""The status page of a node: its cluster for people, read-only, beside the health URLs."""
