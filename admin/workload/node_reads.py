"""Reads of one node, whoever leads, that must show a place which the client was told of."""

from collections.abc import Sequence
from random import Random

from election.messages import Position
from qsync.client import calls
from qsync.client.blocking import Client, connect
from qsync.client.rows import Row
from qsync.core.inputs import Consistency
from qsync.errors import QsyncError
from qsync.wire.verbs import ReadLevel

PATIENCE_S = 0.5
"""A node that is cut off does not get there; the client has other things to do."""


class Glances:
    """Of one client. `written`: where its last write is; `shown`: what it was shown here last."""

    def __init__(self, seeds: Sequence[str], dice: Random) -> None:
        self.written: Position | None = None
        self.shown: Position | None = None
        self._seeds = seeds
        self._dice = dice
        self._clients: dict[str, Client] = {}

    def floor(self) -> Position | None:
        """Its own write, or what it has seen already: the next read is to show that at least."""
        known = [place for place in (self.written, self.shown) if place is not None]
        return self._dice.choice(known) if known else None

    def get(self, space: str, key: int, floor: Position) -> tuple[Row | None, Position]:
        """From any node, and the place that it shows. Raises QsyncError."""
        address = self._dice.choice(list(self._seeds))
        level = ReadLevel(Consistency.AT_LEAST, floor.term, floor.index)
        try:
            if address not in self._clients:
                one = connect(address, timeout=PATIENCE_S, connect_timeout=PATIENCE_S, direct=True)
                self._clients[address] = one
            row, self.shown = self._clients[address].run(calls.get_at(space, [key], level=level))
        except QsyncError:
            if address in self._clients:
                self._clients.pop(address).close()
            # It may be of an entry that is gone: an asynchronous one, or of the log of one node.
            self.shown = None
            raise
        return row, self.shown

    def close(self) -> None:
        """Hang up."""
        for client in self._clients.values():
            client.close()
