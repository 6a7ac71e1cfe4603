"""The errors for writes that a node refuses, or whose outcome it does not know."""

from typing import Final

from qsync import errors
from qsync.core import superseding
from qsync.core.ready import Settled, TransactionFate
from qsync.error_details import CUT, RETRY_AFTER, SUPERSEDED_BY
from qsync.node.tickets import AnyTicket, AskTicket, WriteTicket
from qsync.wire import verbs
from qsync.wire.verbs import Verb

_OF_THE_NODE: Final = frozenset({Verb.PING, Verb.STATUS, Verb.LOST})
"""Questions without arguments that are about a node, not about what it has."""


def is_of_the_node(request: verbs.Request) -> bool:
    """Return whether a superseded node answers the request: status, events and log as stored."""
    if type(request) is verbs.PlainRequest:
        return request.verb in _OF_THE_NODE
    return isinstance(request, verbs.InfoRequest | verbs.LogRequest | verbs.TraceRequest)


def superseded(cluster: str) -> errors.Superseded:
    """The error for all other requests at a superseded node."""
    return errors.Superseded(superseding.refusal(cluster))


def ended(ticket: AnyTicket, cluster: str) -> errors.QsyncError:
    """The error for a request that waited when the node was superseded.

    Whether a write is in the log of the other cluster is unknown here, and under its number
    it stays unknown there too: sessions end with their cluster (membership.md M8 g).
    """
    if type(ticket) is WriteTicket:
        done = ticket.submitted
        what = f"entry {done.index} of term {done.term}"
        details: dict[str, object] = {"term": done.term, "index": done.index}
    elif type(ticket) is AskTicket and ticket.write and ticket.late is None:
        what, details = "what was asked for", {}
    else:
        return superseded(cluster)
    return errors.OutcomeUnknown(
        f"this node is superseded, and its history goes on in cluster {cluster}: {what} may be "
        "in that cluster, or lost",
        hint="only the data of that cluster can tell: read there, and write it again if it lacks; "
        "do not repeat it under the same token, which that cluster does not know",
        details={**details, SUPERSEDED_BY: cluster},
    )


def late(ticket: AnyTicket) -> errors.QsyncError:
    """The error for a request that was not decided, or not certain, at its deadline."""
    if type(ticket) is WriteTicket:
        return errors.OutcomeUnknown(
            "the quorum did not decide in time", details=token_of(ticket.token)
        )
    if type(ticket) is AskTicket and ticket.late is not None:
        return ticket.late
    if type(ticket) is AskTicket and ticket.write:
        return errors.OutcomeUnknown(
            "it is not done yet and goes on in the background",
            hint="`qsync status` shows how far it is",
        )
    return errors.Unanswered(
        "no quorum answered in time, so the read could not be made sure",
        hint="read with consistency local, or wait until a quorum is back",
    )


def token_of(token: tuple[bytes, int]) -> dict[str, object]:
    """Details with session and number, if the request has them."""
    session, seq = token
    return {"token": f"{session.hex()}:{seq}"} if session else {}


def cut(
    gone: str, token: tuple[bytes, int], details: dict[str, object]
) -> errors.RolledBack | errors.OutcomeUnknown:
    """The error for a request whose entry was cut. Its own outcome is open (protocol.md section 5).

    Under the same session and number another attempt may be in the log, now or later.
    """
    known = token_of(token)
    if not known:
        return errors.RolledBack(gone, details=details)
    details |= {**known, CUT: True}
    return errors.OutcomeUnknown(f"{gone}; another attempt may be in the log", details=details)


def lost(token: tuple[bytes, int], details: dict[str, object]) -> errors.OutcomeUnknown:
    """The error for an asynchronous entry that was cut; some replica may still show it."""
    return errors.OutcomeUnknown(
        f"asynchronous entry {details['index']} of term {details['term']} is not in the log any"
        " more; a node that is cut off may still show it",
        details={**details, **token_of(token)},
    )


def undone(settled: Settled, token: tuple[bytes, int], late: float | None) -> errors.QsyncError:
    """The error for a rolled-back entry. `late`: the rollback came because it waited too long."""
    index, term = settled.index, settled.term
    details: dict[str, object] = {"term": term, "index": index}
    if settled.verdict is TransactionFate.LOST:
        return lost(token, details)
    if settled.verdict is TransactionFate.CUT:
        gone = f"entry {index} of term {term} was cut off and cannot come back"
        return cut(gone, token, details)
    if late is not None:
        return errors.QuorumTimeout(
            f"no quorum within {late:.3f} s; the transaction was rolled back for certain",
            details=details,
        )
    return errors.RolledBack(f"entry {index} of term {term} was rolled back", details=details)


def queue_full(limit: int) -> errors.QsyncError:
    """The error for a request that would not wait while the limbo is full."""
    return errors.SyncQueueFull(
        f"the limbo is full (queue_entries_max {limit} or queue_bytes_max)",
        details={RETRY_AFTER: 0.1},
    )


def unfolded_full() -> errors.QsyncError:
    """The error for a request that would not wait while memory is full."""
    return errors.Overloaded(
        "the rows that are not folded yet leave no room (store.unfolded_bytes_max)",
        details={RETRY_AFTER: 0.1},
    )


def no_room() -> errors.QsyncError:
    """The error for a request that waited for room until its deadline."""
    return errors.Overloaded(
        "there was no room in time, and this attempt wrote nothing",
        details={RETRY_AFTER: 0.5},
    )


def unsure() -> errors.QsyncError:
    """The error in place of a refusal that could not be confirmed in time; it shows no data."""
    return errors.Unavailable(
        "no quorum answered in time, so it could not be made sure why to refuse this",
        hint="this attempt wrote nothing; try again when a quorum is back",
    )


def refusals_full(limit: int) -> errors.QsyncError:
    """The error when too many refusals wait for their confirmation."""
    return errors.Overloaded(
        f"{limit} refusals wait until they are sure already (inflight_max)",
        details={RETRY_AFTER: 0.5},
    )


def parked_full(waiting: str, limit: str) -> errors.QsyncError:
    """The error when too many writers, or too many bytes of them, wait for room."""
    return errors.Overloaded(
        f"{waiting} wait for room already ({limit})",
        details={RETRY_AFTER: 0.5},
    )


def unfinished(limit: int) -> errors.QsyncError:
    """The error for the oldest unfinished request, when unfinished ones take too much."""
    return errors.Overloaded(
        f"requests that have not arrived whole take more than {limit} bytes"
        " (limits.unfinished_bytes_max)",
        hint="this one was the oldest of them; it was not done, and its connection stays",
        details={RETRY_AFTER: 0.5},
    )
