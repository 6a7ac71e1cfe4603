"""A broken rule for every drill, to see that it would be noticed: which mutant each one catches.

All are caught within a few seeds from the drill's own one on. Those of `BY_THE_LOAD` are caught by
the clients alone; the others also with a seed of which the same load without the faults catches
nothing. With another seed the load may be lucky.
"""

from collections.abc import Mapping

SEEDS_MAX = 20
BY_THE_LOAD = frozenset({"ack_before_durable", "quorum_minus_one"})

CAUGHT: Mapping[str, str] = {
    "chaos": "rollback_inherited",
    "clock-jump": "quorum_minus_one",
    "confirm-lost": "confirm_older_term",
    "demo": "confirm_older_term",
    "cpu-starvation": "confirm_older_term",
    "disk-full-follower": "ack_before_durable",
    "disk-full-leader": "rollback_inherited",
    "flapping-link": "confirm_older_term",
    "fsync-fails": "confirm_older_term",
    "fsync-stall": "rollback_inherited",
    "leader-kill": "confirm_older_term",
    "leader-kill-twice": "sessions_forgotten",
    "leader-pause": "confirm_older_term",
    "log-bit-flip": "ack_before_durable",
    "lose-quorum": "confirm_older_term",
    "lossy-link": "stretch_rule_carried",
    "partition-asymmetric": "confirm_older_term",
    "partition-asymmetric-reverse": "confirm_older_term",
    "partition-bridge": "stretch_rule_leader",
    "partition-leader": "confirm_older_term",
    "partition-majority": "confirm_older_term",
    "partition-minority": "stretch_rule_leader",
    "partition-ring": "stretch_rule_leader",
    "planned-switchover": "confirm_older_term",
    "promote-storm": "confirm_older_term",
    "rejoin-empty": "ack_before_durable",
    "rollback-lost": "confirm_older_term",
    "rolling-restart": "sessions_forgotten",
    "slow-link": "stretch_rule_leader",
    "stale-leader-return": "confirm_older_term",
    "sync-timeout-rollback": "confirm_older_term",
    "torn-tail": "ack_before_durable",
}
"""By drill."""
