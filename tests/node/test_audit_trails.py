"""Audit trails of running nodes: who keeps them, and what is refused while nothing is written."""

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest
import trio

import qsync
from admin.cluster import audit_heads
from cli.main import run
from qsync import audit
from qsync.client.login import Credentials
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.data.operation_kinds import Op
from qsync.errors import AccessDenied, QsyncError, StoreError, TooLarge
from qsync.node.node import Node
from qsync.wire.verbs import OptionsRequest, PlainRequest, PromoteRequest, Verb, WriteRequest
from tests.node.knocking import config
from tests.node.three import configs, leaders, running, until

PASSWORD = "correct horse"
ROOT = Credentials("root", PASSWORD)


def lines(directory: Path) -> list[dict[str, object]]:
    return [
        json.loads(text)
        for path in audit.files_of(directory)
        if path.is_file()
        for text in path.read_text().splitlines()
    ]


async def refused(line: AsyncNodeConnection, request: OptionsRequest | PlainRequest) -> str:
    try:
        await line.ask(request)
    except QsyncError as error:
        return error.code
    return ""


async def _refuses(path: Path, kept_of_passwords: list[bytes]) -> None:
    async with qsync.Node(config(path, alone=True, audit__on_failure="refuse")) as node:
        address, directory = node.address, path / "n1"
        async with qsync.connect_async(address) as db:
            await db.schema.create_space("mine", is_sync=True)
            await db.users.create("root", PASSWORD)
        async with (
            qsync.connect_async(address, user="root", password=PASSWORD) as root,
            await AsyncNodeConnection.open(address, credentials=ROOT) as line,
        ):
            await root.space("mine").insert([1])
            kept = directory / "kept.jsonl"
            (directory / audit.FILE).rename(kept)
            (directory / audit.FILE).mkdir()
            await root.space("mine").insert([2])  # no line: the log tells it
            assert await root.space("mine").count() == 2
            with pytest.raises(StoreError, match="cannot be written down"):
                await root.schema.create_space("other")
            with pytest.raises(StoreError, match="cannot be written down"):
                await root.users.create("ann", PASSWORD)
            asked = OptionsRequest(1, {"replication.timeout": "1s"})
            assert await refused(line, asked) == StoreError.code
            assert await refused(line, OptionsRequest(2, {})) == ""  # it only asks
            assert await refused(line, PlainRequest(3, Verb.SNAPSHOT)) == StoreError.code
            with pytest.raises(StoreError, match="cannot be written down"):
                await AsyncNodeConnection.open(address, credentials=ROOT)
            (directory / audit.FILE).rmdir()
            kept.rename(directory / audit.FILE)
            await root.schema.create_space("other")
            assert set(await root.users.list()) >= {"root"}
            assert "ann" not in await root.users.list()
            status = await line.ask(PlainRequest(4, Verb.STATUS))
            assert status[0]["counters"]["audit_unwritten"] >= 5  # type: ignore[index]  # a map
            rows = await root.space("_user").select()
            kept_of_passwords += [each for row in rows for each in _bytes_in(row)]


def _bytes_in(value: object) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    for each in value.values() if isinstance(value, dict) else value if is_list(value) else ():
        yield from _bytes_in(each)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list | tuple)


