"""Mutants of the client: what it does wrong when a caller is cancelled, one broken rule each."""

from collections.abc import Callable, Mapping
from typing import Final

from qsync.client.async_.feeds import AsyncFeed
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.link import ClientLink
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.errors import Outcome
from qsync.sim.kernel.program import Program
from qsync.wire.verbs import GetRequest


def _answered_forgotten(program: Program) -> None:
    """A write is forgotten as soon as it is answered, though its caller may still be cancelled."""
    program.core.numbering.note_token_known = _note_nothing  # type: ignore[method-assign]  # a mutant


def _unknown_forgotten(program: Program) -> None:
    """That a caller may ask for a write is forgotten when an attempt has an unknown outcome."""
    numbering = program.core.numbering
    honest = numbering.ended

    def ended(ask: PendingRequest, *, known: bool) -> None:
        honest(ask, known=known)
        write = numbering._own(ask)  # noqa: SLF001 - a mutant
        if not known and write is not None:
            numbering._noted.discard(write.seq)  # noqa: SLF001 - a mutant

    numbering.ended = ended  # type: ignore[method-assign]  # a mutant


def _told_remembered(program: Program) -> None:
    """What a client keeps for a caller that may be cancelled is kept when that has the outcome."""

    def note_told(ask: PendingRequest, *, known: bool) -> None:
        """Note nothing."""
        del ask, known

    program.core.numbering.note_told = note_told  # type: ignore[method-assign]  # a mutant


def _note_nothing(ask: PendingRequest) -> None:
    """Note nothing."""
    del ask


def _left_read_repeated(program: Program) -> None:
    """A read is sent again after its connection broke, though its caller has gone."""
    core = program.core
    honest = core._lose  # noqa: SLF001 - a mutant

    def lose(link: ClientLink, why: str, now: float) -> None:
        _wait_again(program, RetryKind.READ)
        honest(link, why, now)

    core._lose = lose  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _left_write_sent(program: Program) -> None:
    """A write that was not sent when its caller went is sent all the same."""
    core = program.core
    honest = core._pump  # noqa: SLF001 - a mutant

    def pump(now: float) -> None:
        _wait_again(program, RetryKind.WRITE)
        honest(now)

    core._pump = pump  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _wait_again(program: Program, kind: RetryKind) -> None:
    """Take back that callers have gone."""
    for ask in program.core._asks.values():  # noqa: SLF001 - a mutant
        if ask.kind is kind:
            ask.settled_at = None


def _left_renumbered(program: Program) -> None:
    """A write gets a number of the next session, though its caller has gone with the old token."""
    numbering = program.core.numbering
    honest = numbering.abandon

    def abandon(ask: PendingRequest) -> None:
        doubted = ask.doubted
        honest(ask)
        ask.doubted = doubted

    numbering.abandon = abandon  # type: ignore[method-assign]  # a mutant


def _left_number_reused(program: Program) -> None:
    """The number of a read whose caller has gone is given to the next one, with the late answer."""
    core = program.core
    honest = core._begin  # noqa: SLF001 - a mutant

    def begin(ask: PendingRequest, *, link: ClientLink | None = None) -> PendingRequest:
        for other in core.wires.links():
            for left in list(other.inflight.values()):
                alike = isinstance(left.request, GetRequest) and isinstance(ask.request, GetRequest)
                if left.settled and alike:
                    other.inflight[left.id] = ask
        return honest(ask, link=link)

    core._begin = begin  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _left_transaction_committed(program: Program) -> None:
    """A transaction whose caller is cancelled between two steps is committed as far as it is."""

    def began(tx: AsyncTransaction | AsyncFeed) -> None:
        if isinstance(tx, AsyncFeed):
            return

        def commit() -> None:
            call, now = tx._draft.end({}), program.now()  # noqa: SLF001 - a mutant
            if call is not None:
                deadline = now + program.around.timeout
                program.core.submit(call.kind, call.make, now=now, deadline=deadline)

        tx.rollback = commit  # type: ignore[method-assign]  # a mutant

    program.began = began


def _left_commit_denied(program: Program) -> None:
    """A transaction whose caller is cancelled in its commit says that it was rolled back."""

    def began(tx: AsyncTransaction | AsyncFeed) -> None:
        if isinstance(tx, AsyncFeed):
            return
        draft = tx._draft  # noqa: SLF001 - a mutant
        honest = draft._outcome  # noqa: SLF001 - a mutant

        def outcome() -> Outcome:
            said = honest()
            return Outcome.ROLLED_BACK if said is Outcome.UNKNOWN else said

        draft._outcome = outcome  # type: ignore[method-assign]  # noqa: SLF001 - a mutant

    program.began = began


def _left_feed_moves(program: Program) -> None:
    """A feed goes on behind the next entry, whose question was under way when its caller went."""

    def began(feed: AsyncTransaction | AsyncFeed) -> None:
        if isinstance(feed, AsyncTransaction):
            return
        place, honest = feed._place, feed.poll  # noqa: SLF001 - a mutant

        async def poll() -> None:
            try:
                await honest()
            except BaseException:
                place.upto = feed.upto + 1
                raise

        feed.poll = poll  # type: ignore[method-assign]  # a mutant

    program.began = began


LEAVING: Final[Mapping[str, Callable[[Program], None]]] = {
    "answered_forgotten": _answered_forgotten,
    "unknown_forgotten": _unknown_forgotten,
    "told_remembered": _told_remembered,
    "left_read_repeated": _left_read_repeated,
    "left_write_sent": _left_write_sent,
    "left_renumbered": _left_renumbered,
    "left_number_reused": _left_number_reused,
    "left_transaction_committed": _left_transaction_committed,
    "left_commit_denied": _left_commit_denied,
    "left_feed_moves": _left_feed_moves,
}
