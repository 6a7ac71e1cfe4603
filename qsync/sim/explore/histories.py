"""Scopes that begin in the middle of a history, one that takes too many events to be found."""

from qsync.sim.explore.scope import EVERYTHING_HEARD, Scope

_DAMAGE = (
    "damage_ignored",
    "recruit_admitted_at_once",
    "ack_of_older_connection",
    "recruit_votes_again",
)

HISTORIES = (
    Scope(
        name="lead-again",
        claim="who leads again counts no ack that was given while it led before; five nodes",
        prelude="elect 1; only 1 3; put 1 a; hold 3 1; connect 1 3; only 2 4 5; elect 2; all; "
        "connect 2 1; connect 2 3",
        bounds={"campaigns": 1},
        nodes=5,
        alike=((4, 5),),
        campaigning=frozenset({1}),
        ordered=True,
        slow_disk=False,
        records=False,
        dead_letters=False,
        reaches=frozenset({"elected", "confirmed"}),
        kills=frozenset({"ack_of_older_term", "match_kept"}),
    ),
    Scope(
        name="reads-tail",
        claim="a log that is long enough, but not the leader's, serves no read",
        prelude="elect 1; only 1 3; stall 1; async 1 p; async 1 q; crash 1; all",
        bounds={"campaigns": 1, "writes": 1, "reads": 1},
        campaigning=frozenset({2}),
        reading=frozenset({3}),
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=EVERYTHING_HEARD,
        reaches=frozenset({"read", "elected", "told committed", "cut"}),
        kills=frozenset({"reads_by_index", "entry_before_unchecked"}),
    ),
    Scope(
        name="damaged-log",
        claim="who lost its log, and not its vote, counts again when it has the leader's",
        prelude="elect 1; only 1 3; put 1 a; hold 3 1; put 1 b; hold 1 3; damage 3; all",
        bounds={"campaigns": 1, "heartbeats": 1},
        campaigning=frozenset({2}),
        ordered=True,
        slow_disk=False,
        records=False,
        unheard=EVERYTHING_HEARD,
        reaches=frozenset({"admitted", "elected", "told committed"}),
        kills=frozenset(_DAMAGE),
    ),
    Scope(
        name="damaged-log-slowly",
        claim="the same when it gets its log back entry by entry: the PROMOTE alone is not enough",
        prelude="elect 1; only 1 3; put 1 a; hold 1 3; damage 3; all",
        bounds={"campaigns": 1, "heartbeats": 1},
        campaigning=frozenset({2}),
        ordered=True,
        slow_disk=False,
        records=False,
        appended=1,
        beat=1.0,
        unheard=frozenset({"Heard"}),
        reaches=frozenset({"admitted", "campaign"}),
        kills=frozenset({"recruit_admitted_by_promote"}),
    ),
)