def test_what_cannot_be_written_down_is_refused_by_a_running_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what passwords are checked by is in no dump, and in no line of the trail."""
    kept_of_passwords: list[bytes] = []
    trio.run(_refuses, tmp_path, kept_of_passwords)
    assert len({each for each in kept_of_passwords if len(each) == 32}) >= 3
    for more in ([], ["--redact"]):
        out = tmp_path / f"out{len(more)}"
        assert run(["dump", str(tmp_path / "n1"), "--out", str(out), *more]) == 0
    capsys.readouterr()
    shown = [*tmp_path.glob("out*/**/*"), *audit.files_of(tmp_path / "n1")]
    there = b"".join(each.read_bytes() for each in shown if each.is_file()).lower()
    assert len(there) > 1000
    for each in kept_of_passwords:
        for form in (each, each.hex().encode(), b64encode(each)):
            assert form.lower() not in there
    found = lines(tmp_path / "n1")
    verdict = audit.verify(audit.lines_of(audit.files_of(tmp_path / "n1")))
    assert verdict.faults == ()
    assert "other" in str(found[-2:])
    assert "ann" not in str(found)
    events = [each["event"] for each in found]
    assert events[-1] == "stopped"


async def _witnesses(path: Path, env: pytest.MonkeyPatch) -> None:
    wanted = configs(path, audit__heads_interval="100ms")
    async with running(wanted) as nodes:
        await until(lambda: len(leaders(nodes)) == 1, "one leads")
        leader = leaders(nodes)[0]
        async with qsync.connect_async(leader.address) as db:
            await db.users.create("root", PASSWORD)
        async with await AsyncNodeConnection.open(leader.address, credentials=ROOT):
            pass  # a login is a line
        others = [each for each in nodes if each is not leader]
        head = leader.queries.audit.head
        await until(
            lambda: all(known(each, leader) >= head.number for each in others), "it is known"
        )
        env.setenv("QSYNC_USER", "root")
        env.setenv("QSYNC_PASSWORD", PASSWORD)
        instance, seeds = leader.identity.instance, [others[0].address]
        kept = await trio.to_thread.run_sync(audit_heads.known, seeds, instance)
        assert len(kept) == 3  # its own, and that of each other
        trail = leader.config.node.dir / audit.FILE
        assert audit.verify(audit.lines_of([trail]), kept=kept).faults == ()
        whole = trail.read_text()
        trail.write_text(whole.splitlines(keepends=True)[0])
        faults = audit.verify(audit.lines_of([trail]), kept=kept).faults
        assert "the trail was cut" in faults[0].text
        trail.write_text(whole)
        async with await AsyncNodeConnection.open(others[0].address, credentials=ROOT) as line:
            await line.ask(PromoteRequest(1, 10.0))
        await until(lambda: leaders(nodes) == others[:1], "the other one leads")


def known(node: Node, other: Node) -> int:
    """How much of another trail a node has written down."""
    instance = other.identity.instance
    told = audit.heads_told(audit.lines_of(audit.files_of(node.config.node.dir)), instance)
    return max((each.number for each in told), default=0)


def test_the_others_keep_how_far_a_trail_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trio.run(_witnesses, tmp_path, monkeypatch)
    events: set[str] = set()
    for number in (1, 2, 3):
        found = lines(tmp_path / f"n{number}")
        assert [each["n"] for each in found] == list(range(1, len(found) + 1))
        events |= {str(each["event"]) for each in found}
        members = {each["name"] for each in found if each["event"] == "head"}
        assert members < {"n1", "n2", "n3"}
        assert f"n{number}" not in members
    assert {"users", "head", "promote", "elected", "stepped_down", "login", "stopped"} <= events


async def _floods(path: Path) -> None:
    """Whoever may log in does so, and asks for what he may not."""
    given = config(path, alone=True, audit__lines_per_user_max="2", audit__counts_interval="1d")
    async with qsync.Node(given) as node:
        address = node.address
        async with qsync.connect_async(address) as db:
            await db.users.create("root", PASSWORD)
        async with qsync.connect_async(address, user="root", password=PASSWORD) as root:
            await root.users.create("mallory", PASSWORD)
        for _ in range(3):
            credentials = Credentials("mallory", PASSWORD)
            async with await AsyncNodeConnection.open(address, credentials=credentials) as line:
                with pytest.raises(AccessDenied):
                    await line.ask(PromoteRequest(1, 1.0))
                grant: list[object] = [Op.GRANT, "mallory", "super", "universe", ""]
                with pytest.raises(TooLarge):
                    await line.ask(WriteRequest(2, b"", 0, 0, 0, [grant] * 65_000))


def test_what_a_flood_counted_is_in_the_trail_when_the_node_has_stopped(tmp_path: Path) -> None:
    trio.run(_floods, tmp_path)
    directory = tmp_path / "n1"
    found = [(each["event"], each.get("count")) for each in lines(directory)]
    of_mallory = [each for each in found[found.index(("write", None)) :] if each[0] != "users"]
    assert ("denied", 2) in of_mallory
    assert ("login", 2) in of_mallory
    assert ("write", 3) in of_mallory
    assert found[-1] == ("stopped", None)
    texts = audit.lines_of(audit.files_of(directory))
    assert not audit.verify(texts).faults
    assert (directory / audit.FILE).stat().st_size < 10_000
