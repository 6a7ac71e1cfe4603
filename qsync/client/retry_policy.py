"""The decision after an error or a lost connection: another attempt, or an error to raise."""

from collections.abc import Mapping
from typing import Final

from qsync.client import failed_dials, other_cluster
from qsync.client.closed import ClientClosed
from qsync.client.link import ClientLink, ConnectionPhase
from qsync.client.numbering import Token, born
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.route import Route
from qsync.core.conclusions import AttemptResult, Conclusion, conclude
from qsync.error_details import BY_LEADER, COMPACTED, CUT, OF_CLUSTER, RECORDED, SUPERSEDED_BY
from qsync.errors import (
    AccessDenied,
    ForeignCluster,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    QsyncError,
    QuorumTimeout,
    ReadOnly,
    Rebuilding,
    RolledBack,
    SessionExpired,
    SyncQueueFull,
    Unanswered,
    Unavailable,
    WrongVersion,
)
from qsync.wire import replies
from qsync.wire.verbs import Request, WriteRequest

WITHDRAWN: Final = Unavailable("its caller went away before it was answered")


def judge(ask: PendingRequest, error: QsyncError, *, direct: bool) -> QsyncError | None:
    """Return the error to end the request with, or None to try again."""
    heard = _heard(error)
    if ask.kind is RetryKind.WRITE and heard is AttemptResult.OPEN:
        ask.doubted = True
    if ask.kind in (RetryKind.ONCE, RetryKind.STATUS) or direct:
        return error
    if ask.kind is RetryKind.WRITE:
        again = conclude(heard, doubted=ask.doubted) is Conclusion.AGAIN
    else:
        again = heard is AttemptResult.NOT_NOW
        again = again or (ask.kind is RetryKind.OPEN and error.outcome is Outcome.UNKNOWN)
    return None if again else error


def check(ask: PendingRequest, answer: list[object] | QsyncError) -> None:
    """Check that the answer to a write, or to the opening of a session, can be read.

    Raises ProtocolError: it is like no answer, which leaves the attempt in doubt.
    """
    if isinstance(answer, QsyncError):
        return
    if ask.kind is RetryKind.WRITE:
        replies.read_committed(answer)
    elif ask.kind is RetryKind.OPEN:
        born(answer)


def for_caller(ask: PendingRequest, error: QsyncError) -> QsyncError:
    """Return the error for the caller: for a write in doubt, only a fate is definite.

    That goes for what a node said as well as for what was found here: that nobody answered,
    that there is no leader, that the user may not come in. All of that is about the last attempt.
    An unknown outcome has the token, unless only another cluster can tell, which knows no such one.
    """
    if ask.kind is not RetryKind.WRITE:
        return error
    if isinstance(error, OutcomeUnknown) and SUPERSEDED_BY not in error.details:
        error.details.update(_token(ask.request))
    if isinstance(error, OutcomeUnknown | SessionExpired):
        error.outcome = Outcome.UNKNOWN  # whatever a node says
        return error
    if not ask.doubted:
        return error
    if conclude(_heard(error), doubted=True) is Conclusion.DEFINITE:
        return error
    why = f"an attempt is in doubt, and the last one met {error.code}: {error.message}"
    return unknown(ask, why)


def unopened(error: QsyncError) -> QsyncError:
    """Return the error for a write whose session met that error: the write was not sent."""
    if error.outcome is Outcome.ROLLED_BACK:
        return error
    return Unanswered(f"its session could not be opened, so it was not sent: {error.message}")


def shuts_out(error: QsyncError, link: ClientLink, route: Route) -> bool:
    """Return whether no other node will say anything else than this refusal.

    A node that is behind, or on a new disk, does not know yet who may log in. The leader does.
    Nodes that do not answer may know it, too. Where another cluster answers at every address that
    is known, as after a recovery or a restore, no node of the former one will.
    """
    if isinstance(error, ForeignCluster):
        return bool(error.details.get(OF_CLUSTER)) and not route.alternatives
    if not isinstance(error, AccessDenied):
        return isinstance(error, WrongVersion)
    return (
        bool(error.details.get(BY_LEADER))
        or link.phase is ConnectionPhase.READY
        or link.address == route.hinted
        or route.all_refuse
    )


def name_refuser(error: QsyncError, link: ClientLink, *, hinted: str | None) -> None:
    """Say that it is the leader that refuses, where another node has sent us there.

    That node may have let us in: by its socket everybody is admin, at its own address nobody.
    And where it is of another cluster, what to do then.
    """
    if isinstance(error, ForeignCluster):
        error.hint = other_cluster.CONNECT_ANEW
    elif link.address == hinted:
        error.name_leader(link.address)
        who = f"{link.name} at {link.address}" if link.name else link.address
        error.message = f"the node named as leader, {who}, refused: {error.message}"


