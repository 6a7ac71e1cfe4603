"""Scopes that start in the middle of a history that is too long for the search to find."""

from qsync.sim.explore.scope import EVERYTHING_HEARD, Scope, simple_scope

_DAMAGE = (
    "damage_ignored",
    "recruit_admitted_at_once",
    "ack_of_older_connection",
    "recruit_votes_again",
)

HISTORIES = (
    simple_scope(
        name="lead-again",
        claim="a node that leads again counts no ack of its earlier term; five nodes",
        prelude="elect 1; only 1 3; put 1 a; hold 3 1; connect 1 3; only 2 4 5; elect 2; all; "
        "connect 2 1; connect 2 3",
        bounds={"campaigns": 1},
        nodes=5,
        alike=((4, 5),),
        campaigning=frozenset({1}),
        dead_letters=False,
        reaches=frozenset({"elected", "confirmed"}),
        kills=frozenset({"ack_of_older_term", "match_kept"}),
    ),
    simple_scope(
        name="reads-tail",
        claim="a log that is long enough, but is not the leader's, serves no read",
        prelude="elect 1; only 1 3; stall 1; async 1 p; async 1 q; crash 1; all",
        bounds={"campaigns": 1, "writes": 1, "reads": 1},
        campaigning=frozenset({2}),
        reading=frozenset({3}),
        unheard=EVERYTHING_HEARD,
        reaches=frozenset({"read", "elected", "told committed", "cut"}),
        kills=frozenset({"reads_by_index", "entry_before_unchecked"}),
    ),
    simple_scope(
        name="damaged-log",
        claim="a node that lost its log but not its vote counts again once it has the leader's log",
        prelude="elect 1; only 1 3; put 1 a; hold 3 1; put 1 b; hold 1 3; damage 3; all",
        bounds={"campaigns": 1, "heartbeats": 1},
        campaigning=frozenset({2}),
        unheard=EVERYTHING_HEARD,
        reaches=frozenset({"admitted", "elected", "told committed"}),
        kills=frozenset(_DAMAGE),
    ),
    simple_scope(
        name="damaged-log-slowly",
        claim="the same when the log comes back entry by entry: the PROMOTE alone is not enough",
        prelude="elect 1; only 1 3; put 1 a; hold 1 3; damage 3; all",
        bounds={"campaigns": 1, "heartbeats": 1},
        campaigning=frozenset({2}),
        appended=1,
        beat=1.0,
        unheard=frozenset({"HeartbeatResponse"}),
        reaches=frozenset({"admitted", "campaign"}),
        kills=frozenset({"recruit_admitted_by_promote"}),
    ),
    Scope(
        name="lost-tail",
        claim="a cut asynchronous write is not reported as gone, since an isolated node may show "
        "it",
        prelude="elect 1; only 1 3; stall 1; async 1 p; hold 2 1; only 2 4 5; elect 2; all",
        bounds={"heartbeats": 1},
        nodes=5,
        alike=((4, 5),),
        ordered=True,
        records=False,
        unheard=frozenset({"HeartbeatResponse"}),
        reaches=frozenset({"told lost", "cut", "confirmed"}),
        kills=frozenset({"lost_for_cut"}),
    ),
    simple_scope(
        name="strange-tail",
        claim="an earlier leader's asynchronous tail is not shown as the present leader's",
        prelude="elect 1; stall 1; lose 2 1; lose 3 1; put 1 a; only 1 3; lose 3 1; async 1 p; "
        "crash 1; only 1 2; elect 2; put 2 b; hold 2 3; all; connect 2 3",
        bounds={"heartbeats": 1},
        appended=1,
        reaches=frozenset({"cut", "confirmed"}),
        kills=frozenset({"shows_a_strange_tail"}),
    ),
    simple_scope(
        name="rollback-overruled",
        claim="a node that rolled back what its successor confirmed shows it once it learns this",
        prelude="elect 1; only 1 2; hold 2 1; put 1 a; only 1; rollback 1; only 2 3; elect 2; all; "
        "connect 2 1",
        bounds={"heartbeats": 1},
        reaches=frozenset({"overruled", "told committed", "cut"}),
        kills=frozenset({"rollback_beyond_confirmed"}),
    ),
    simple_scope(
        name="rollback-without-room",
        claim="a node without memory for a whole batch confirms nothing that the batch rolls back",
        prelude="elect 1; only 1 3; lose 3 1; put 1 a; only 1; put 1 b; rollback 1; only 1 2; "
        "connect 1 2; full 3; hold 1 3; all; connect 1 3",
        bounds={"heartbeats": 1},
        appended=2,
        reaches=frozenset({"timer heartbeat"}),
        kills=frozenset({"stretch_rule_shortened"}),
    ),
)
