"""What a stranger can say before anybody knows who it is, bent a million times.

`python -m tests.fuzz.strangers [INPUTS [SEED]]` says it to a node with users, in this process, and
prints how fast that went and how memory grew. Of a hundred inputs 60 go to the decoders and the
two sides of a handshake, 30 to a node that speaks no TLS and 8 to one that does, both through pairs
of sockets, and 2 to real ports of both. After each part nobody must have come in, and after each
tenth of a part the memory of the process is looked at: it must not have grown since the first one.

An input is one connection: some bytes, whatever pieces they come in.
"""

import contextlib
import random
import resource
import select
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cbor2
import trio

import qsync
from election.messages import Replica
from qsync.client.security import ClientTls
from qsync.config import NodeConfig
from qsync.errors import QsyncError
from qsync.node.logins import LoginDelays
from qsync.node.node import Node, open_node
from qsync.tls import files
from qsync.wire import limits, scram
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import LENGTH_SIZE, Frames, frame
from qsync.wire.proofs import NONCE_BYTES, SecretKeys
from qsync.wire.session import (
    Acceptor,
    Dialer,
    Greeting,
    Hello,
    Party,
    encode_greeting,
    encode_hello,
)
from tests.certificates import Authority
from tests.fuzz import hostile
from tests.node.knocking import CLUSTER, config, pump
from tests.node.three import until

PASSWORD: Final = "correct horse"
GROWTH_BYTES_MAX: Final = 16 << 20
"""Memory that a part may have more at its end than after its first tenth."""
PARTS: Final = {"decoders": 60, "node": 30, "node over TLS": 8, "port": 1, "port over TLS": 1}
"""How many of a hundred inputs each part gets."""
PIECES_MAX: Final = 4
BENDS_MAX: Final = 4
LOOKS: Final = 10
HANDSHAKE_S_MAX: Final = 5.0
"""For one step of a handshake, which waits for its turn."""
_WELL_FRAMED, _OF_FRAMES, _WHOLE = 0.6, 0.9, 0.25
_KEYS: Final = SecretKeys(b"s" * 16)
_HONEST: Final = 0.5
"""Of those over TLS: a good handshake, and bent bytes behind it."""
_PAGE: Final = resource.getpagesize()
GREETING: Final = Greeting(
    cluster=CLUSTER, instance="i-1", replica=Replica(1), name="n1", nonce=bytes(NONCE_BYTES)
)
PEER: Final = Hello(
    party=Party.PEER,
    cluster=CLUSTER,
    instance="i-2",
    replica=2,
    name="n2",
    epoch=7,
    nonce=bytes(NONCE_BYTES),
)
CLIENT: Final = Hello(party=Party.CLIENT)
USER: Final = Hello(party=Party.CLIENT, user="root", nonce=bytes(NONCE_BYTES))
PROOF: Final = cbor2.dumps(["proof", bytes(scram.PROOF_BYTES)])
ASKED: Final = cbor2.dumps(["prove", bytes(NONCE_BYTES), b"salt" * 4, 4096])
OK: Final = cbor2.dumps(["ok", bytes(scram.PROOF_BYTES)])
NO: Final = cbor2.dumps(["no", 4, "why"])
PING: Final = cbor2.dumps([1, 1])
FOREIGN: Final = (
    b"GET / HTTP/1.1\r\nHost: n1\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    b"\xff\xff\xff\xff",
    b"\x00\x00\x10\x01",
    b"\x00\x00\x00\x00",
    b"",
)
"""Of other protocols, and lengths that nobody may name: as they stand, without a frame."""


def _payload(framed: bytes) -> bytes:
    return framed[LENGTH_SIZE:]


GREETED: Final = _payload(encode_greeting(GREETING))
Conversation = tuple[bytes, ...]
SAID: Final[Sequence[Conversation]] = (
    (_payload(encode_hello(PEER, greeted=GREETED)),),
    (_payload(encode_hello(CLIENT)),),
    (_payload(encode_hello(USER)),),
    (_payload(encode_hello(USER)), PROOF),
    (_payload(encode_hello(USER)), PROOF, PING),
    (_payload(encode_hello(CLIENT)), PING),
    *((each,) for each in hostile.BOMB_BYTES),
)
"""Payloads, by who dials."""
ANSWERED: Final[Sequence[Conversation]] = (
    (GREETED,),
    (GREETED, OK),
    (GREETED, NO),
    (GREETED, ASKED, OK),
    *((each,) for each in hostile.BOMB_BYTES),
)
"""By who was dialled: a client meets strangers, too."""