def _heard(error: QsyncError) -> AttemptResult:
    said = isinstance(error, OutcomeUnknown | SessionExpired)
    if error.outcome is Outcome.UNKNOWN and not said:
        return AttemptResult.OPEN  # of a later release, and what it says of the outcome counts
    if error.outcome is Outcome.COMMITTED:
        return AttemptResult.REFUSED  # the same: it is not asked again
    if error.details.get(RECORDED):
        return AttemptResult.RECORDED
    match error:
        case SyncQueueFull():
            return AttemptResult.REFUSED  # by the word of the request: it would not wait for room
        case NotLeader() | ReadOnly() | Unavailable() | Overloaded() | Rebuilding():
            return AttemptResult.NOT_NOW
        case OutcomeUnknown() if is_final(error):
            return AttemptResult.FORGOTTEN
        case OutcomeUnknown():
            return AttemptResult.CUT if error.details.get(CUT) else AttemptResult.OPEN
        case SessionExpired():
            return AttemptResult.FORGOTTEN
        case RolledBack() | QuorumTimeout():
            return AttemptResult.ROLLED_BACK
        case _:
            return AttemptResult.REFUSED


def is_repeated(error: QsyncError) -> bool:
    """Return whether a call that meets that error is repeated until its time is over."""
    return _heard(error) is AttemptResult.NOT_NOW


def stays(error: QsyncError) -> bool:
    """Return whether the same node is to be asked again."""
    return isinstance(error, OutcomeUnknown) and not is_final(error)


def is_final(error: OutcomeUnknown) -> bool:
    """Return whether no node can ever say more: the record was trimmed, or its cluster ended."""
    return bool(error.details.get(COMPACTED) or error.details.get(SUPERSEDED_BY))


def left_alone(ask: PendingRequest, *, direct: bool) -> QsyncError | None:
    """Return the error after a connection broke before the answer, or None to try again."""
    match ask.kind:
        case RetryKind.WRITE:
            ask.doubted = True
            return unknown(ask, "the connection broke before the answer") if direct else None
        case RetryKind.ONCE:
            return unknown(ask, "the connection broke before the answer")
        case RetryKind.STATUS:
            return Unavailable("the connection broke before the answer")
        case RetryKind.READ | RetryKind.OPEN:
            return Unavailable("the connection broke before the answer") if direct else None


def closed(ask: PendingRequest, *, inflight: bool) -> QsyncError:
    """Return the error for a request that waited when its client was closed."""
    if ask.kind in (RetryKind.WRITE, RetryKind.ONCE) and (inflight or ask.doubted):
        return unknown(ask, "the client was closed before the answer")
    return ClientClosed("the client was closed before the answer")


def overdue(
    ask: PendingRequest, met: Mapping[str, str], *, inflight: bool, reached: bool
) -> QsyncError:
    """Return the error for a passed deadline. `reached`: a node is connected."""
    if ask.settled:
        return WITHDRAWN
    seconds = ask.deadline - ask.asked_at
    if ask.kind in (RetryKind.WRITE, RetryKind.ONCE) and (inflight or ask.doubted):
        last = "" if ask.refusal is None else f"; the last attempt met {ask.refusal.code}"
        last += _of_leader(ask.refusal, met)
        other = "" if reached else other_cluster.where(met)
        last = f"; {other}, which knows none of our tokens" if other else last
        return unknown(ask, f"no definite answer within {seconds:.3g} s{last}")
    if ask.refusal is not None and _heard(ask.refusal) is AttemptResult.CUT:
        return RolledBack(ask.refusal.message)  # it was the only attempt
    if isinstance(ask.refusal, NotLeader):
        ask.refusal.message += _of_leader(ask.refusal, met)
    return ask.refusal or unavailable(met, seconds=seconds, reached=reached)


def _of_leader(refusal: QsyncError | None, met: Mapping[str, str]) -> str:
    """Return what went wrong at the leader that a node named, in words; empty if nothing did."""
    if not isinstance(refusal, NotLeader) or refusal.leader is None:
        return ""
    why = met.get(refusal.leader)
    return "" if why is None else f"; at {refusal.leader}, where the leader is: {why}"


def unavailable(
    met: Mapping[str, str], *, seconds: float | None = None, reached: bool = False
) -> Unavailable:
    """Return the error for a request that no node did; `met`: what happened at each address."""
    told = "; ".join(f"{address}: {why}" for address, why in met.items())
    why = "no node could do it" if reached else "no node answered"
    within = "" if seconds is None else f" within {seconds:g} s"
    kind = Unanswered if reached else Unavailable
    return kind(
        f"{why}{within}" + (f" ({told})" if told else ""),
        details={"nodes": dict(met)},
        hint="" if reached else failed_dials.hint(met),
    )


def unknown(ask: PendingRequest, why: str) -> OutcomeUnknown:
    """Return the error for an unknown outcome; it has the token of a write."""
    details = _token(ask.request)
    if details:
        return OutcomeUnknown(why, details=details)
    return OutcomeUnknown(why, hint="ask for the status to see whether it was done")


def _token(request: Request) -> dict[str, object]:
    """Return the details with the token of a write."""
    if isinstance(request, WriteRequest):
        return {"token": str(Token(request.session, request.seq))}
    return {}


def unresolved(error: QsyncError | None) -> bool:
    """Return whether a write with that outcome is worth keeping for `resolve`."""
    return isinstance(error, OutcomeUnknown) and not is_final(error)


def read_nodes(answer: list[object]) -> tuple[list[str], int, str | None]:
    """Return all addresses, the leader's id (0: none) and its address, from a STATUS."""
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
