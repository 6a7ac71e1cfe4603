"""Strangers at a node's door: the node's own server hears their hellos, without a network."""

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import cbor2

from election.messages import Replica
from qsync.config import Address, NodeConfig, PeerConfig
from qsync.node.addresses import AddressBook
from qsync.node.connection import ClosedBy, Connection
from qsync.node.effects import Effects
from qsync.node.server import Admission, Server
from qsync.node.system import SYSTEM
from qsync.wire.frames import LENGTH_SIZE
from qsync.wire.session import Greeting, Hello, Party, encode_hello
from tests.scenarios.acts import act
from tests.scenarios.acts_words import CLUSTER, NONCE

if TYPE_CHECKING:
    from tests.scenarios.actor import Actor
    from tests.scenarios.stage import Stage


class Door:
    """Keeps what is sent instead of sending it. Its sockets are never connected."""

    effects: Effects = SYSTEM

    def __init__(self) -> None:
        self.opened: list[Connection] = []
        self.said: list[bytes] = []

    def add(self, connection: Connection) -> None:
        self.opened.append(connection)

    def send(self, connection: Connection, data: bytes) -> None:
        self.said.append(data)

    def flush(self) -> None:
        """There is nobody to flush to."""

    def connections(self) -> list[Connection]:
        return self.opened

    def close(self, connection: Connection, why: str, *, by: ClosedBy = ClosedBy.US) -> None:
        connection.closed = by
        connection.sock.close()
        if connection.lost is not None:
            connection.lost(connection, why)


@act
def knock(stage: "Stage", words: list[str]) -> None:
    """knock N VISITOR...: peers at N's door: `ID/INSTANCE` comes, `-ID/INSTANCE` goes."""
    actor, door = stage.actor(words[0]), Door()
    server = _server(actor, door)
    inside: dict[str, Connection] = {}
    for word in words[1:]:
        if word.startswith("-"):
            door.close(inside.pop(word[1:]), "gone")
            continue
        replica, _, instance = word.partition("/")
        server.accept(socket.socket())
        connection, hello = door.opened[-1], _hello(int(replica), instance)
        assert connection.take is not None
        greeted = door.said[-1][LENGTH_SIZE:]
        connection.take(connection, [encode_hello(hello, greeted=greeted)[LENGTH_SIZE:]])
        stage.say(f"{actor.me}: {word}: {_answer(door.said[-1])}")
        if not connection.closed:
            inside[word] = connection
    for connection in inside.values():
        with closing(connection.sock):
            connection.closed = ClosedBy.US


def _server(actor: "Actor", door: Door) -> Server:
    peers = tuple(
        PeerConfig(id=each, name=f"n{each}", address=Address(f"n{each}:3301"))
        for each in actor.config.voters
    )
    book = AddressBook(NodeConfig(peers=peers), actor.core.machine, lambda: f"n{actor.me}:3301")
    admission = Admission(
        introduce=lambda hello: book.introduce(hello, now=0.0, leader_idle=_leader_idle(actor)),
        depart=book.depart,
        connections_max=10,
        client_frame_bytes_max=1 << 20,
        peer_frame_bytes_max=1 << 20,
    )
    greeting = Greeting(
        cluster=CLUSTER,
        instance=f"uuid-{actor.me}",
        replica=actor.me,
        name=f"n{actor.me}",
        nonce=NONCE,
    )
    return Server(
        reactor=door,
        greeting=lambda: greeting,
        admission=admission,
        step=actor.core.step,
        check=actor.core.machine.check,
        requests=actor.desk.requests,
        now=lambda: actor.stage.now,
    )


def _leader_idle(actor: "Actor") -> float | None:
    raft = actor.core.machine.raft
    return None if raft.leader is None else actor.stage.now - raft.state.promise.heard_at


def _hello(replica: int, instance: str) -> Hello:
    return Hello(
        party=Party.PEER,
        cluster=CLUSTER,
        instance=instance,
        replica=Replica(replica),
        name=f"n{replica}",
        address=f"n{replica}:3301",
        nonce=NONCE,
    )


def _answer(data: bytes) -> str:
    word, *why = cbor2.loads(data[LENGTH_SIZE:])
    return "welcome" if word == "ok" else f"refused: {why[1]}"
