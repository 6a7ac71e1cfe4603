"""The named scopes: what each lets happen, how often at most, and what it shows when exhausted."""

from dataclasses import replace

from qsync.sim.explore.scope import EVERYBODY, EVERYTHING_HEARD, Scope
from qsync.store.contract import NO_BALLOT

_ALL = ((1, 2, 3),)
_FOLLOWERS = ((2, 3),)
_NO_ROUNDS = frozenset({"Heard"})
_FIGURE_8 = "elect 1; only 1; put 1 a; all"
"""Node 1 leads and has a write that nobody else has."""
_INHERITED = "elect 1; only 1 2; put 1 a; all"
"""And here node 2 has it too, so that it is confirmed, though node 3 knows of nothing."""

_QUICK = (
    Scope(
        name="election",
        claim="one leader a term, by timers, pre-votes and votes; nothing confirmed is lost by one",
        prelude="",
        bounds={"timeouts": 2},
        alike=_ALL,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"elected", "stepped_down", "confirmed", "cut"}),
    ),
    Scope(
        name="election-crash",
        claim="the same when any node crashes, before or after its ballot is written",
        prelude="",
        bounds={"timeouts": 1, "crashes": 1},
        alike=_ALL,
        ordered=True,
        records=False,
        sticky=True,
        reaches=frozenset({"elected", "crash", "confirmed"}),
    ),
    Scope(
        name="write-crash",
        claim="one synchronous write and its CONFIRM over a crash of the leader at any moment",
        prelude="elect 1",
        bounds={"writes": 1, "crashes": 1},
        alike=_FOLLOWERS,
        crashing=frozenset({1}),
        ordered=True,
        reaches=frozenset({"told committed", "crash", "confirmed", "timer confirm"}),
    ),
    Scope(
        name="write-crash-takeover",
        claim="one synchronous write over a crash of the leader and the take-over by another",
        prelude="elect 1",
        bounds={"writes": 1, "crashes": 1, "campaigns": 1},
        alike=_FOLLOWERS,
        crashing=frozenset({1}),
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"told committed", "told cut", "crash", "elected", "cut"}),
    ),
    Scope(
        name="figure-8",
        claim="acks for an entry of an older term decide nothing (Raft's figure 8)",
        prelude=_FIGURE_8,
        bounds={"campaigns": 2},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"elected", "cut", "told cut", "told committed", "confirmed"}),
    ),
    Scope(
        name="rollback-confirm",
        claim="a rollback against acks that come late and against a take-over: one fate everywhere",
        prelude="elect 1",
        bounds={"campaigns": 1, "writes": 1, "rollbacks": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"rollback", "told rolled_back", "told committed", "cut"}),
    ),
    Scope(
        name="rollback-heartbeat",
        claim="the confirmed index that a heartbeat carries never ends in a rolled-back stretch",
        prelude="elect 1",
        bounds={"writes": 1, "rollbacks": 1, "heartbeats": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=_NO_ROUNDS,
        reaches=frozenset({"rollback", "told rolled_back", "timer heartbeat"}),
    ),
    Scope(
        name="stale-promote",
        claim="a PROMOTE of an older term that comes late, in any order, takes nothing over",
        prelude="",
        bounds={"campaigns": 2},
        alike=_ALL,
        slow_disk=False,
        records=False,
        reaches=frozenset({"promote", "cut", "stepped_down", "confirmed"}),
    ),
    Scope(
        name="async-behind-sync",
        claim="an asynchronous write behind a synchronous one shares its fate, over a take-over",
        prelude="elect 1",
        bounds={"campaigns": 1, "writes": 1, "asyncs": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"told committed", "told cut", "cut"}),
    ),
    Scope(
        name="takeover-twice",
        claim="two take-overs, one after the other or at once, confirm what they inherit",
        prelude=_INHERITED,
        bounds={"campaigns": 2},
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"elected", "confirmed", "cut", "stepped_down"}),
    ),
    Scope(
        name="session-retry",
        claim="a request that is repeated, at the same or at the next leader, takes effect once",
        prelude="elect 1; create 1",
        bounds={"campaigns": 1, "calls": 2},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        whole=True,
        reaches=frozenset({"attached", "told committed", "told cut", "elected"}),
    ),
    Scope(
        name="transactions",
        claim="conditions and read sets are held against everything pending, in the log's order",
        prelude="elect 1; create 1",
        bounds={"asks": 2},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        whole=True,
        reaches=frozenset({"refused", "told committed"}),
    ),
    Scope(
        name="membership",
        claim="a node that comes back on an empty disk counts in no quorum until it is admitted",
        prelude="elect 1",
        bounds={"wipes": 1, "campaigns": 1},
        alike=_FOLLOWERS,
        ballot=NO_BALLOT,
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=_NO_ROUNDS,
        reaches=frozenset({"wiped", "elected"}),
    ),
    Scope(
        name="membership-admit",
        claim="it is admitted by a leader, and only when it has everything that is confirmed",
        prelude="elect 1",
        bounds={"wipes": 1, "heartbeats": 2},
        alike=_FOLLOWERS,
        ballot=NO_BALLOT,
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=_NO_ROUNDS,
        reaches=frozenset({"wiped", "admitted", "confirmed"}),
    ),
    Scope(
        name="bootstrap",
        claim="a node that lost its disk before anything was written votes in no term again",
        prelude="",
        bounds={"wipes": 1, "campaigns": 2},
        alike=((1, 3),),
        crashing=frozenset({2}),
        campaigning=frozenset({1, 3}),
        ballot=NO_BALLOT,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"wiped", "bootstrapped", "elected", "confirmed"}),
    ),
    Scope(
        name="reads",
        claim="a linearizable read sees what was answered before, over a take-over",
        prelude="elect 1",
        bounds={"campaigns": 1, "reads": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=EVERYTHING_HEARD,
        reaches=frozenset({"read", "elected"}),
    ),
    Scope(
        name="switchover",
        claim="a planned switchover, asked of the leader or of the next one, loses nothing",
        prelude="elect 1; confirm 1",
        bounds={"promotes": 1, "writes": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"hands_over", "elected", "hand_over_refused"}),
    ),
)


