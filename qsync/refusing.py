"""Refusals that depend on data are answers like reads: what they wait for before they are sent.

protocol.md section 7, Reads: such a refusal waits for a quorum round, and never rests on pending
data. A leader that was replaced unnoticed would say "another tuple has the key" of one that
its successor deleted long ago; and an undecided insert, which may be rolled back, would be shown
by the refusal of another.
"""

from collections.abc import Sequence
from typing import NamedTuple

from election.messages import Position
from qsync import errors
from qsync.core.consistency import Consistency
from qsync.core.inputs import ReadAsked
from qsync.core.ready import Ticket
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.data.schema import Schema
from qsync.error_details import RECORDED
from qsync.replica import Replica

RESTS_ON_DATA = (
    errors.AccessDenied,
    errors.Conflict,
    errors.DuplicateKey,
    errors.SpaceExists,
    errors.NoSuchSpace,
    errors.NoSuchIndex,
)
"""Refusals for what is, or is not, in the spaces. The others say what is wrong with the request."""


class PendingRefusal(NamedTuple):
    """A refusal that may not be told yet.

    `error` is sent when a linearizable read would be answered. None: only pending data refuses the
    request; when everything up to `place` is decided it is executed again.
    """

    error: errors.QsyncError | None
    place: Position

    def read(self, ticket: Ticket) -> ReadAsked:
        """The read that waits for the same."""
        if self.error is not None:
            return ReadAsked(ticket=ticket, consistency=Consistency.LINEARIZABLE)
        term, index = self.place
        return ReadAsked(ticket=ticket, consistency=Consistency.AT_LEAST, term=term, index=index)


def waiting(replica: Replica, request: Request, error: errors.QsyncError) -> PendingRefusal | None:
    """Return what the refusal of a request waits for; None if it may be sent at once."""
    if not isinstance(error, RESTS_ON_DATA) or replica.machine.leader is None:
        return None
    if error.details.get(RECORDED):
        return None  # the request was refused before, in an entry that is confirmed and trimmed
    replicated_log = replica.machine.replicated_log
    last = replicated_log.log.position
    decided = replica.refusal(request) if last.index > replicated_log.visible else error
    if decided is None:
        return PendingRefusal(None, last)
    shape = replica.state.schemas.shown
    # Who lacks a right waits for any space alike: how long it takes tells nothing of what is there.
    needs_quorum = isinstance(decided, errors.AccessDenied) or _needs_quorum(shape, request)
    return PendingRefusal(decided, last) if request.sync is True or needs_quorum else None


def _needs_quorum(shape: Schema, request: Request) -> bool:
    """Return whether a quorum is needed: not for refusals about asynchronous spaces only."""
    read = [each[1] for each in request.reads if len(each) > 1 and each[0] != "p"]
    return any(_is_sync(shape, ref) for ref in [*read, *map(_named, request.ops)])


def _named(op: Sequence[object]) -> object:
    """The space that an operation on rows names; None for any other operation."""
    known = len(op) > 1 and isinstance(op[0], int) and op[0] in _OF_ROWS
    return op[1] if known else None


def _is_sync(shape: Schema, ref: object) -> bool:
    found = shape.find(ref) if isinstance(ref, str | int) else None
    return found is None or found.sync


_OF_ROWS = frozenset(
    map(
        int,
        (
            Op.INSERT,
            Op.REPLACE,
            Op.UPDATE,
            Op.UPSERT,
            Op.DELETE,
            Op.TRUNCATE,
            Op.REQUIRE_EQUAL,
            Op.REQUIRE_EXISTENCE,
        ),
    )
)
