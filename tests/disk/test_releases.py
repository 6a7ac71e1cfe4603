"""What former releases left behind is read by this one, and what a later one leaves is refused."""

import json
import socket
import tarfile
from functools import partial
from pathlib import Path
from typing import TypedDict

import pytest
import trio

import qsync
from qsync.core import logstart
from qsync.errors import QsyncError, WrongFormat
from qsync.node.embedded import EmbeddedNode
from qsync.store.identity import FORMAT, FORMAT_TRIMMED
from qsync.store.segments.beginning import OLDER
from qsync.store.segments.scan import scan_log
from qsync.store.snapfiles import SNAPSHOTS, snapshot_files
from qsync.wire import limits, peer_messages, replies
from qsync.wire.frames import SealedFrames
from qsync.wire.session import Dialer, Hello, Party
from tests.disk import releases

LATER = 99
"""A format that nobody knows yet."""
RELEASES = sorted(path.name for path in releases.KEPT.iterdir() if path.is_dir())
ARCHIVES = sorted(
    f"{path.parent.name}/{path.name}"
    for path in releases.KEPT.glob("*/*.tar.xz")
    if path.name != releases.CODE
)


@pytest.fixture(params=RELEASES)
def kept(request: pytest.FixtureRequest) -> Path:
    """The folder of each release."""
    return releases.KEPT / str(request.param)


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest) -> Path:
    """Each directory that a release left, packed: `trimmed` ones have no beginning of their log."""
    return releases.KEPT / str(request.param)


@pytest.fixture
def directory(archive: Path, tmp_path: Path) -> Path:
    """A node's directory as that release left it."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "n1"


class Wire(TypedDict):
    """What was said: frames as hexadecimal text."""

    hello: list[str]
    asked: list[str]
    replies: list[str]
    members: list[tuple[str, str, dict[str, str]]]


def wire(kept: Path) -> Wire:
    """What that release said."""
    found: Wire = json.loads((kept / "wire.json").read_text(encoding="utf-8"))
    return found


def contents(directory: Path) -> dict[Path, bytes]:
    """Every file but the lock."""
    files = (path for path in directory.rglob("*") if path.is_file() and path.name != "lock")
    return {path: path.read_bytes() for path in files}


def test_this_release_is_kept() -> None:
    assert qsync.__version__ in RELEASES


def test_a_log_from_its_beginning_and_one_without_it_are_kept(
    directory: Path, archive: Path
) -> None:
    trimmed = archive.name.startswith("trimmed")
    identity = json.loads((directory / "identity.json").read_text(encoding="utf-8"))
    assert identity["format"] == (FORMAT_TRIMMED if trimmed else FORMAT)
    assert bool(snapshot_files(directory / SNAPSHOTS)) == trimmed


def test_terms_of_what_was_trimmed_are_known_where_they_were_kept(
    directory: Path, archive: Path
) -> None:
    start = scan_log(directory / "log").start
    assert bool(start.terms) == archive.name.startswith("trimmed-older")
    if start.terms:
        told = (directory / "log" / OLDER).read_bytes()
        assert logstart.decode(told).index >= start.index
        (directory / "log" / OLDER).write_bytes(told[:-1])
        assert scan_log(directory / "log").start == start.alone()


async def test_a_directory_of_a_former_release_has_all_its_rows_and_takes_more(
    directory: Path,
) -> None:
    for _ in range(2):  # what this release makes of it can be opened, too
        async with releases.leading(releases.config(directory), moved=True) as address:
            await trio.to_thread.run_sync(_look, address)


def _look(address: str) -> None:
    with qsync.connect(address) as db:
        accounts = db.space("accounts")
        wanted = releases.balances()
        assert {row[0]: row[2] for row in accounts.select(iterator="all")} == wanted
        assert accounts.count(["owner 1"], index="owner") == sum(n % 5 == 1 for n in wanted)
        assert db.space("notes").get(2) == [2, "of a client"]
        assert db.space("notes").get(1) == [1, None]
        accounts.insert([10_000, "new", 1])
        accounts.delete(10_000)
        rows = db.space("_settings").select(iterator="all")
        assert ["replication.synchro_timeout", "7s"] in rows


async def test_a_client_of_a_former_release_is_understood(directory: Path, archive: Path) -> None:
    async with releases.leading(releases.config(directory), moved=True) as address:
        await trio.to_thread.run_sync(partial(_replay, address, wire(archive.parent)))


def _replay(address: str, said: Wire) -> None:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port))) as line:
        releases.greeted(line)
        for ask, before in zip(said["asked"], said["replies"], strict=True):
            then = replies.decode(bytes.fromhex(before))
            now = replies.decode(releases.asked(line, bytes.fromhex(ask)))
            assert then[0] == now[0]
            assert type(then[1]) is type(now[1])
            if isinstance(then[1], QsyncError):
                assert isinstance(now[1], QsyncError)
                assert then[1].code == now[1].code
            elif isinstance(now[1], list):
                assert len(then[1]) <= len(now[1])


def test_a_node_of_a_former_release_is_understood(kept: Path) -> None:
    said = wire(kept)
    greeting, hello, ok = (bytes.fromhex(each) for each in said["hello"])
    dialer = Dialer(Hello(party=Party.CLIENT))
    assert dialer.received(greeting) is not None
    assert dialer.received(ok) is None
    assert dialer.greeting is not None
    assert dialer.greeting.name == "n1"
    assert hello


def test_members_of_a_former_release_are_understood(kept: Path) -> None:
    said = wire(kept)["members"]
    assert len(said) >= 12
    for text, kind, fields in said:
        frames = SealedFrames(limits.CLIENT_FRAME_BYTES_MAX)
        (payload,) = frames.feed(bytes.fromhex(text))
        message = peer_messages.decode(payload)
        assert type(message).__name__ == kind
        assert fields.items() <= releases.said_by(message).items()


async def test_a_directory_of_a_later_release_is_refused_and_left_as_it_is(
    directory: Path,
) -> None:
    identity = directory / "identity.json"
    later = json.loads(identity.read_text()) | {"format": LATER}
    identity.write_text(json.dumps(later))
    before = contents(directory)
    with pytest.raises(WrongFormat, match=f"has format {LATER}, this release knows") as caught:
        async with EmbeddedNode(releases.config(directory)):
            pass
    assert "use the release that wrote it" in str(caught.value)
    assert contents(directory) == before
