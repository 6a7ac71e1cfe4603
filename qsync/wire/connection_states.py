"""The states of a fresh connection and their transitions: the whole handshake as one table."""

from enum import StrEnum
from typing import Final

from qsync.errors import ProtocolError


class ConnectionState(StrEnum):
    """The states of a connection."""

    GREETING = "greeting"
    HELLO = "hello"
    PROVING = "proving"
    READY = "ready"
    CLOSED = "closed"


class SessionInput(StrEnum):
    """The inputs that change the state."""

    GREETING = "greeting"
    HELLO = "hello"
    PROVE = "prove"
    PROOF = "proof"
    OK = "ok"
    NO = "no"


TABLE: Final = {
    (ConnectionState.GREETING, SessionInput.GREETING): ConnectionState.HELLO,
    (ConnectionState.HELLO, SessionInput.HELLO): ConnectionState.HELLO,
    (ConnectionState.HELLO, SessionInput.OK): ConnectionState.READY,
    (ConnectionState.HELLO, SessionInput.PROVE): ConnectionState.PROVING,
    (ConnectionState.PROVING, SessionInput.PROOF): ConnectionState.PROVING,
    (ConnectionState.PROVING, SessionInput.OK): ConnectionState.READY,
    (ConnectionState.PROVING, SessionInput.NO): ConnectionState.CLOSED,
    (ConnectionState.HELLO, SessionInput.NO): ConnectionState.CLOSED,
    (ConnectionState.GREETING, SessionInput.NO): ConnectionState.CLOSED,
}
"""Anything that is not here is a ProtocolError."""


def next_state(state: ConnectionState, said: SessionInput) -> ConnectionState:
    """Return the next state. Raises ProtocolError."""
    found = TABLE.get((state, said))
    if found is None:
        raise ProtocolError(f"{said.value} does not fit the state {state.value}")
    return found
