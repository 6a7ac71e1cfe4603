"""Broken rules of rights: a grant counts after it is confirmed, a revocation at once."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from election.messages import Position
from qsync.data import needs
from qsync.data.overlay import VersionView
from qsync.data.request import ExecutedTransaction, Request
from qsync.data.state import DataState
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, put

Judge = Callable[[DataState, Request], None]
"""Raises AccessDenied."""


def _judged(core: Core, judge: Judge) -> None:
    """Who asks is judged in that way, and in no other."""
    state = core._state
    honest = state.execute

    def execute(
        request: Request, *, at: Position | None = None, visible: bool = False
    ) -> ExecutedTransaction:
        if request.user is not None:
            judge(state, request)
            request = replace(request, user=None)
        return honest(request, at=at, visible=visible)

    put(state, execute=execute)


def _by_head(state: DataState, request: Request) -> None:
    needs.check(request, state.schemas.head, view=VersionView(state.overlay, state.backing, None))


def _by_what_is_shown(state: DataState, request: Request) -> None:
    needs.check(request, state.schemas.shown, view=VersionView(state.overlay, state.backing, None))


def _by_nothing(_state: DataState, _request: Request) -> None:
    """Every user may do everything."""


RIGHTS = (
    Mutant(
        name="pending_grant_counts",
        rule="security.md",
        without="a grant counts before it is confirmed",
        remodel=partial(_judged, judge=_by_head),
    ),
    Mutant(
        name="pending_revocation_ignored",
        rule="security.md",
        without="a revoked right counts until the revocation is confirmed",
        remodel=partial(_judged, judge=_by_what_is_shown),
    ),
    Mutant(
        name="rights_unchecked",
        rule="security.md",
        without="rights are not checked",
        remodel=partial(_judged, judge=_by_nothing),
    ),
)