class Bender:
    """Good bytes with some of them changed, and cut into pieces."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def pieces(self, said: Sequence[Conversation]) -> list[bytes]:
        """One of these, bent, in one piece or several.

        In half of them the payloads are bent and framed well; in others what frames them is bent,
        too; and a few are of no frames at all.
        """
        dice = self._dice
        kind, payloads = dice.random(), dice.choice(said)
        if kind < _WELL_FRAMED:
            return self.cut(b"".join(frame(self.bent(each)) for each in payloads))
        if kind < _OF_FRAMES:
            return self.cut(self.bent(b"".join(map(frame, payloads))))
        return self.cut(self.bent(dice.choice(FOREIGN)))

    def cut(self, data: bytes) -> list[bytes]:
        """The same bytes in pieces."""
        count = self._dice.randrange(PIECES_MAX)
        cuts = sorted(self._dice.randint(0, len(data)) for _ in range(count))
        return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]

    def chance(self, share: float) -> bool:
        """True in that share of all."""
        return self._dice.random() < share

    def bent(self, good: bytes) -> bytes:
        """Changed in a few places; some stay whole."""
        dice, data = self._dice, bytearray(good)
        if self.chance(_WHOLE):
            return good
        for _ in range(dice.randint(1, BENDS_MAX)):
            at = dice.randint(0, max(0, len(data) - 1))
            match dice.randrange(7):
                case 0 if data:
                    data[at] ^= 1 << dice.randrange(8)
                case 1 if data:
                    data[at] = dice.randrange(256)
                case 2:
                    del data[at:]
                case 3:
                    data[at:at] = dice.randbytes(dice.randint(1, 8))
                case 4:
                    del data[at : at + dice.randint(1, 8)]
                case 5:
                    data[at:at] = dice.choice(hostile.BOMB_BYTES)
                case _:
                    data[at:at] = data[at : at + dice.randint(1, 64)]
        return bytes(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one part. `grown`: bytes of memory from its first tenth to its end."""

    part: str
    inputs: int
    seconds: float
    grown: int

    def __str__(self) -> str:
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return (
            f"{self.part:15} {self.inputs:>9,} inputs  {self.seconds:7.1f} s  {rate:9,.0f}/s  "
            f"memory {self.grown / 1024:+,.0f} KiB"
        )


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE


def decoders(bender: Bender) -> None:
    """One connection, without a node: the acceptor and the dialer, each with bytes of its own."""
    keys = scram.PasswordKeys(b"salt" * 4, 4096, bytes(32), bytes(32))
    acceptor, frames = (
        Acceptor(GREETING, keys=_KEYS),
        Frames(limits.HANDSHAKE_BYTES_MAX),
    )
    acceptor.greet()
    try:
        for piece in bender.pieces(SAID):
            for payload in frames.feed(piece):
                if acceptor.state is ConnectionState.GREETING:
                    break
                if acceptor.hello is None:
                    hello = acceptor.received(payload)
                    assert hello.party is Party.CLIENT, "a peer that does not know the secret"
                    acceptor.challenge(keys, bytes(NONCE_BYTES))
                else:
                    assert not acceptor.proven(payload, keys)
            assert frames.buffered <= limits.HANDSHAKE_BYTES_MAX + 4 + len(piece)
    except QsyncError as error:
        acceptor.refuse(error)
    assert acceptor.state is not ConnectionState.READY
    dialer, frames = Dialer(PEER, keys=_KEYS), Frames(limits.HANDSHAKE_BYTES_MAX)
    with contextlib.suppress(QsyncError):
        for piece in bender.pieces(ANSWERED):
            for payload in frames.feed(piece):
                dialer.received(payload)
    assert dialer.state is not ConnectionState.READY


