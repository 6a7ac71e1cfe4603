"""A cache of the requests that the user of a connection was found to have the right to make.

Rights are never changed in place: each schema has its own object, so that very object stands for
one state of users, grants, roles and names of spaces. With another one all is looked up again.
"""

from typing import Final, final

from qsync.data.grants import Rights
from qsync.node.data_operations import are_of_data
from qsync.wire import verbs

SPACES_MAX: Final = 64
"""Of one connection; reads of more spaces are looked up each time."""


@final
class AllowedQuestions:
    """The cache of one connection. It holds for one user and one set of rights; no refusals."""

    __slots__ = ("_reads", "_rights", "_user", "_writes")

    def __init__(self) -> None:
        self._rights: Rights | None = None
        self._user = ""
        self._reads: set[str | int] = set()
        self._writes = False
        """To ask for any: each is judged by its operations where it is executed."""

    def covers(self, rights: Rights, user: str, request: verbs.Request) -> bool:
        """Return whether the request was allowed before, by the same rights.

        False for writes of which the audit trail has lines.
        """
        if rights is not self._rights or user != self._user:
            self._rights, self._user, self._writes = rights, user, False
            self._reads.clear()
            return False
        if type(request) is verbs.GetRequest:  # of most requests, as few calls as possible
            return request.space in self._reads
        if type(request) is verbs.WriteRequest:
            return self._writes and are_of_data(request.ops)
        space = _space_read(request)
        return space is not None and space in self._reads

    def add(self, request: verbs.Request) -> None:
        """Add a request that the rights of the last `covers` allow."""
        if type(request) is verbs.WriteRequest:
            self._writes = True
            return
        space = _space_read(request)
        if space is not None and len(self._reads) < SPACES_MAX:
            self._reads.add(space)


def _space_read(request: verbs.Request) -> str | int | None:
    """Return the one space that the request reads; None for requests that do anything else."""
    if type(request) is verbs.GetRequest:
        return request.space
    if type(request) is verbs.SelectRequest:
        return None if request.ops else request.space
    if type(request) is verbs.CountRequest:
        return None if request.ops else request.space
    return None
