"""What each release leaves behind: its code, a node's directory, and words of its on the wire.

`python -m tests.disk.releases` keeps that of this tree as `tests/disk/kept/VERSION`. It is done
once for each release, and what is kept is never made again: later releases must read it.
"""

import json
import socket
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import cbor2
import trio

import qsync
from election.messages import (
    Index,
    Position,
    RejectReason,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from qsync.config import NodeConfig
from qsync.core.consistency import Consistency
from qsync.core.limbo import Owner
from qsync.core.logstart import LogStart
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    MemberState,
    Message,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from qsync.data.operation_kinds import Op
from qsync.node.embedded import EmbeddedNode
from qsync.record import Crc, Lsn
from qsync.wire import limits, peer_messages, requests, verbs
from qsync.wire.frames import LENGTH_SIZE, Frames
from qsync.wire.session import ConnectionState, Dialer, Hello, Party

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "kept"
CODE = "code.tar.xz"
CODES = sorted(KEPT.glob(f"*/{CODE}"))
"""The code of each release: its nodes run beside those of this tree."""
CLUSTER = "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
ROWS = 300
FORMAT = [("id", "unsigned"), ("owner", "string"), ("balance", "integer")]

_TERM, _ME, _AT = Term(3), Replica(2), Index(7)
START = LogStart(
    index=_AT,
    term=_TERM,
    crc=Crc(2**32 - 1),
    origin=_ME,
    vclock=((Replica(1), Lsn(3)), (_ME, Lsn(4))),
    owner=Owner(Index(5), _ME, _TERM),
    configuration=b"voters",
)
MESSAGES: Sequence[Message] = (
    RequestVote(term=_TERM, candidate=_ME, position=Position(_TERM, _AT), pre=False, transfer=True),
    RequestVoteResponse(
        term=_TERM,
        asked_term=_TERM,
        voter=_ME,
        pre=False,
        granted=False,
        reason=next(iter(RejectReason)),
    ),
    TimeoutNow(term=_TERM, leader=_ME),
    Resigned(term=_TERM, leader=_ME),
    Append(
        term=_TERM,
        leader=_ME,
        epoch=4,
        prev_index=_AT,
        prev_term=_TERM,
        prev_crc=Crc(9),
        last=_AT,
        confirmed=Index(6),
    ),
    AppendResponse(
        term=_TERM, follower=_ME, epoch=4, ok=True, index=_AT, index_term=_TERM, recruit=False
    ),
    Heartbeat(
        term=_TERM,
        leader=_ME,
        epoch=4,
        round=8,
        matched=_AT,
        confirmed=Index(6),
        last=_AT,
        promise=True,
        admit=False,
    ),
    HeartbeatResponse(
        term=_TERM,
        follower=_ME,
        epoch=4,
        round=8,
        recruit=False,
        promised_us=1_000_000,
        standing=MemberState.CANDIDATE,
    ),
    ReadIndex(term=_TERM, follower=_ME, ask=5),
    ReadIndexResponse(term=_TERM, ask=5, place=Position(_TERM, _AT)),
    TransferLeadership(term=_TERM, candidate=_ME),
    InstallSnapshot(term=_TERM, leader=_ME, epoch=4, start=START),
)
"""One of each kind that members exchange."""


def config(folder: Path) -> NodeConfig:
    """A node alone."""
    given = {"cluster.id": CLUSTER, "node.id": "1", "node.name": "n1", "node.dir": str(folder)}
    return NodeConfig.load(None, {}, given | {"listen": "127.0.0.1:0", "store.writer": "inline"})


def balances() -> dict[int, int]:
    """What the space `accounts` of a kept directory holds."""
    return {each: each * 10 + (each % 3 == 0) for each in range(ROWS) if each % 7}


def fill(address: str) -> None:
    """Rows, indexes, a setting, and a number used twice: what a directory may have."""
    with qsync.connect(address) as db:
        db.schema.create_space("accounts", is_sync=True, format=FORMAT)
        accounts = db.space("accounts")
        accounts.replace_many([[each, f"owner {each % 5}", each * 10] for each in range(ROWS)])
        db.schema.create_index("accounts", "owner", parts=["owner"], unique=False)
        for each in range(0, ROWS, 3):
            accounts.update(each, [("+", "balance", 1)])
        for each in range(0, ROWS, 7):
            accounts.delete(each)
        db.schema.create_space("notes", format=[("id", "unsigned"), ("text", "string?")])
        db.space("notes").insert([1, None])
        db.schema.change_settings({"replication.synchro_timeout": "7s"})


def greeted(line: socket.socket) -> list[bytes]:
    """Say hello as a client does; all that was said and heard, in turns."""
    dialer, frames, said = Dialer(Hello(party=Party.CLIENT)), Frames(limits.HANDSHAKE_BYTES_MAX), []
    while dialer.state is not ConnectionState.READY:
        for payload in frames.feed(line.recv(1 << 16)):
            said.append(payload)
            answer = dialer.received(payload)
            if answer is not None:
                line.sendall(answer)
                said.append(answer[LENGTH_SIZE:])
    return said


def asked(line: socket.socket, payload: bytes) -> bytes:
    """One request and its reply."""
    line.sendall(len(payload).to_bytes(LENGTH_SIZE, "big") + payload)
    frames = Frames(limits.CLIENT_FRAME_BYTES_MAX)
    while True:
        found = frames.feed(line.recv(1 << 16))
        if found:
            return found[0]


def requests_of() -> list[bytes]:
    """What a client requests: every kind that reads or writes rows, and a write with a number."""
    local = verbs.ReadLevel(Consistency.LOCAL, Term(0), Index(0))
    put = [Op.REPLACE, "notes", cbor2.dumps([2, "of a client"])]
    framed = [
        requests.encode(each)
        for each in (
            verbs.PlainRequest(1, verbs.Verb.PING),
            verbs.WriteRequest(2, b"", 0, 0, 0, [[Op.OPEN_SESSION, b"seed"]]),
            verbs.WriteRequest(3, b"", 0, 0, 0, [put]),
            verbs.GetRequest(4, "accounts", 0, [1], local),
            verbs.SelectRequest(5, "accounts", "owner", "ge", ["a"], 5, 1, None, local, []),
            verbs.CountRequest(6, "accounts", 0, "all", [], local, []),
            verbs.GetRequest(7, "nowhere", 0, [1], local),
            verbs.InfoRequest(8, "upgrade"),
        )
    ]
    return [each[LENGTH_SIZE:] for each in framed]


def spoken() -> list[list[object]]:
    """The messages of members as bytes, and what they say by field."""
    return [
        [peer_messages.encode(each).hex(), type(each).__name__, said_by(each)] for each in MESSAGES
    ]


def said_by(message: Message) -> dict[str, str]:
    """Every field of a message, as text."""
    names = getattr(message, "__slots__", ()) or message.__dataclass_fields__
    return {name: str(getattr(message, name)) for name in names}


def keep(folder: Path) -> None:
    """Write down what this release leaves behind."""
    folder.mkdir(parents=True)
    with TemporaryDirectory() as room:
        place = Path(room) / "n1"
        wire = trio.run(partial(_live, config(place)))
        with tarfile.open(folder / "directory.tar.xz", "w:xz") as packed:
            packed.add(place, "n1")
    text = json.dumps(wire | {"members": spoken()}, indent=1)
    (folder / "wire.json").write_text(text + "\n", encoding="utf-8")


def keep_code(folder: Path) -> None:
    """Write down what a node of this release is made of: of the product all that it needs alone."""
    with tarfile.open(folder / CODE, "w:xz", preset=9) as packed:
        for package in ("election", "qsync"):
            packed.add(ROOT / package, package, filter=_source)


def _source(found: tarfile.TarInfo) -> tarfile.TarInfo | None:
    left_out = found.name == "qsync/sim" or found.name.endswith((".so", "__pycache__"))
    found.uid = found.gid = found.mtime = 0
    found.uname = found.gname = ""
    return None if left_out else found


@asynccontextmanager
async def leading(
    settings: NodeConfig, *, found: bool = False, moved: bool = False
) -> AsyncIterator[str]:
    """A node that takes writes, for the block; where it listens."""
    async with EmbeddedNode(settings, found=found, moved=moved) as node:
        while not node.leads:
            await trio.lowlevel.checkpoint()
        yield node.address


TRIMMED = {"store.checkpoint_wal_threshold": "64KiB", "store.checkpoint_interval": "0s"}
BALLAST_BYTES = 60_000
"""Rows that come and go: they fill files of the log, which are trimmed as a whole."""


def trimmed(folder: Path) -> NodeConfig:
    """A node alone that keeps little of its log."""
    given = {"cluster.id": CLUSTER, "node.id": "1", "node.name": "n1", "node.dir": str(folder)}
    given |= {"listen": "127.0.0.1:0", "store.writer": "inline", "store.fold_interval": "5ms"}
    return NodeConfig.load(None, {}, given | TRIMMED)


def keep_trimmed(folder: Path, name: str = "trimmed-older") -> None:
    """Write down a directory whose log begins behind a snapshot (`FORMAT_TRIMMED`).

    What is called `trimmed` alone tells nothing of the entries before that, as it was at first.
    """
    with TemporaryDirectory() as room:
        place = Path(room) / "n1"
        trio.run(partial(_live_and_trim, trimmed(place)))
        with tarfile.open(folder / f"{name}.tar.xz", "w:xz") as packed:
            packed.add(place, "n1")


async def _live_and_trim(settings: NodeConfig) -> None:
    async with leading(settings, found=True) as address:
        await trio.to_thread.run_sync(fill, address)
        await trio.to_thread.run_sync(_outgrow, address)


def _outgrow(address: str) -> None:
    with qsync.connect(address, timeout=20) as db:
        db.schema.create_space("ballast", is_sync=True)
        db.space("notes").insert([2, "of a client"])
        while not db.info("gc.signature"):
            db.space("ballast").replace([1, bytes(BALLAST_BYTES)])
        db.space("ballast").delete(1)


async def _live(settings: NodeConfig) -> dict[str, object]:
    async with leading(settings, found=True) as address:
        return await trio.to_thread.run_sync(_use, address)


def _use(address: str) -> dict[str, object]:
    fill(address)
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port))) as line:
        hello = [each.hex() for each in greeted(line)]
        asks = requests_of()
        replies = [asked(line, each).hex() for each in asks]
    return {"hello": hello, "asked": [each.hex() for each in asks], "replies": replies}


if __name__ == "__main__":
    keep(KEPT / qsync.__version__)
    keep_trimmed(KEPT / qsync.__version__)
    keep_code(KEPT / qsync.__version__)
