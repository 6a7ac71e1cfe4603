"""Whether a replica takes a request now: it may write, the request is new, and well founded."""

from collections.abc import Sequence
from dataclasses import replace

from qsync import errors
from qsync.core.logindex import LogIndex
from qsync.core.machine import Machine
from qsync.core.writable import ReadOnlyReason
from qsync.data.operation_kinds import ReadKind
from qsync.data.request import KnownRequest, Once, Request
from qsync.error_details import COMPACTED, RECORDED


def check_writable(machine: Machine) -> None:
    """Raises NotLeader or ReadOnly, with every reason, where this node may not write."""
    reasons = machine.reasons()
    if not reasons:
        return
    details: dict[str, object] = {
        "reasons": [[r.why.value, r.text, r.lifts] for r in reasons],
        "leader_id": machine.raft.leader,
        "term": machine.raft.term,
        "state": "leader" if machine.leader else machine.raft.role.value,
        "queue_owner_id": machine.replicated_log.limbo.owner.owner,
    }
    text = "; ".join(reason.text for reason in reasons)
    if all(reason.why is ReadOnlyReason.ELECTION for reason in reasons):
        raise errors.NotLeader(text, details=details)
    raise errors.ReadOnly(text, hint=reasons[0].lifts, details=details)


def grounded(log: LogIndex, request: Request) -> Request:
    """The request without the places of the log it was read from, which must be in this log.

    An asynchronous tail may be cut off after a client read it; at its indexes there are other
    entries now, and a check by index alone would not look at them.
    """
    reads: list[Sequence[object]] = []
    for read in request.reads:
        match read:
            case [ReadKind.LOG_POSITION, int(index), int(term)]:
                if index < log.start.index or not log.has(index, term):
                    raise errors.Conflict(
                        f"the transaction read what is not in the log here, {index} of term"
                        f" {term}: it was cut off, has not arrived, or was trimmed",
                        hint="run it again",
                    )
            case _:
                reads.append(read)
    return replace(request, reads=reads)


def not_new(seen: Once) -> errors.QsyncError:
    """Return the answer to a request that is not new and has no known outcome."""
    if seen is Once.STALE:
        return errors.SessionExpired(
            "the request's number is below those the client said it knows",
            hint="numbers grow within a session; `low` is the smallest number still open",
        )
    return errors.SessionExpired(
        "the session is not known here: it expired or was never opened",
        hint="open a new session; read the data to find the outcome of the old request",
    )


def trimmed(log: LogIndex, known: KnownRequest) -> errors.QsyncError:
    """Return the answer to a request whose entry is not in the log any more.

    Its session says where it was decided, and whether it was rolled back or refused, and by which
    error; the words of that stood in the entry, and so did the results of what was done.
    """
    where = f"entry {known.index} of term {known.term}"
    details: dict[str, object] = {"index": known.index, "term": known.term}
    if known.rolled_back:
        return errors.RolledBack(f"{where} was rolled back", details=details)
    if known.refused:
        return errors.error_of(
            known.refused,
            f"the request was refused in {where}; why exactly stood in the log, which was trimmed",
            details=details | {RECORDED: True, COMPACTED: True},
        )
    return errors.OutcomeUnknown(
        f"the request was decided in {where}, and the log begins behind {log.start.index}",
        hint="it was done, or refused for good: look at the data",
        details=details | {COMPACTED: True},
    )
