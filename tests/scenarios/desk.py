"""Where the clients of one node sit: the node's own code takes their frames and answers them."""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from qsync.error_details import RECORDED
from qsync.errors import QsyncError
from qsync.node.answers import VisibleReads
from qsync.node.connection import ClosedBy, Connection
from qsync.node.due import Due
from qsync.node.expiry import Expiry
from qsync.node.requests import ClientRequests
from qsync.replica import Replica
from qsync.wire import replies, requests, verbs
from qsync.wire.frames import LENGTH_SIZE

if TYPE_CHECKING:
    from tests.scenarios.actor import Actor

Reader = Callable[[list[object]], str]
"""An answer in words."""

INFLIGHT_MAX = 5
"""Writers that may wait for room on a stage: few, so that a transcript can reach it."""
SESSION_TTL = 600.0
NOWHERE = socket.socket()
"""Nothing is ever read from it or written to it."""
NOWHERE.close()


class Asked(NamedTuple):
    """What a client waits for."""

    called: str
    read: Reader


class Caller:
    """A client and its connection, which goes nowhere. `asked`: its open requests by number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.connection = Connection(NOWHERE, frame_bytes_max=1 << 20, opened_at=0.0)
        self.asked: dict[int, Asked] = {}


class Reading(VisibleReads):
    """Rows and acks: what can be answered without the rest of a node."""

    def __init__(self, core: Replica) -> None:
        self._replica = core


class Desk:
    """The clients of one life of a node, known by name (mostly the empty one)."""

    def __init__(self, actor: "Actor") -> None:
        self.callers: dict[str, Caller] = {}
        self._actor = actor
        self._numbers = 0
        stage, core = actor.stage, actor.core
        self.expiry = Expiry(core, ttl=SESSION_TTL)
        self.requests = ClientRequests(
            core,
            Reading(core),
            step=core.step,
            send=self._answered,
            leader_address=lambda: None,
            now=lambda: stage.now,
            inflight_max=INFLIGHT_MAX,
            expiry=self.expiry,
            due=Due(clock=lambda: 0.0),
        )

    def number(self) -> int:
        """For the next request."""
        self._numbers += 1
        return self._numbers

    def ask(self, by: str, request: verbs.Request, asked: Asked) -> None:
        """A client's request arrives, as bytes."""
        caller = self.callers.setdefault(by, Caller(by))
        caller.asked[request.id] = asked
        self.requests.handle_frames(caller.connection, [requests.encode(request)[LENGTH_SIZE:]])

    def hang_up(self, by: str) -> None:
        """A client is gone, and so is its connection."""
        self.callers.pop(by).connection.closed = ClosedBy.US

    def _answered(self, connection: Connection, data: bytes) -> None:
        if connection.closed:
            return
        caller = next(each for each in self.callers.values() if each.connection is connection)
        number, answer = replies.decode(data[LENGTH_SIZE:])
        called, read = caller.asked.pop(number)
        whose = f"{caller.name}'s " if caller.name else ""
        if isinstance(answer, QsyncError):
            words = f"{answer.outcome.value}, {answer.code}: {answer.message}"
            words += ", recorded" if answer.details.get(RECORDED) else ""
        else:
            words = read(answer)
        self._actor.stage.say(f"{self._actor.me}: {whose}{called}: {words}")
