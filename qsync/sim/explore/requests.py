"""Scopes of numbered requests and of refusals: their answers, and their data."""

from dataclasses import replace

from qsync.sim.explore.scope import EVERYTHING_HEARD, Scope

_WRITTEN = "elect 1; create 1; call 1 edit"
"""The row differs from its first value, and all nodes know it."""

_REQUESTS = Scope(
    name="refusals",
    claim="a refusal waits for a quorum round and does not depend on pending data",
    prelude="elect 1; create 1",
    bounds={"asks": 2},
    alike=((2, 3),),
    ordered=True,
    slow_disk=False,
    records=False,
    whole=True,
    unheard=EVERYTHING_HEARD,
    reaches=frozenset({"refused", "refusal waits", "told committed"}),
    kills=frozenset({"refuses_by_head", "condition_ignored"}),
)

_REOPENED = replace(
    _REQUESTS,
    name="session-reopened",
    claim="a late copy of the request that opened a session does not open it again after it "
    "expired",
    prelude="elect 1; create 1; call 1 add 1",
    bounds={"calls": 1, "expiries": 1, "openings": 1},
    unheard=frozenset({"Heartbeat", "HeartbeatResponse"}),
    reaches=frozenset({"attached", "session_expired", "told committed"}),
    kills=frozenset({"session_opened_twice"}),
)

REQUESTS = (
    _REQUESTS,
    replace(
        _REQUESTS,
        name="doubts",
        claim="a retry gets a final refusal only when the log records it under the request's "
        "number",
        prelude=_WRITTEN,
        bounds={"doubts": 2, "resets": 1},
        reaches=frozenset({"recorded", "attached", "told committed"}),
        kills=frozenset({"records_nothing", "refusals_forgotten"}),
    ),
    replace(
        _REQUESTS,
        name="doubts-stale",
        claim="a recorded refusal is final only on a quorum: a leader that was replaced refuses "
        "nothing",
        prelude=f"{_WRITTEN}; only 2 3; elect 2; all",
        bounds={"doubts": 2, "resets": 1, "heartbeats": 1},
        alike=(),
        unheard=frozenset({"Heartbeat", "HeartbeatResponse"}),
        reaches=frozenset({"recorded", "attached", "told committed", "told cut"}),
        kills=frozenset({"records_alone"}),
    ),
    replace(
        _REQUESTS,
        name="session-retry-folded",
        claim="a request is still known after a restart when its entry is folded",
        prelude="elect 1; create 1; call 1 add; confirm 1; fold 1",
        bounds={"crashes": 1, "campaigns": 1, "calls": 1},
        crashing=frozenset({1}),
        unheard=frozenset({"Heartbeat", "HeartbeatResponse"}),
        reaches=frozenset({"crash", "elected", "told committed"}),
        kills=frozenset({"sessions_not_folded", "sessions_survive_a_cut", "folds_what_is_visible"}),
    ),
    _REOPENED,
    replace(
        _REOPENED,
        name="session-numbers",
        claim="a request number that its client has released never counts as new",
        bounds={"calls": 1, "nexts": 1, "campaigns": 1},
        kills=frozenset({"stale_taken_for_new"}),
    ),
    replace(
        _REQUESTS,
        name="settings",
        claim="a quorum below a majority is refused; a new quorum is in force from its entry on",
        bounds={"lowers": 1, "raises": 1, "campaigns": 1},
        unheard=frozenset({"Heartbeat", "HeartbeatResponse"}),
        reaches=frozenset({"config", "elected", "confirmed"}),
        kills=frozenset({"quorum_below_majority"}),
    ),
)

REQUESTS_LONG = (
    replace(
        _REOPENED,
        name="session-reopened-takeover",
        bounds={**_REOPENED.bounds, "campaigns": 1},
    ),
)
