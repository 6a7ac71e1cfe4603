"""One connection of a client to one node, without the socket: handshake, then frames of answers.

The cluster's client (`link`), the connections to a single node (`one_node`, `one_node_aio`) and the
load generator are shells around it.
"""

from typing import Final

from election.messages import Replica
from qsync.wire import limits
from qsync.wire.frames import Frames
from qsync.wire.session import ConnectionState, Dialer, Greeting, Hello, Party

PLAIN_HELLO: Final = Hello(party=Party.CLIENT)
"""Of a client that takes whichever cluster answers."""


class ClientConnection:
    """Feed `received` with what comes, send what is in `out`. Once `ready`, requests may be sent.

    `replica`: who must answer there; None takes anybody of the hello's cluster.
    """

    def __init__(self, hello: Hello = PLAIN_HELLO, *, replica: Replica | None = None) -> None:
        self.ready = False
        self.out: list[bytes] = []
        self.frames = Frames(limits.HANDSHAKE_BYTES_MAX)
        self._dialer = Dialer(hello, replica=replica)

    @property
    def greeting(self) -> Greeting | None:
        """Who answers there, as it said itself; None before."""
        return self._dialer.greeting

    def received(self, data: bytes) -> list[bytes]:
        """The payloads of answers that are whole now.

        Raises the node's refusal, ForeignCluster and WrongVersion of a peer that is not the wanted
        one, TooLarge and ProtocolError of nonsense; the connection must be closed then.
        """
        payloads = self.frames.feed(data)
        return payloads if self.ready else self._shake_hands(payloads)

    def _shake_hands(self, payloads: list[bytes]) -> list[bytes]:
        for at, payload in enumerate(payloads, 1):
            hello = self._dialer.received(payload)
            if hello is not None:
                self.out.append(hello)
            if self._dialer.state is ConnectionState.READY:
                self.ready = True
                self.frames.bytes_max = limits.CLIENT_FRAME_BYTES_MAX
                return payloads[at:]
        return []
