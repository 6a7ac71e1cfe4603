"""One question to one node over a connection of its own: no retries, no looking for the leader."""

import time

from qsync.client.one_node import TIMEOUT_S, NodeConnection
from qsync.errors import ProtocolError
from qsync.wire import replies
from qsync.wire.verbs import PlainRequest, Request, Verb


def status(address: str, *, timeout: float = TIMEOUT_S) -> dict[str, object]:
    """The STATUS map of one node, and when it was asked. Raises Unavailable or its error."""
    with NodeConnection(address, timeout=timeout) as line:
        asked = {"asked": time.monotonic_ns()}
        return replies.read_map(line.ask(PlainRequest(1, Verb.STATUS))) | asked


def value(address: str, request: Request, *, timeout: float = TIMEOUT_S) -> list[object]:
    """The values of the answer to one request."""
    with NodeConnection(address, timeout=timeout) as line:
        return line.ask(request, timeout=timeout)


def only(values: list[object]) -> object:
    """The one value of an answer. Raises ProtocolError when there is none."""
    if not values:
        raise ProtocolError("an answer without a value")
    return values[0]
