"""A cluster of the model at one moment: nodes, messages in flight, answers to clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.model.logs import Log

FOLLOWER, CANDIDATE, LEADER = "F", "C", "L"
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much may happen in a scope: names are those of the steps they limit.

    `voters`: how many of the `nodes` the founding entry names; the others are empty. `log`: no log
    grows beyond this. `led`: it begins with node 0 as leader of term 1, its PROMOTE confirmed and
    on every voter. `slow`: a write becomes durable in a step of its own. `records`: CONFIRM is
    written as an entry. `late`: a follower may be told an entry and not that it is confirmed.
    """

    nodes: int = 3
    voters: int = 3
    terms: int = 2
    log: int = 4
    writes: int = 0
    asyncs: int = 0
    retries: int = 0
    rollbacks: int = 0
    crashes: int = 0
    wipes: int = 0
    changes: int = 0
    reads: int = 0
    led: bool = True
    slow: bool = False
    records: bool = False
    late: bool = True


class Used(NamedTuple):
    """How much of the bounds is used up."""

    writes: int = 0
    asyncs: int = 0
    retries: int = 0
    rollbacks: int = 0
    crashes: int = 0
    wipes: int = 0
    changes: int = 0
    reads: int = 0


class Node(NamedTuple):
    """One node. Its directory keeps term, vote, the first `durable` entries, and who it is.

    `life`: how many directories it had before this one; (node, life) is the pair of M1 d, and a bit
    `life * nodes + node` in every set of voters. `votes`: who told a candidate its vote, as bits.
    `acks`: by pair, up to where it told the leader of this term that it is durable. `recruit`: it
    lost its disk and is to be repaired in place, which no rule allows.
    """

    term: int
    vote: int
    role: str
    log: Log
    confirmed: int
    durable: int
    life: int = 0
    votes: int = 0
    acks: tuple[int, ...] = ()
    recruit: bool = False


class Sent(NamedTuple):
    """What the leader of a term sent: any beginning of it may arrive anywhere, ever after.

    `confirmed` rides on it. So messages are late, lost, doubled and out of order without more ado.
    """

    log: Log
    confirmed: int


class Read(NamedTuple):
    """A read that somebody waits for.

    `floor`: what was confirmed anywhere when it was asked. `place`: what the leader noted.
    `heard`: who answered the leader's round, as bits; -1 when the place is known at `node`.
    """

    node: int
    leader: int
    term: int
    floor: Log
    place: Log
    heard: int


class State(NamedTuple):
    """All of it. `decided`: the longest log that was ever confirmed. `told`, `refused`: requests

    (a bit each) whose clients heard "committed", or "rolled back".
    """

    nodes: tuple[Node, ...]
    sent: tuple[Sent | None, ...]
    decided: Log
    told: int = 0
    refused: int = 0
    used: Used = Used()
    reads: tuple[Read, ...] = ()


class Step(NamedTuple):
    """Something that may happen next. `broken`: what must never be, if it is."""

    what: str
    state: State
    broken: str = ""


def put(state: State, number: int, node: Node) -> tuple[Node, ...]:
    """The nodes, one of them changed."""
    return (*state.nodes[:number], node, *state.nodes[number + 1 :])
