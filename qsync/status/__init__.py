"""The status record of a node: defined here, filled by a node, read by everything else."""
