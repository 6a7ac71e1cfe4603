"""What is left out of runs in which a test does the harm itself."""

QUIET = (
    "loss",
    "late",
    "failure",
    "drift",
    "modes",
    "sizes",
    "unfenced",
    "own_settings",
    "little_room",
    "snapshots",
    "retention",
    "slow_names",
)
"""For `Plan.without`: no faults of the network or the disk, equal nodes, whole logs."""
