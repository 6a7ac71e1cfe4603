"""Evidence of what a cluster did, at rest in one folder: written by many, read by the checkers."""
