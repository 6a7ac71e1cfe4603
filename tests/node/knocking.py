"""A node driven pass by pass, and those who knock at its door: a peer, and clients."""

import fcntl
import socket
import termios
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from election.messages import Replica, RequestVoteResponse
from qsync.config import NodeConfig
from qsync.core.inputs import Connected
from qsync.core.messages import AppendResponse, Message
from qsync.node.assembly import found_cluster
from qsync.node.node import Node
from qsync.record import Instance, instance_text
from qsync.wire import limits, peer_messages
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import Frames, seal
from qsync.wire.proofs import NONCE_BYTES
from qsync.wire.session import Dialer, Hello, Party

CLUSTER = "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
PEER = Replica(2)
ARRIVAL_SECONDS_MAX = 1.0
CLIENT = Hello(party=Party.CLIENT)
HELLO = Hello(
    party=Party.PEER,
    cluster=CLUSTER,
    instance="theirs",
    replica=PEER,
    name="n2",
    epoch=1,
    nonce=bytes(NONCE_BYTES),
)


def config(path: Path, *, alone: bool = False, **flags: str) -> NodeConfig:
    """One of three that are founded, the two others never come; or a node alone."""
    given = {"listen": "127.0.0.1:0", "store.writer": "inline", "cluster.id": CLUSTER}
    if not alone:
        given["peers"] = "1:n1@127.0.0.1:1,2:n2@127.0.0.1:2,3:n3@127.0.0.1:3"
    given |= {key.replace("__", "."): value for key, value in flags.items()}
    found = []
    for n in (1,) if alone else (1, 2, 3):
        own = {"node.id": str(n), "node.name": f"n{n}", "node.dir": str(path / f"n{n}")}
        found.append(NodeConfig.load(None, {}, given | own))
    found_cluster(found)
    return found[0]


def pump(node: Node) -> None:
    """Let the node take what has come, until nothing is left."""
    while node.reactor._pass(0.0):
        pass


def send(node: Node, line: socket.socket, data: bytes) -> None:
    """Send, and let the node take it as soon as it is there."""
    line.sendall(data)
    room, until = array("i", [1]), perf_counter() + ARRIVAL_SECONDS_MAX
    while room[0] and perf_counter() < until:  # on a busy machine even loopback takes a moment
        fcntl.ioctl(line.fileno(), termios.TIOCOUTQ, room)
    pump(node)


class Caller:
    """A client at the other end of a real socket, after the handshake."""

    def __init__(self, node: Node, hello: Hello) -> None:
        self.node = node
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.line = socket.create_connection(door.getsockname())
            accepted, _ = door.accept()
        accepted.setblocking(False)
        node.server.accept(accepted)
        node.reactor.flush()
        self.frames = Frames(limits.HANDSHAKE_BYTES_MAX)
        try:
            self._greet(Dialer(hello))
        except BaseException:
            self.line.close()
            raise
        self.frames.bytes_max = limits.CLIENT_FRAME_BYTES_MAX
        self.line.setblocking(False)

    def _greet(self, dialer: Dialer) -> None:
        while dialer.state is not ConnectionState.READY:
            for payload in self.frames.feed(self.line.recv(65536)):
                answer = dialer.received(payload)
                if answer is not None:
                    send(self.node, self.line, answer)

    def say(self, payload: bytes) -> None:
        """One message of a peer, and a batch of the node for it."""
        send(self.node, self.line, seal(payload))

    def tell(self, message: Message) -> None:
        """The same, not yet encoded."""
        send(self.node, self.line, peer_messages.encode(message))

    def ask(self, data: bytes) -> None:
        """Frames of a client, however many bytes."""
        self.line.setblocking(True)
        send(self.node, self.line, data)
        self.line.setblocking(False)

    def heard(self) -> list[bytes]:
        """What a client was answered by now."""
        found: list[bytes] = []
        while True:
            try:
                data = self.line.recv(1 << 20)
            except BlockingIOError:
                return found
            if not data:
                return found
            found += self.frames.feed(data)

    @property
    def connected(self) -> bool:
        """Does the node still listen to this peer?"""
        return self.node.server.hears(PEER)

    def close(self) -> None:
        """Hang up."""
        self.line.close()
        pump(self.node)


def founder(node: Node, replica: Replica) -> Instance:
    """With which directory its cluster was founded."""
    return next(each.instance for each in node.identity.founders if each.replica == replica)


@contextmanager
def calling(node: Node, hello: Hello | None = None) -> Iterator[Caller]:
    """A connection for the block, of node 2 if nobody else is named."""
    made = Caller(node, hello or replace(HELLO, instance=instance_text(founder(node, PEER))))
    try:
        yield made
    finally:
        made.close()


def lead(node: Node, peer: Caller) -> None:
    """Node 2 votes for it and acks, so that it leads."""
    machine = node.replica.machine
    machine.raft.campaign.leader_gone()
    node._begin()
    theirs = founder(node, PEER)
    node._step(Connected(peer=PEER, epoch=machine.peers[PEER].epoch + 1, instance=theirs))
    if not machine.raft.campaign.promoting:
        assert machine.raft.campaign.promote() is None
    node._turn()
    term = machine.term
    peer.tell(
        RequestVoteResponse(
            term=term, asked_term=term, voter=PEER, pre=False, granted=True, reason=None
        )
    )
    assert machine.leader is not None
    peer.tell(ack(node))


def ack(node: Node) -> AppendResponse:
    """Node 2 has all that there is."""
    machine = node.replica.machine
    return AppendResponse(
        term=machine.term,
        follower=PEER,
        epoch=machine.peers[PEER].epoch,
        ok=True,
        index=machine.replicated_log.log.last,
        index_term=machine.replicated_log.log.term_at(machine.replicated_log.log.last),
        recruit=False,
    )
