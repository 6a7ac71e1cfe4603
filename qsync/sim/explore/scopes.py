"""The named scopes: what each lets happen, how often at most, and what it shows when exhausted."""

from dataclasses import replace

from election.fencing import Fencing
from qsync.sim.explore.clocked import CLOCKED
from qsync.sim.explore.histories import HISTORIES
from qsync.sim.explore.reading import READS, READS_LONG
from qsync.sim.explore.requests import REQUESTS
from qsync.sim.explore.scope import EVERYBODY, Scope

_ALL = ((1, 2, 3),)
_FOLLOWERS = ((2, 3),)
_NO_ROUNDS = frozenset({"HeartbeatResponse"})
_FIGURE_8 = "elect 1; only 1; put 1 a; all"
"""Node 1 leads and has a write that nobody else has."""
_ROOM_FOR_SLOW_DISKS = (
    *("rollback-heartbeat", "session-retry", "new-connection", "switchover", "fencing"),
    *("reads-follower", "damaged-log-slowly", "lead-again"),
)
_ROOM_FOR_ANY_ORDER = (
    *("write-crash-takeover", "session-retry", "transactions", "refusals", "doubts"),
    *("switchover", "fencing", "reads-follower", "session-retry-folded", "lead-again"),
    "disk-fails",
)
"""Scopes that stay small with slow disks, or without the order of messages."""
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
        kills=frozenset({"quorum_minus_one", "minority_elects", "votes_twice"}),
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
        kills=frozenset({"ack_before_durable", "vote_not_persisted", "answers_before_ballot"}),
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
        kills=frozenset({"own_write_not_awaited", "confirms_one_more"}),
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
        kills=frozenset({"cut_at_once"}),
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
        kills=frozenset({"vote_by_length", "confirm_older_term", "older_leader_obeyed"}),
        dead_letters=False,
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
        kills=frozenset({"rolled_back_said_at_once", "stretch_rule_leader", "rollback_inherited"}),
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
        kills=frozenset({"stretch_rule_carried"}),
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
        kills=frozenset({"vote_unchecked"}),
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
        kills=frozenset({"shows_before_durable"}),
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
        kills=frozenset({"ack_of_another_log"}),
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
        kills=frozenset(
            {
                "retry_applies_twice",
                "sessions_forgotten",
                "sessions_survive_a_cut",
                "waits_by_index",
            }
        ),
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
        reaches=frozenset({"refusal waits", "told committed"}),
        kills=frozenset({"validation_skipped", "condition_ignored", "executes_on_visible"}),
    ),
    Scope(
        name="duplicates",
        claim="a message that arrives twice, in any order, changes nothing by that",
        prelude="elect 1",
        bounds={"writes": 1, "rollbacks": 1, "duplicates": 1},
        alike=_FOLLOWERS,
        slow_disk=False,
        records=False,
        reaches=frozenset({"told committed", "told rolled_back"}),
        kills=frozenset({"confirms_one_more"}),
    ),
    Scope(
        name="batches",
        claim="two things that come to a node in one batch are no worse than one after the other",
        prelude="elect 1",
        bounds={"writes": 1, "rollbacks": 1, "campaigns": 1, "batches": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"batch", "told committed", "told rolled_back", "elected", "cut"}),
        kills=frozenset({"waits_by_index"}),
    ),
    Scope(
        name="fencing",
        claim="a leader that was paused finds that it lost its quorum, and steps down in time",
        prelude="elect 1",
        bounds={"writes": 1, "pauses": 1, "campaigns": 1},
        alike=_FOLLOWERS,
        fencing=Fencing.SOFT,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"fenced", "elected", "told committed", "told cut"}),
        kills=frozenset({"never_fenced"}),
    ),
    Scope(
        name="disk-fails",
        claim="what rests on a write that failed is not said; the node steps down and writes again",
        prelude="elect 1",
        bounds={"failures": 1, "campaigns": 1},
        alike=_FOLLOWERS,
        ordered=True,
        records=False,
        reaches=frozenset({"write failed", "timer disk", "elected", "confirmed"}),
        kills=frozenset({"failed_write_counts"}),
    ),
    Scope(
        name="new-connection",
        claim="acks belong to a connection; one that is made anew begins with what is there",
        prelude="elect 1",
        bounds={"writes": 1, "rollbacks": 1, "breaks": 1},
        alike=_FOLLOWERS,
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"reconnected", "told committed", "told rolled_back"}),
        kills=frozenset({"stretch_rule_leader"}),
    ),
    Scope(
        name="lost-disk",
        claim="who comes back on an empty disk makes neither a second quorum nor a second leader",
        prelude="elect 1",
        bounds={"wipes": 1, "campaigns": 1, "writes": 1},
        crashing=frozenset({3}),
        campaigning=frozenset({2}),
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=_NO_ROUNDS,
        reaches=frozenset({"wiped", "elected", "told committed"}),
        kills=frozenset({"acks_of_strangers"}),
    ),
    Scope(
        name="lost-vote",
        claim="a vote that was lost with its disk is not given again, whoever asks and counts",
        prelude="",
        bounds={"wipes": 1, "campaigns": 2},
        crashing=frozenset({2}),
        campaigning=frozenset({1, 3}),
        alike=((1, 3),),
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"wiped", "elected", "confirmed"}),
        kills=frozenset({"pair_ignored"}),
    ),
    Scope(
        name="replaced-disk",
        claim="a new directory gets the place of a voter by two changes, over a take-over",
        prelude="elect 1",
        bounds={"wipes": 1, "replaces": 1, "campaigns": 1},
        crashing=frozenset({3}),
        campaigning=frozenset({2}),
        ordered=True,
        slow_disk=False,
        records=False,
        reaches=frozenset({"wiped", "configuration", "elected", "confirmed"}),
        kills=frozenset({"two_changes_in_one", "change_undecided"}),
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
        kills=frozenset({"vote_unchecked"}),
    ),
    *READS,
    *REQUESTS,
    *HISTORIES,
    *CLOCKED,
)


