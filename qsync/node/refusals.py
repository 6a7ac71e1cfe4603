"""What a node says about writes that it does not do, or of which it cannot say what became."""

from typing import Final

from qsync import errors
from qsync.core import superseding
from qsync.core.ready import Settled, TransactionFate
from qsync.node.tickets import AnyTicket, AskTicket, WriteTicket
from qsync.wire import verbs
from qsync.wire.errors import RETRY_AFTER
from qsync.wire.verbs import Verb

_OF_THE_NODE: Final = frozenset({Verb.PING, Verb.STATUS, Verb.LOST})
"""Questions without arguments that are about a node, not about what it has."""


def is_of_the_node(request: verbs.Request) -> bool:
    """Does a superseded node answer that? Its status, its events, its log as it is: yes."""
    if type(request) is verbs.PlainRequest:
        return request.verb in _OF_THE_NODE
    return isinstance(request, verbs.InfoRequest | verbs.LogRequest | verbs.TraceRequest)


def superseded(cluster: str) -> errors.Superseded:
    """Of everything else that is asked there."""
    return errors.Superseded(superseding.refusal(cluster))


def ended(ticket: AnyTicket, cluster: str) -> errors.QsyncError:
    """Of what waited there when it was superseded.

    Whether a write is in the log of the other cluster nobody can know here, and under its number
    nobody will say it there: sessions end with their cluster (membership.md M8 g).
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
        details={**details, errors.SUPERSEDED_BY: cluster},
    )


def late(ticket: AnyTicket) -> errors.QsyncError:
    """Of what was not decided, or not sure, when its time was over."""
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
    """The fate of an entry is not that of its request (protocol.md section 5).

    Under the same session and number another attempt may be, or come to be, in the log.
    """
    known = token_of(token)
    if not known:
        return errors.RolledBack(gone, details=details)
    details |= {**known, errors.CUT: True}
    return errors.OutcomeUnknown(f"{gone}; another attempt may be in the log", details=details)


def lost(token: tuple[bytes, int], details: dict[str, object]) -> errors.OutcomeUnknown:
    """An asynchronous entry was cut, and a replica that has not heard of it may show it."""
    return errors.OutcomeUnknown(
        f"asynchronous entry {details['index']} of term {details['term']} is not in the log any"
        " more; a node that is cut off may still show it",
        details={**details, **token_of(token)},
    )


def undone(settled: Settled, token: tuple[bytes, int], late: float | None) -> errors.QsyncError:
    """The entry did not stay. `late`: it waited so long that it was rolled back for that."""
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
    """The limbo has no room, and the request would not wait."""
    return errors.SyncQueueFull(
        f"the limbo is full (queue_entries_max {limit} or queue_bytes_max)",
        details={RETRY_AFTER: 0.1},
    )


def unfolded_full() -> errors.QsyncError:
    """Memory has no room, and the request would not wait."""
    return errors.Overloaded(
        "the rows that are not folded yet leave no room (store.unfolded_bytes_max)",
        details={RETRY_AFTER: 0.1},
    )


def no_room() -> errors.QsyncError:
    """The request waited for room, in the limbo or among the unfolded rows, and never got it."""
    return errors.Overloaded(
        "there was no room in time, and this attempt wrote nothing",
        details={RETRY_AFTER: 0.5},
    )


def unsure() -> errors.QsyncError:
    """A refusal that rests on data could not be made sure in time: nothing is said of the data."""
    return errors.Unavailable(
        "no quorum answered in time, so it could not be made sure why to refuse this",
        hint="this attempt wrote nothing; try again when a quorum is back",
    )


def refusals_full(limit: int) -> errors.QsyncError:
    """Too many refusals wait."""
    return errors.Overloaded(
        f"{limit} refusals wait until they are sure already (inflight_max)",
        details={RETRY_AFTER: 0.5},
    )


def parked_full(waiting: str, limit: str) -> errors.QsyncError:
    """Too many writers, or too much of them, wait for room."""
    return errors.Overloaded(
        f"{waiting} wait for room already ({limit})",
        details={RETRY_AFTER: 0.5},
    )


def unfinished(limit: int) -> errors.QsyncError:
    """Too much was begun and not ended, and this request was begun first."""
    return errors.Overloaded(
        f"requests that have not arrived whole take more than {limit} bytes"
        " (limits.unfinished_bytes_max)",
        hint="this one was the oldest of them; it was not done, and its connection stays",
        details={RETRY_AFTER: 0.5},
    )
