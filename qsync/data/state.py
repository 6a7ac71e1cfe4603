"""The state of the data as one object: execute, follow the log, fold, read. Pure."""

from collections.abc import Sequence

from election.messages import Index, Position
from qsync.data import body, conflicts, execute, needs, reading, schema, telling
from qsync.data.digest import DigestScan
from qsync.data.draft import EffectDraft
from qsync.data.history import UnfoldedHistory
from qsync.data.overlay import Backing, OverlayLimits, VersionView
from qsync.data.reading import Query, Scan
from qsync.data.request import ExecutedTransaction, Limits, Request
from qsync.data.schema import Schema, SpaceDefinition
from qsync.data.session_holders import SessionHolders
from qsync.errors import Conflict, QsyncError

Operations = Sequence[Sequence[object]]


class DataState(UnfoldedHistory):
    """A history that can also execute requests against its head and answer reads.

    Reads see the visible state; `head=True` shows pending data too (for tests), and `at` a past
    index that was pinned (`pins.pin(visible)`), or is above the folded one.
    """

    def __init__(
        self,
        backing: Backing,
        *,
        folded: Index,
        limits: Limits | None = None,
        memory: OverlayLimits | None = None,
        holders: SessionHolders | None = None,
    ) -> None:
        super().__init__(backing, folded=folded, memory=memory)
        self.limits = limits or Limits()
        self.holders = holders or SessionHolders()

    def anew(self, folded: Index) -> "DataState":
        """Return the same over a store with other rows, or none: their log is to be replayed."""
        return DataState(
            self.backing,
            folded=folded,
            limits=self.limits,
            memory=self.overlay.limits,
            holders=self.holders,
        )

    def execute(
        self, request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        """Turn a request into the effects it has on the head state. Changes no row and no session.

        `at`: the place that it will have in the log; what is born there is named after it.
        `visible`: on what readers see, to know whether a refusal rests on pending data.
        """
        upto = self.visible if visible else None
        view = VersionView(self.overlay, self.backing, upto)
        shape = self.schemas.shown if visible else self.schemas.head
        shown = self.schemas.shown
        if shape.rights is not None or shown.rights is not None:
            needs.check(request, shown, shape, view=view)
        if request.reads:
            conflicts.validate(
                request.reads,
                request.snapshot,
                shape=shape,
                overlay=self.overlay,
                footprints=self.footprints,
                view=view,
                upto=upto,
                most=self.limits.validated_max,
            )
        known, limits = self.sessions.head, self.limits
        try:
            executed = execute.execute(request, view, shape, known, limits, at=at)
        except QsyncError as error:
            told = telling.of_operations(error, request.user, request.ops, shape)
            if told is error:
                raise
            raise told from None
        if executed.changes and request.user:
            self.holders.open(request.user, executed.changes, known=known, limits=limits)
        return executed

    def refuse(self, request: Request, error: QsyncError) -> ExecutedTransaction:
        """The entry that records the refusal of a request under its number."""
        return execute.refuse(request, error, self.sessions.head, self.limits)

    def read_refusal(self, text: bytes, user: str | None = None) -> QsyncError | None:
        """Return the refusal that a body records, as the user may see it; None if it records none.

        It may be that of another's request: see `read_results`.
        """
        error = body.refusal(text)
        return error and telling.of_record(error, user, self.schemas.shown)

    def read_results(self, text: bytes, user: str | None = None) -> list[bytes | None]:
        """Return what the operations of a transaction returned, from its body.

        None of it for a user without rights on what was written: it has the token of another's
        request, and that tells the outcome only.
        """
        shown = self.schemas.shown
        if user is not None and shown.rights is not None:
            ((_, _, _, effects, *_),) = body.decode_all([text])
            if not needs.may_see(user, (space for space, _, _ in effects), shown):
                return []
        return body.results(text)

    def preview(
        self,
        ops: Operations,
        space: object,
        index: object,
        key: object,
        *,
        at: int | None = None,
    ) -> bytes | None:
        """The tuple that a transaction would see after these operations of its own."""
        draft, shape = self._drafted(ops, at)
        return reading.get(draft, shape, space, index, key)

    def get(
        self,
        space: object,
        index: object,
        key: object,
        *,
        at: int | None = None,
        head: bool = False,
    ) -> bytes | None:
        """The tuple that a whole key of a unique index names."""
        reader, shape = self._reader(at, head=head)
        return reading.get(reader, shape, space, index, key)

    def select(
        self,
        space: object,
        index: object = None,
        iterator: object = "eq",
        key: object = (),
        *,
        limit: int | None = None,
        offset: int = 0,
        after: bytes | None = None,
        at: int | None = None,
        head: bool = False,
        ops: Operations = (),
    ) -> list[bytes]:
        """Tuples in index order; iterators eq, req, gt, ge, lt, le, all; a key may be partial.

        `ops`: what the asking transaction would write, seen by this read.
        """
        reader, shape = self._drafted(ops, at) if ops else self._reader(at, head=head)
        query = Query(space, index, iterator, key, limit, offset, after)
        return reading.select(reader, shape, query)

    def count(
        self,
        space: object,
        index: object = None,
        iterator: object = "all",
        key: object = (),
        *,
        at: int | None = None,
        head: bool = False,
        ops: Operations = (),
    ) -> int:
        """Return how many tuples an iterator covers; `ops` as for `select`."""
        reader, shape = self._drafted(ops, at) if ops else self._reader(at, head=head)
        return reading.count(reader, shape, Query(space, index, iterator, key))

    def scan(
        self, query: Query, *, keeps: bool, at: int | None = None, ops: Operations = ()
    ) -> Scan:
        """A select, or without `keeps` a count, to be read in slices.

        Between two of them the index is pinned; all of it is void once `rewinds` has changed.
        """
        reader, shape = self._drafted(ops, at) if ops else self._reader(at, head=False)
        return Scan(reader, shape, query, keeps=keeps)

    def spaces(self) -> dict[str, SpaceDefinition]:
        """Return all visible spaces, by name."""
        return {space.name: space for space in self.schemas.shown.spaces}

    def digest_scan(self, ref: object = None) -> DigestScan:
        """Fingerprints of the visible tuples of a space, or of all, to be read in slices.

        Of all: without `_session`, whose rows are written when folded. For the rest see `scan`.
        """
        reader, shape = self._reader(None, head=False)
        if ref is None:
            named = [(each.name, each) for each in shape.spaces if each.id != schema.SESSION]
        else:
            named = [(str(ref), shape.space(ref))]
        return DigestScan(reader, [(name, *schema.keys_of(each.id)) for name, each in named])

    def digests(self) -> dict[str, str]:
        """Fingerprints of all spaces at once."""
        found = self.digest_scan()
        found.read()
        return found.found

    def _drafted(self, ops: Operations, at: int | None) -> tuple[EffectDraft, Schema]:
        view, shape = self._reader(at, head=False)
        draft = EffectDraft(view, shape)
        execute.run(draft, ops, self.limits)
        return draft, draft.schema

    def _reader(self, at: int | None, *, head: bool) -> tuple[VersionView, Schema]:
        if head:
            return VersionView(self.overlay, self.backing, None), self.schemas.head
        if at is None:
            return VersionView(self.overlay, self.backing, self.visible), self.schemas.shown
        if not self.folded <= at <= self.visible:
            raise Conflict(f"index {at} cannot be read any more; {self.folded} is stored already")
        return VersionView(self.overlay, self.backing, at), self.schemas.shown