class Door:
    """A node that is asked in this process, without its own task having a turn."""

    def __init__(self, node: Node, bender: Bender, tls: ssl.SSLContext | None = None) -> None:
        self.node = node
        self._bender = bender
        self._tls = tls
        self._count = 0

    def through_pair(self) -> None:
        """One connection, by a pair of sockets."""
        near, far = socket.socketpair()
        far.setblocking(False)
        near.setblocking(False)
        self.node.server.accept(near)
        self._say(far)

    def through_port(self) -> None:
        """One connection, by the network."""
        host, _, port = self.node.address.rpartition(":")
        far = socket.create_connection((host, int(port)))
        far.setblocking(False)
        pump(self.node)
        self._say(far)

    def _say(self, far: socket.socket) -> None:
        node = self.node
        node.reactor.flush()
        with far:
            for piece in self._pieces(far):
                with contextlib.suppress(OSError):  # it hung up on what came before
                    far.send(piece)
                pump(node)
        pump(node)
        self._count += 1
        if self._count % LOOKS == 0:  # who fails too often waits; the next ones are to be judged
            logins = node.server._admission.logins
            assert logins is not None
            logins.delays = LoginDelays()

    def _pieces(self, far: socket.socket) -> Iterator[bytes]:
        if self._tls is None:
            yield from self._bender.pieces(SAID)
            return
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        side = self._tls.wrap_bio(into, out)
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
        if not self._bender.chance(_HONEST):
            yield from self._bender.cut(self._bender.bent(out.read()))
            return
        yield out.read()
        into.write(self._answer(far))
        side.do_handshake()
        yield out.read()
        into.write(self._answer(far))
        for piece in self._bender.pieces(SAID):
            side.write(piece or b"\0")
            sealed = out.read()
            yield sealed if self._bender.chance(_HONEST) else self._bender.bent(sealed)

    def _answer(self, far: socket.socket) -> bytes:
        """What the node says to the last piece."""
        deadline = time.perf_counter() + HANDSHAKE_S_MAX
        while not select.select([far], [], [], 0.0)[0]:
            assert time.perf_counter() < deadline, "an honest handshake is not answered"
            pump(self.node)
        return far.recv(1 << 16)


def run(part: str, inputs: int, one: Callable[[], None]) -> Figures:
    """So many inputs. Raises AssertionError when memory grows."""
    began, first = time.perf_counter(), 0
    for number in range(inputs):
        one()
        if number == inputs // LOOKS:
            first = resident()
    grown = resident() - first
    assert grown <= GROWTH_BYTES_MAX, f"{part}: {grown} bytes more after {inputs} inputs"
    return Figures(part=part, inputs=inputs, seconds=time.perf_counter() - began, grown=grown)


@contextlib.asynccontextmanager
async def opened(
    path: Path, flags: dict[str, str], tls: ClientTls | None = None
) -> AsyncIterator[Node]:
    """A node alone, with a user."""
    mine: NodeConfig = config(path, alone=True, **flags)
    async with open_node(mine) as node:
        async with qsync.connect_async(node.address, timeout=20, tls=tls) as db:
            await db.users.create("root", PASSWORD)
        yield node


def check_untouched(node: Node, before: tuple[int, int]) -> None:
    """Nobody is in or waited for, nothing went wrong, and term and log are what they were."""
    assert (node.server.room.count, len(node.server.strangers)) == (0, 0)
    assert not any(node.server.hears(replica) for replica in range(1, limits.REPLICA_MAX + 1))
    assert not node.timeline.counts["mishap"]
    assert standing(node) == before


def standing(node: Node) -> tuple[int, int]:
    """What a stranger must not raise."""
    machine = node.replica.machine
    return machine.term, machine.replicated_log.log.last


async def say_all(path: Path, inputs: int, seed: int, told: Callable[[Figures], None]) -> None:
    """All parts. Raises AssertionError if a stranger gets in, or memory grows."""
    bender = Bender(seed)
    shares = {part: inputs * share // 100 for part, share in PARTS.items()}
    told(run("decoders", shares["decoders"], lambda: decoders(bender)))
    authority = Authority(path / "certs", cluster=CLUSTER)
    secured = authority.flags(authority.node("n1")) | {"tls.clients": "optional"}
    stranger = files.dialer(authority.files(authority.user("ann")), check_host=False)
    keys = {key.replace(".", "__"): value for key, value in secured.items()}
    nodes: dict[str, tuple[dict[str, str], ClientTls | None, ssl.SSLContext | None]] = {
        "": ({}, None, None),
        " over TLS": (keys, authority.client(None), stranger),
    }
    for name, (flags, client, context) in nodes.items():
        async with opened(path / f"node{name.replace(' ', '-')}", flags, client) as node:
            await _rest(node)
            door, before = Door(node, bender, context), standing(node)
            for part, one in (("node", door.through_pair), ("port", door.through_port)):
                told(run(part + name, shares[part + name], one))
                check_untouched(node, before)
            assert sum(node.server.refused.values()) > 0


async def _rest(node: Node) -> None:
    """Who made the user is gone, and all that it wrote is confirmed."""
    whole = node.replica.machine.replicated_log
    await until(lambda: not node.server.room.count, "who made the user is gone")
    await until(lambda: whole.confirmed == whole.log.last, "all is confirmed")


def _tell(figures: Figures) -> None:
    sys.stdout.write(f"{figures}\n")
    sys.stdout.flush()


def main() -> None:
    """Say it, and print the figures."""
    inputs = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        trio.run(say_all, Path(folder), inputs, seed, _tell)


if __name__ == "__main__":
    main()