def _wider(of: str, name: str, **more: int) -> Scope:
    """A quick scope with more of what it lets happen."""
    scope = next(each for each in _QUICK if each.name == of)
    return replace(scope, name=name, bounds={**scope.bounds, **more})


def _slowly(of: str) -> Scope:
    return replace(
        _wider(of, f"{of}-slow-disk"),
        claim="the same, whenever writes become durable",
        slow_disk=True,
    )


def _in_any_order(of: str) -> Scope:
    return replace(
        _wider(of, f"{of}-reordered"),
        claim="the same, in whatever order the messages of a connection arrive",
        ordered=False,
    )


_LONG = (
    replace(
        _wider("election", "votes-crash", timeouts=0, campaigns=2, crashes=1),
        claim="no vote is given twice, whenever the voter crashes",
        slow_disk=True,
        reaches=frozenset({"elected", "crash", "cut"}),
        kills=frozenset({"vote_not_persisted", "answers_before_ballot"}),
    ),
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
        claim="the same, whoever loses its disk and whoever campaigns",
        crashing=EVERYBODY,
        campaigning=EVERYBODY,
    ),
    _wider("replaced-disk", "replaced-disk-write", writes=1),
    replace(
        _wider("replaced-disk", "replaced-disk-rollback", rollbacks=1),
        claim="the same when a change of the voters is rolled back",
    ),
    replace(
        _wider("replaced-disk", "replaced-disk-anybody"),
        claim="the same, whoever loses its disk and whoever campaigns",
        crashing=EVERYBODY,
        campaigning=EVERYBODY,
    ),
    *READS_LONG,
    _wider("switchover", "switchover-both", demotes=1, writes=0),
    *map(_slowly, _ROOM_FOR_SLOW_DISKS),
    *map(_in_any_order, _ROOM_FOR_ANY_ORDER),
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
