"""The scopes of shipped nodes: the possible faults of each, and the statement that it proves."""

from dataclasses import replace

from qsync.faults import Fault
from qsync.sim.chosen.scope import (
    ELECTION_S,
    LONG_S,
    SHORT_S,
    SWEEP_S,
    ChosenScope,
    Victims,
)

_WRITTEN_S = 0.02
"""A write without faults is answered faster."""
_ELECTION = ChosenScope(
    name="node-election",
    claim="starting nodes elect one leader per term, whichever of them dies at any call",
    bounds={Fault.KILL: 1},
    victims=Victims.ANYBODY,
    clients=(),
    settled=False,
    lasts=(LONG_S,),
    reaches=frozenset({"elected", "taken over", "kill"}),
    kills=frozenset({"minority_elects", "never_dials_again"}),
)
_WRITE = ChosenScope(
    name="node-write",
    claim="a write gets its true outcome when the leader dies, loses power or is paused at any "
    "call",
    bounds={Fault.KILL: 1, Fault.POWER_CUT: 1, Fault.STOP_IN_CALL: 1},
    victims=Victims.LEADER,
    clients=(("write",),),
    lasts=(LONG_S,),
    reaches=frozenset({"write ok", "taken over", "kill", "power_cut", "stop_in_call"}),
    kills=frozenset({"retry_applies_twice", "sessions_forgotten", "never_dials_again"}),
)
_LATE = ChosenScope(
    name="node-write-late",
    claim="the same when any one packet is late or split, or any one commit fails",
    bounds={Fault.SLOW_LINK: 1, Fault.FAIL_FSYNC: 1},
    victims=Victims.LEADER,
    clients=(("write",),),
    reaches=frozenset({"write ok", "taken over"}),
    kills=frozenset({"failed_write_counts", "retry_applies_twice"}),
)
_WIPE = ChosenScope(
    name="node-write-wipe",
    claim="the same when a follower loses its disk at any call and restarts with an empty one",
    bounds={Fault.WIPE: 1},
    victims=Victims.FOLLOWERS,
    clients=(("write",),),
    reaches=frozenset({"write ok", "wipe"}),
    kills=frozenset({"match_kept"}),
)
_READ = ChosenScope(
    name="node-read-takeover",
    claim="writes and reads get true outcomes when their leader is isolated at any call",
    bounds={Fault.ISOLATE: 1},
    victims=Victims.LEADER,
    clients=(("write", "write"), ("read", "read", "read")),
    within=ELECTION_S / 10,
    lasts=(8 * ELECTION_S,),
    reaches=frozenset({"write ok", "read ok", "taken over", "isolate"}),
    kills=frozenset({"late_is_rolled_back", "retry_applies_twice"}),
)
_TRIM = ChosenScope(
    name="node-trim",
    claim="trimming keeps what the rows and other nodes need, whenever a follower loses power",
    bounds={Fault.POWER_CUT: 1},
    victims=Victims.FOLLOWERS,
    clients=(("write",) * 6,),
    think=2 * SWEEP_S,
    within=8 * SWEEP_S,
    lasts=(SHORT_S,),
    trims=True,
    reaches=frozenset({"write ok", "power_cut", "snapshots written", "logs trimmed"}),
    kills=frozenset({"trims_without_snapshot", "snapshot_not_flushed"}),
)

QUICK = (_ELECTION, _WRITE, _LATE, _WIPE, _READ, _TRIM)
LONG = (
    replace(
        _WRITE,
        name="node-write-two",
        claim="the same when any two nodes die during the write, or one node dies twice",
        within=_WRITTEN_S,
        lasts=(SHORT_S,),
        bounds={Fault.KILL: 2},
        victims=Victims.ANYBODY,
        faults=2,
        reaches=frozenset({"write ok", "taken over", "kill"}),
    ),
    replace(
        _TRIM,
        name="node-trim-kill",
        claim="the same when a follower is killed or loses power, over a longer time",
        bounds={Fault.KILL: 1, Fault.POWER_CUT: 1},
        within=20 * SWEEP_S,
        reaches=frozenset({"write ok", "power_cut", "kill", "snapshots written", "logs trimmed"}),
    ),
    replace(
        _LATE,
        name="node-write-late-kill",
        claim="the same when the leader also dies during the write",
        within=_WRITTEN_S,
        bounds={Fault.SLOW_LINK: 1, Fault.FAIL_FSYNC: 1, Fault.KILL: 1},
        faults=2,
        lasts=(LONG_S,),
        reaches=frozenset({"write ok", "taken over", "kill"}),
    ),
)

CHOSEN: dict[str, ChosenScope] = {scope.name: scope for scope in (*QUICK, *LONG)}
"""By name."""
