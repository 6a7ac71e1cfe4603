"""Scopes of linearizable reads: a read shows everything that was answered before it."""

from dataclasses import replace

from qsync.sim.explore.scope import EVERYBODY, EVERYTHING_HEARD, Scope

_READS = Scope(
    name="reads",
    claim="a leader that does not know it was replaced answers no linearizable read",
    prelude="elect 1",
    bounds={"campaigns": 1, "reads": 1, "writes": 1},
    campaigning=frozenset({2}),
    writing=frozenset({2}),
    reading=frozenset({1}),
    ordered=True,
    slow_disk=False,
    records=False,
    unheard=EVERYTHING_HEARD,
    reaches=frozenset({"read", "elected", "told committed"}),
    kills=frozenset({"read_without_round", "round_before_read"}),
)

READS = (
    _READS,
    replace(
        _READS,
        name="reads-inherited",
        claim="a new leader answers no read before it knows what its predecessor answered",
        prelude="elect 1; only 1 2; put 1 a; all",
        bounds={"campaigns": 1, "reads": 1},
        reading=frozenset({2}),
        reaches=frozenset({"read", "elected", "confirmed"}),
        kills=frozenset({"reads_before_promote"}),
    ),
    replace(
        _READS,
        name="reads-follower",
        claim="a leader that does not know it was replaced answers no ReadIndex; five nodes, three "
        "went on",
        prelude="elect 1; only 2 4 5; elect 2; put 2 a; all",
        bounds={"reads": 1, "heartbeats": 1},
        nodes=5,
        alike=((4, 5),),
        reading=frozenset({3}),
        beating=frozenset({1}),
        reaches=frozenset({"stepped_down", "confirmed"}),
        kills=frozenset({"index_without_round"}),
    ),
)

READS_LONG = (
    replace(
        _READS,
        name="reads-anybody",
        claim="the same, whichever node campaigns, writes and is read",
        alike=((2, 3),),
        campaigning=EVERYBODY,
        writing=EVERYBODY,
        reading=EVERYBODY,
    ),
    replace(
        _READS,
        name="reads-crash",
        claim="a leader's answer to an earlier life of a node serves no read of the present one",
        bounds={"writes": 1, "reads": 2, "crashes": 1},
        crashing=frozenset({2}),
        campaigning=EVERYBODY,
        writing=EVERYBODY,
        reading=frozenset({2}),
        reaches=frozenset({"read", "crash", "told committed"}),
        kills=frozenset({"answers_to_a_former_life"}),
    ),
)