def _wider(of: str, name: str, **more: int) -> Scope:
    """A quick scope with more of what it lets happen."""
    scope = next(each for each in _QUICK if each.name == of)
    return replace(scope, name=name, bounds={**scope.bounds, **more})


_LONG = (
    replace(
        _wider("election", "votes-crash", timeouts=0, campaigns=2, crashes=1),
        claim="no vote is given twice, whenever the voter crashes",
        slow_disk=True,
        reaches=frozenset({"elected", "crash", "cut"}),
    ),
    replace(_wider("election", "election-twice-crash", crashes=1), slow_disk=True),
    replace(
        _wider("write-crash", "write-crash-anybody"),
        claim="the same over a crash of any node",
        crashing=EVERYBODY,
    ),
    replace(
        _wider("write-crash-takeover", "write-crash-takeover-anybody"),
        claim="the same over a crash of any node, before or after anything is durable",
        crashing=EVERYBODY,
        slow_disk=True,
    ),
    _wider("figure-8", "figure-8-crash", crashes=1),
    _wider("rollback-confirm", "rollback-confirm-two", writes=2),
    replace(_wider("rollback-confirm", "rollback-confirm-records"), records=True),
    replace(_wider("stale-promote", "stale-promote-three", campaigns=3), ordered=True),
    _wider("async-behind-sync", "async-behind-sync-rollback", rollbacks=1),
    replace(_wider("takeover-twice", "takeover-twice-records"), records=True),
    _wider("session-retry", "session-retry-crash", crashes=1),
    _wider("session-retry", "session-retry-rollback", rollbacks=1, folds=1),
    _wider("transactions", "transactions-three", asks=3),
    _wider("membership", "membership-vote", heartbeats=1),
    replace(
        _wider("bootstrap", "bootstrap-anybody"),
        claim="the same, whoever loses its disk and whoever campaigns",
        alike=_ALL,
        crashing=EVERYBODY,
        campaigning=EVERYBODY,
    ),
    _wider("reads", "reads-write", writes=1),
    _wider("switchover", "switchover-both", demotes=1, writes=0),
)

SCOPES: dict[str, Scope] = {scope.name: scope for scope in (*_QUICK, *_LONG)}
"""By name."""

SETS: dict[str, tuple[str, ...]] = {
    "quick": tuple(scope.name for scope in _QUICK),
    "all": tuple(SCOPES),
}
"""Names for several at once."""


def named(name: str) -> list[Scope]:
    """The scope of that name, or the scopes of that set; none if there is neither."""
    return [SCOPES[each] for each in SETS.get(name, (name,)) if each in SCOPES]
