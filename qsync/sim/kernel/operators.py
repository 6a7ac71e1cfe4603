"""Operators at their terminals: each request to a node goes over a separate connection."""

from collections.abc import Callable
from functools import partial
from typing import Final

from qsync.client.pending_request import PendingRequest
from qsync.core.inputs import DemoteAsked, Input, PromoteAsked
from qsync.sim.kernel.program import Program
from qsync.wire.verbs import DemoteRequest, PromoteRequest, Request

PATIENCE_S: Final = 1e5
"""Without a limit: an operator gets an answer, or learns that the connection is gone."""


class NodeOperators:
    """The operators of one node, with a shared program. It connects at the first request."""

    def __init__(self, program: Callable[[], Program]) -> None:
        self._make = program
        self._program: Program | None = None
        self._asked: list[tuple[str, PendingRequest]] = []

    def ask(self, what: str, event: Input) -> bool:
        """Send the request for that input. False if the input has no such request."""
        make = _request(event)
        if make is None:
            return False
        if self._program is None:
            self._program = self._make()
            self._program.start()
        self._program.process.soon(partial(self._send, self._program, what, make))
        return True

    def leave(self) -> None:
        """End their program: the next operator has a new one, which knows no cluster."""
        if self._program is not None:
            self._program.end()
        self._program = None
        self._asked = []

    def _send(self, program: Program, what: str, make: Callable[[int], Request]) -> None:
        self._asked = [each for each in self._asked if not each[1].settled]
        self._asked.append((what, program.command(make, PATIENCE_S)))

    def waiting(self) -> list[str]:
        """Operators without an answer, over a connection whose other end exists.

        If the other end vanished silently (a power cut, a half-open connection), a client of one
        node only may wait without a limit.
        """
        if self._program is None:
            return []
        for each in self._program.process.open_files():
            if each.flaws.lost or (each.peer is not None and each.peer.closed):
                return []
        return [what for what, ask in self._asked if not ask.settled]


def _request(event: Input) -> Callable[[int], Request] | None:
    match event:
        case PromoteAsked():
            return lambda id: PromoteRequest(id, PATIENCE_S)
        case DemoteAsked(to=to):
            return lambda id: DemoteRequest(id, 0 if to is None else int(to), PATIENCE_S)
        case _:
            return None
