"""What an error or a lost connection means for an ask: try again, or tell the caller, and what."""

from collections.abc import Mapping

from qsync.client.asks import Ask, Kind
from qsync.client.numbering import Token
from qsync.errors import (
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    QsyncError,
    QuorumTimeout,
    ReadOnly,
    RolledBack,
    SyncQueueFull,
    Unavailable,
)
from qsync.wire.verbs import Write

_REFUSALS = (NotLeader, ReadOnly, Unavailable, Overloaded)
"""Nothing was done; another node or another moment may do it."""
_DECIDED = (RolledBack, QuorumTimeout)
"""The fate of this very session and number, whichever attempt it was."""


def judge(ask: Ask, error: QsyncError, *, replica: int, direct: bool) -> QsyncError | None:
    """The error to tell the caller, or None to try again."""
    if ask.kind in (Kind.ONCE, Kind.STATUS) or direct:
        return error
    if isinstance(error, SyncQueueFull):
        if ask.kind is Kind.WRITE and ask.doubts:
            return unknown(ask, f"an attempt was lost, the next one was refused: {error}")
        return error
    if isinstance(error, _REFUSALS):
        return None
    if ask.kind is Kind.OPEN:
        return None if error.outcome is Outcome.UNKNOWN else error
    if ask.kind is Kind.WRITE and isinstance(error, OutcomeUnknown):
        ask.doubts.add(0)
        return None
    if ask.kind is Kind.WRITE and replica in ask.doubts and not isinstance(error, _DECIDED):
        # An attempt whose connection broke may still lie unread on that very node. The refusal is
        # of this attempt only, so it proves nothing about the other.
        return unknown(ask, f"an attempt was lost, the next one was refused: {error}")
    return error


def stays(error: QsyncError) -> bool:
    """Is the same node to be asked again?"""
    return isinstance(error, OutcomeUnknown)


def left_alone(ask: Ask, *, replica: int, direct: bool) -> QsyncError | None:
    """The connection broke before the answer: the error to tell, or None to try again."""
    match ask.kind:
        case Kind.WRITE:
            ask.doubts.add(replica)
            return unknown(ask, "the connection broke before the answer") if direct else None
        case Kind.ONCE:
            return unknown(ask, "the connection broke before the answer")
        case Kind.STATUS:
            return Unavailable("the connection broke before the answer")
        case Kind.READ | Kind.OPEN:
            return Unavailable("the connection broke before the answer") if direct else None


def overdue(ask: Ask, met: Mapping[str, str], *, inflight: bool) -> QsyncError:
    """The deadline has passed."""
    seconds = ask.deadline - ask.asked_at
    if ask.kind in (Kind.WRITE, Kind.ONCE) and (inflight or ask.doubts):
        return unknown(ask, f"no definite answer within {seconds:g} s")
    return ask.refusal or unavailable(met, seconds=seconds)


def unavailable(met: Mapping[str, str], *, seconds: float | None = None) -> Unavailable:
    """Nobody answered; `met` says what happened at each address."""
    told = "; ".join(f"{address}: {why}" for address, why in met.items())
    within = "" if seconds is None else f" within {seconds:g} s"
    return Unavailable(
        f"no node answered{within}" + (f" ({told})" if told else ""),
        details={"nodes": dict(met)},
    )


def unknown(ask: Ask, why: str) -> OutcomeUnknown:
    """Nobody can say what became of it; the token of a write is kept in it."""
    request = ask.request
    if isinstance(request, Write):
        token = str(Token(request.session, request.seq))
        return OutcomeUnknown(why, details={"token": token})
    return OutcomeUnknown(why, hint="ask for the status to see whether it was done")


def unresolved(error: QsyncError) -> bool:
    """Is it worth keeping the write for `resolve`?"""
    return isinstance(error, OutcomeUnknown)


def read_nodes(answer: list[object]) -> tuple[list[str], int, str | None]:
    """Addresses of all nodes, the leader's id (0: none) and its address, from a STATUS."""
    view = answer[0] if answer and isinstance(answer[0], dict) else {}
    nodes, leader, address = view.get("nodes"), view.get("leader"), view.get("leader_address")
    found = [
        node[2]
        for node in (nodes if isinstance(nodes, list) else [])
        if isinstance(node, list) and len(node) > 2 and isinstance(node[2], str)  # noqa: PLR2004 - id, name, address
    ]
    return (
        found,
        leader if isinstance(leader, int) else 0,
        address if isinstance(address, str) else None,
    )
