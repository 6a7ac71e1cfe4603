"""The named scopes: the possible acts of each, their bounds, and the proved statement."""

from dataclasses import replace

from qsync.sim.explore.clocked import CLOCKED
from qsync.sim.explore.histories import HISTORIES
from qsync.sim.explore.logs import LOGS
from qsync.sim.explore.memberships import MEMBERSHIPS, MEMBERSHIPS_LONG
from qsync.sim.explore.reading import READS, READS_LONG
from qsync.sim.explore.recoveries import RECOVERIES
from qsync.sim.explore.releases import RELEASES
from qsync.sim.explore.requests import REQUESTS, REQUESTS_LONG
from qsync.sim.explore.scope import EVERYBODY, Scope
from qsync.sim.explore.snapshots import SNAPSHOTS

_ROOM_FOR_SLOW_DISKS = (
    *("rollback-heartbeat", "session-retry", "new-connection", "switchover", "fencing"),
    *("reads-follower", "damaged-log-slowly", "lead-again", "superseded"),
)
_ROOM_FOR_ANY_ORDER = (
    *("write-crash-takeover", "session-retry", "transactions", "refusals", "doubts"),
    *("switchover", "fencing", "reads-follower", "session-retry-folded", "lead-again"),
    "disk-fails",
)
"""Scopes that stay small with slow disks, or without the order of messages."""

_QUICK = (
    *LOGS,
    *READS,
    *REQUESTS,
    *HISTORIES,
    *CLOCKED,
    *SNAPSHOTS,
    *RELEASES,
    *MEMBERSHIPS,
    *RECOVERIES,
)


def _wider(of: str, name: str, **more: int) -> Scope:
    """A quick scope with larger bounds."""
    scope = next(each for each in _QUICK if each.name == of)
    return replace(scope, name=name, bounds={**scope.bounds, **more})


def _slowly(of: str) -> Scope:
    return replace(
        _wider(of, f"{of}-slow-disk"),
        claim=f"the same as {of}, with writes that become durable at any time",
        slow_disk=True,
    )


def _in_any_order(of: str) -> Scope:
    return replace(
        _wider(of, f"{of}-reordered"),
        claim=f"the same as {of}, with the messages of a connection in any order",
        ordered=False,
    )


_LONG = (
    replace(
        _wider("election", "votes-crash", timeouts=0, campaigns=2, crashes=1),
        claim="a voter never votes twice in a term, whenever it crashes",
        slow_disk=True,
        reaches=frozenset({"elected", "crash", "cut"}),
        kills=frozenset({"vote_not_persisted", "answers_before_ballot"}),
    ),
    replace(
        _wider("write-crash-takeover", "write-crash-takeover-anybody"),
        claim="the same over a crash of any node, before or after its writes are durable",
        crashing=EVERYBODY,
        slow_disk=True,
    ),
    replace(
        _wider("figure-8", "figure-8-crash", crashes=1),
        dead_letters=True,
        kills=frozenset({"vote_by_length", "confirm_older_term"}),
    ),
    _wider("rollback-confirm", "rollback-confirm-two", writes=2),
    replace(_wider("rollback-confirm", "rollback-confirm-records"), records=True),
    replace(_wider("stale-promote", "stale-promote-three", campaigns=3), ordered=True),
    _wider("async-behind-sync", "async-behind-sync-rollback", rollbacks=1),
    replace(_wider("takeover-twice", "takeover-twice-records"), records=True),
    _wider("session-retry", "session-retry-crash", crashes=1),
    _wider("session-retry", "session-retry-rollback", rollbacks=1, folds=1),
    *REQUESTS_LONG,
    _wider("transactions", "transactions-three", asks=3),
    replace(_wider("duplicates", "duplicates-takeover", campaigns=1), ordered=True),
    replace(
        _wider("batches", "batches-slow-disk", rollbacks=0),
        slow_disk=True,
        reaches=frozenset({"batch", "told committed", "elected", "cut"}),
    ),
    _wider("disk-fails", "disk-fails-write", writes=1),
    _wider("new-connection", "new-connection-takeover", campaigns=1),
    replace(
        _wider("lost-disk", "lost-disk-anybody"),
        claim="the same, whichever node loses its disk and whichever campaigns",
        crashing=EVERYBODY,
        campaigning=EVERYBODY,
    ),
    _wider("replaced-disk", "replaced-disk-write", writes=1),
    replace(
        _wider("replaced-disk", "replaced-disk-rollback", rollbacks=1),
        claim="the same when one of the changes is rolled back",
    ),
    replace(
        _wider("replaced-disk", "replaced-disk-anybody"),
        claim="the same, whichever node loses its disk and whichever campaigns",
        crashing=EVERYBODY,
        campaigning=EVERYBODY,
    ),
    *READS_LONG,
    *MEMBERSHIPS_LONG,
    _wider("switchover", "switchover-both", demotes=1, writes=0),
    *map(_slowly, _ROOM_FOR_SLOW_DISKS),
    *map(_in_any_order, _ROOM_FOR_ANY_ORDER),
)

SCOPES: dict[str, Scope] = {scope.name: scope for scope in (*_QUICK, *_LONG)}
"""By name."""

CORE_SETS: dict[str, tuple[str, ...]] = {
    "quick": tuple(scope.name for scope in _QUICK),
    "all": tuple(SCOPES),
}
"""Names for several at once; see `qsync.sim.scopes` for those of shipped nodes."""
