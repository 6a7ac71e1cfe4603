"""Sends one request to one node over a new connection: no retries, no search for the leader."""

import time
from collections.abc import Sequence

from admin.cluster import parallel
from qsync.client import local_sockets
from qsync.client.one_node import TIMEOUT_S, NodeConnection
from qsync.errors import FailureReason, Outcome, ProtocolError, QsyncError, Unavailable
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.session import Greeting
from qsync.wire.verbs import PlainRequest, Request, Verb

GRACE_S = 1.0
"""How much longer than the node to wait for a change, so that its own error arrives."""


class NoAnswer(QsyncError):
    """The node did not answer in time: it may still carry the request out."""

    code = "NO_ANSWER"
    number = 83
    outcome = Outcome.UNKNOWN
    hint = "`qsync status` shows who leads now"


def status(address: str, *, timeout: float = TIMEOUT_S) -> dict[str, object]:
    """Return the STATUS map of a node, and when it was asked. Raises Unavailable or its error."""
    with NodeConnection(address, timeout=timeout) as line:
        asked = {"asked": time.monotonic_ns()}
        return replies.read_map(line.ask(PlainRequest(1, Verb.STATUS))) | asked


def statuses(addresses: Sequence[str], timeout: float) -> dict[str, NodeStatus | QsyncError]:
    """Return the status of each node, or why it did not answer; all are asked in parallel."""

    def one(address: str) -> NodeStatus | QsyncError:
        try:
            return decode.status(status(address, timeout=timeout))
        except QsyncError as error:
            return error

    return dict(zip(addresses, parallel.each(addresses, one), strict=True))


def first_to_answer(seeds: Sequence[str], *, timeout: float = TIMEOUT_S) -> str:
    """Return the first address that answers. Raises Unavailable."""
    silences: dict[str, object] = {}
    for address in seeds:
        try:
            NodeConnection(address, timeout=timeout).close()
        except Unavailable as error:
            silences[address] = error.message
        else:
            return address
    raise Unavailable("no node answers", details={"nodes": silences})


def by_network(address: str) -> str:
    """Return the network address behind a socket (`unix:PATH`); any other address as it is.

    From here on this process, and those that it starts, dial that address by the socket. Raises
    Unavailable or what the node refuses.
    """
    if not address.startswith(local_sockets.SCHEME):
        return address
    own = str(status(address)["address"])
    local_sockets.reach(own, local_sockets.normal(address).removeprefix(local_sockets.SCHEME))
    return own


def greeting(address: str, *, timeout: float = TIMEOUT_S) -> Greeting:
    """Return the greeting of the node there. Raises Unavailable or what it refuses."""
    with NodeConnection(address, timeout=timeout, greeted=True) as line:
        return line.greeting


def value(address: str, request: Request, *, timeout: float = TIMEOUT_S) -> list[object]:
    """Send one request and return the values of the answer."""
    with NodeConnection(address, timeout=timeout) as line:
        return line.ask(request, timeout=timeout)


def change(address: str, request: Request, *, timeout: float, hint: str = "") -> list[object]:
    """Return the answer to a change, when it is made. Raises NoAnswer if that is unknown.

    `hint`: what shows whether it is made, if not `qsync status`.
    """
    try:
        return value(address, request, timeout=timeout + GRACE_S)
    except Unavailable as error:
        if error.reason is FailureReason.REFUSED:
            raise  # nobody heard the request
        raise NoAnswer(error.message, hint=hint, details=error.details) from None


def only(values: list[object]) -> object:
    """Return the only value of an answer. Raises ProtocolError without one."""
    if not values:
        raise ProtocolError("an answer without a value")
    return values[0]
