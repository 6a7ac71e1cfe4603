"""Reads of many rows, in slices: each shows one index, though writes and folds go on meanwhile."""

from typing import TYPE_CHECKING, Final

from election.messages import Position
from qsync.data.digest import DigestScan
from qsync.data.reading import Query, Scan
from qsync.data.state import DataState
from qsync.errors import Rebuilding, WrongKey
from qsync.wire import limits, replies, verbs

if TYPE_CHECKING:
    from qsync.replica import Replica

SLICE_ROWS: Final = 400
"""Rows that are looked at in one go: less than a millisecond."""


def prepare(replica: "Replica") -> bool:
    """Do a part of what must be done before any scan; return false when nothing is left of it."""
    return replica.state.overlay.sort()


ScanRequest = verbs.SelectRequest | verbs.CountRequest | verbs.DigestRequest


class SlicedScan:
    """One select, count or digest. Its client gets nothing before it is complete.

    Between two slices its index must be pinned, or else it has to begin again.
    """

    def __init__(
        self, replica: "Replica", request: ScanRequest, place: Position, at: int | None
    ) -> None:
        """`place`: the last entry of what it shows. Raises what the data refuses."""
        self._replica = replica
        self._request = request
        self._place = place
        self._state: DataState = replica.state
        self._scan: Scan | DigestScan = _begin(self._state, request, at)
        self._index = int(self._state.visible) if at is None else at
        self._rewinds = self._state.rewinds
        self.pinned = False

    def read(self) -> bytes | None:
        """Read more rows; return the reply when there are no more. Raises Rebuilding, TooLarge."""
        try:
            scan = self._scan
            whole = scan.read(SLICE_ROWS)
            if not whole and (
                isinstance(scan, DigestScan) or scan.size <= limits.CLIENT_FRAME_BYTES_MAX
            ):
                return None
        except Rebuilding as error:
            # A row that is not as it was stored costs this node all of them.
            self._replica.lose(error.message)
            raise
        id = self._request.id
        if isinstance(scan, DigestScan):
            return replies.reply(id, self._index, int(self._state.folded), scan.found)
        if type(self._request) is verbs.CountRequest:
            return replies.counted(id, scan.total, read_from=self._place)
        return replies.rows(id, scan.rows, read_from=self._place)

    def pin(self) -> None:
        """Pin the index: nothing above it is folded from now on."""
        self._state.pins.pin(self._index)
        self.pinned = True

    def unpin(self) -> None:
        """Unpin the index: the scan is over, or its client does not read the answer."""
        self._state.pins.unpin(self._index)
        self.pinned = False

    def holds(self) -> bool:
        """Return whether its index still shows what the slices before showed. Raises Rebuilding."""
        return self._replica.state is self._state and self._state.rewinds == self._rewinds


def _begin(state: DataState, request: ScanRequest, at: int | None) -> Scan | DigestScan:
    if isinstance(request, verbs.DigestRequest):
        assert at is None, at
        return state.digest_scan(request.space)
    space, by, iterator, key = request.space, request.by, request.iterator, request.key
    if type(request) is verbs.CountRequest:
        return state.scan(Query(space, by, iterator, key), keeps=False, at=at, ops=request.ops)
    assert type(request) is verbs.SelectRequest
    after = request.after
    if after is not None and not isinstance(after, bytes):
        raise WrongKey("`after` is the encoded tuple to go on from")
    query = Query(space, by, iterator, key, request.limit, request.offset, after)
    return state.scan(query, keeps=True, at=at, ops=request.ops)
