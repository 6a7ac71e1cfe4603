"""The clients of a run: what they do, what they were answered, and what must hold afterwards."""
