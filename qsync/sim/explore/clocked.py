"""Scopes in which time passes in ticks: no other node is elected before a lease ends.

membership.md M11 on the real `Raft` and `Rounds`. A promise lasts PROMISE seconds. Node 1 leads and
was read by lease, so its rounds ask for promises; all promises of the script have ended. Messages
about logs are lost: a lease depends only on votes and rounds.
"""

from dataclasses import replace

from qsync.sim.explore.scope import EVERYTHING_HEARD, PROMISE, Scope

_WANTED = "elect 1; lease 1; pass 12; "
_ASKED = _WANTED + "hold 1 2; hold 1 3; beat 1"
"""Node 1 has just requested the promises of both."""
_PROMISED = _WANTED + "only 1 3; beat 1; all"
"""And here it has that of node 3."""
_HALF = PROMISE / 2


_LEASE = Scope(
    name="lease",
    claim="no other node is elected before a lease ends, however slow rounds and answers are",
    prelude=_ASKED,
    tick=_HALF,
    bounds={"ticks": 2, "campaigns": 1},
    campaigning=frozenset({2}),
    beating=frozenset({1}),
    crashing=frozenset({2, 3}),
    ordered=True,
    slow_disk=False,
    records=False,
    unheard=frozenset({"Append", "AppendResponse"}),
    reaches=frozenset({"tick", "elected"}),
    kills=frozenset({"lease_twice_the_promise", "lease_from_answer", "votes_while_loyal"}),
)

CLOCKED = (
    _LEASE,
    replace(
        _LEASE,
        name="lease-drift",
        claim="the same when the clocks of the leader and of a voter drift by a tenth each",
        prelude=_PROMISED,
        tick=PROMISE / 5,
        bounds={"ticks": 5, "drifts": 2, "campaigns": 1},
        kills=frozenset({"lease_of_the_whole_promise"}),
    ),
    replace(
        _LEASE,
        name="lease-restart",
        claim="the same when a voter restarts and no other node has noticed it yet",
        bounds={"ticks": 1, "campaigns": 1, "crashes": 1},
        reaches=frozenset({"crash", "elected"}),
        kills=frozenset({"promise_forgotten"}),
    ),
    replace(
        _LEASE,
        name="lease-refused",
        claim="the same when the address of the live leader refuses a connection",
        bounds={"ticks": 1, "campaigns": 1, "refusals": 1},
        reaches=frozenset({"refused connection", "elected"}),
        kills=frozenset({"refused_is_dead", "candidate_indulgent"}),
    ),
    replace(
        _LEASE,
        name="lease-retimed",
        claim="the same when a voter gets shorter timeouts after its promise",
        prelude=_PROMISED,
        tick=_HALF / 2,
        bounds={"ticks": 2, "heartbeats": 1, "campaigns": 1, "retimes": 1},
        reaches=frozenset({"retimed", "campaign"}),
        kills=frozenset({"promise_shortened"}),
    ),
    replace(
        _LEASE,
        name="lease-handed",
        claim="the same over a leader transfer, also one that seems to have failed",
        bounds={"heartbeats": 1, "demotes": 1},
        reaches=frozenset({"hands_over", "transfer_failed", "elected"}),
        kills=frozenset({"lease_after_permit"}),
    ),
    replace(
        _LEASE,
        name="lease-inherited",
        claim="a new leader serves no lease read before it knows what its predecessor answered",
        prelude="elect 1; only 1 2; put 1 a; all; lease 1; pass 12",
        bounds={"campaigns": 1, "heartbeats": 1, "leases": 1},
        beating=frozenset({2}),
        reading=frozenset({2}),
        unheard=EVERYTHING_HEARD,
        reaches=frozenset({"elected", "asked by lease"}),
        kills=frozenset({"lease_before_promote"}),
    ),
)
