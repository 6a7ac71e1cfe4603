"""Users of a running node: logging in, losing rights, and who needs no password at all."""

import json
import socket
import stat
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

import qsync
from qsync import audit, socket_files
from qsync.client.login import ACTING, Credentials
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.data import tuples
from qsync.data.operation_kinds import Op
from qsync.error_details import BY_LEADER, RETRY_AFTER
from qsync.errors import AccessDenied, Overloaded, QsyncError, Unavailable
from qsync.node.embedded import EmbeddedNode
from qsync.node.node import open_node
from qsync.wire import limits, replies, requests, verbs
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import Frames
from qsync.wire.session import Dialer, Hello, Party
from qsync.wire.verbs import PlainRequest, RightsRequest, Verb
from tests.node.knocking import config
from tests.node.three import until

PASSWORD = "correct horse"
WITHIN_S = 5.0


async def prepare(address: str) -> None:
    """A space, `root`, and `ann`, who may read it."""
    async with qsync.connect_async(address) as db:
        await db.schema.create_space("mine", is_sync=True)
        await db.users.create("root", PASSWORD)
    async with qsync.connect_async(address, user="root", password=PASSWORD) as root:
        await root.users.create("ann", PASSWORD)
        await root.users.grant("ann", ["read", "write"], space="mine")


def trail(directory: Path) -> list[dict[str, object]]:
    """All lines that a node has written down."""
    return [
        json.loads(line)
        for path in audit.files_of(directory)
        for line in path.read_text().splitlines()
    ]


async def refused(line: AsyncNodeConnection, request: verbs.Request) -> QsyncError | None:
    """The error that comes, or None for an answer."""
    try:
        await line.ask(request)
    except QsyncError as error:
        return error
    return None


async def _life(path: Path) -> None:
    async with qsync.Node(config(path, alone=True)) as node:
        address = node.address
        early = await AsyncNodeConnection.open(address)
        await prepare(address)
        await _who_came_before_is_sent_away(early)
        await _who_gives_no_password_is_refused(address)
        await _a_wrong_password_is_refused(address)
        await _a_revoked_reader_is_refused_at_the_next_answer(address)
        await _who_may_do_everything_may_act_as_another(address)
        await _who_gets_another_password_is_disconnected(address)
        await _who_is_dropped_is_disconnected(address)
        await trio.to_thread.run_sync(_the_owner_needs_no_password, path / "n1")


async def _who_came_before_is_sent_away(early: AsyncNodeConnection) -> None:
    async with early:
        error = await refused(early, PlainRequest(1, Verb.STATUS))
        assert isinstance(error, AccessDenied | Unavailable)


async def _who_gives_no_password_is_refused(address: str) -> None:
    with pytest.raises(AccessDenied, match="log in"):
        await AsyncNodeConnection.open(address)


async def _a_wrong_password_is_refused(address: str) -> None:
    for user in ("root", "nobody"):
        with pytest.raises(AccessDenied, match="user or password is wrong") as told:
            await AsyncNodeConnection.open(address, credentials=Credentials(user, "wrong password"))
        assert told.value.details[BY_LEADER] is True


async def _a_revoked_reader_is_refused_at_the_next_answer(address: str) -> None:
    ann = Credentials("ann", PASSWORD)
    async with (
        qsync.connect_async(address, user="root", password=PASSWORD) as root,
        await AsyncNodeConnection.open(address, credentials=ann) as reader,
        await AsyncNodeConnection.open(address, credentials=ann) as writer,
    ):
        here = verbs.ChangesRequest(1, None, "mine", [], 0.0)
        _, upto, *_ = await reader.ask(here)
        assert isinstance(upto, int)
        found: list[QsyncError | None] = []

        async def wait_for_news() -> None:
            found.append(await refused(reader, here._replace(after=upto, wait=2.0)))

        with trio.fail_after(WITHIN_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait_for_news)
                await root.users.revoke("ann", ["read", "write"], space="mine")
        assert isinstance(found[0], AccessDenied)
        write = verbs.WriteRequest(1, b"", 0, 0, 0, [[1, "mine", b"\x81\x01"]])
        assert isinstance(await refused(writer, write), AccessDenied)


async def _who_may_do_everything_may_act_as_another(address: str) -> None:
    """And is judged as that one: he has no more rights, and nobody else may be another."""
    root, ann = Credentials("root", PASSWORD), Credentials("ann", PASSWORD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ACTING, "ann")
        async with await AsyncNodeConnection.open(address, credentials=root) as line:
            (about,) = await line.ask(RightsRequest(1))
            assert isinstance(about, dict)
            assert about["user"] == "ann"
            assert isinstance(await refused(line, PlainRequest(1, Verb.SNAPSHOT)), AccessDenied)
        await (await AsyncNodeConnection.open(address, credentials=ann)).close()
        patch.setenv(ACTING, "nobody")
        with pytest.raises(AccessDenied, match="no user 'nobody' to act as"):
            await AsyncNodeConnection.open(address, credentials=root)
        for other in ("root", "nobody", "admin"):
            patch.setenv(ACTING, other)
            with pytest.raises(AccessDenied, match="lacks the right super"):
                await AsyncNodeConnection.open(address, credentials=ann)


async def _who_gets_another_password_is_disconnected(address: str) -> None:
    """But for the client that changed its own: it goes on, over connections with the new one."""
    async with (
        qsync.connect_async(address, user="ann", password=PASSWORD) as own,
        await AsyncNodeConnection.open(
            address, credentials=Credentials("ann", PASSWORD)
        ) as session,
    ):
        await own.users.set_password("ann", "another horse")
        with trio.fail_after(WITHIN_S), pytest.raises(Unavailable):
            await session.receive()
        assert (await own.users.info())["user"] == "ann"
        with pytest.raises(AccessDenied, match="user or password is wrong"):
            await AsyncNodeConnection.open(address, credentials=Credentials("ann", PASSWORD))
    async with qsync.connect_async(address, user="root", password=PASSWORD) as root:
        await root.users.set_password("ann", PASSWORD)


async def _who_is_dropped_is_disconnected(address: str) -> None:
    async with (
        qsync.connect_async(address, user="root", password=PASSWORD) as root,
        await AsyncNodeConnection.open(
            address, credentials=Credentials("ann", PASSWORD)
        ) as session,
    ):
        await root.users.drop("ann")
        with trio.fail_after(WITHIN_S), pytest.raises(Unavailable):
            await session.receive()


def _the_owner_needs_no_password(directory: Path) -> None:
    path = directory / socket_files.FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    dialer, frames = Dialer(Hello(party=Party.CLIENT)), Frames(limits.HANDSHAKE_BYTES_MAX)
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(WITHIN_S)
        line.connect(str(path))
        while dialer.state is not ConnectionState.READY:
            for payload in frames.feed(line.recv(4096)):
                said = dialer.received(payload)
                if said is not None:
                    line.sendall(said)
        line.sendall(requests.encode(RightsRequest(1)))
        answers: list[bytes] = []
        while not answers:
            answers = frames.feed(line.recv(65536))
    told = replies.decode(answers[0])[1]
    assert isinstance(told, list)
    about = told[0]
    assert isinstance(about, dict)
    assert about["user"] == "admin"
    assert about["rights"]["universe"] == ["super"]


def test_a_life_with_users(tmp_path: Path) -> None:
    trio.run(_life, tmp_path)
    directory = tmp_path / "n1"
    assert not (directory / socket_files.FILE).exists()
    lines = trail(directory)
    events = [line["event"] for line in lines]
    assert {"login", "login_failed", "denied", "write"} <= set(events)
    missing = [str(line["why"]) for line in lines if line["event"] == "denied"]
    assert "read on space 'mine'" not in missing  # judged again while it waited, not when asked
    assert "write on space 'mine'" in missing
    failed = [(line["user"], line["why"]) for line in lines if line["event"] == "login_failed"]
    assert failed.count(("ann", "super on the universe")) == 3, "attempts to act as another"
    made = [line["asked"] for line in lines if line["event"] == "write"]
    assert "create_user" in str(made)
    assert "(set)" in str(made)
    assert "stored" not in str(made)
    texts = list(audit.lines_of(audit.files_of(directory)))
    verdict = audit.verify(texts)
    assert verdict.faults == ()
    assert verdict.lines == len(lines)
    assert audit.verify(texts[:5] + texts[6:]).faults
    assert audit.verify(texts[:-1], kept=[verdict.head]).faults


async def _retries(path: Path, told: dict[str, object]) -> None:
    """What each user is answered with the token of ann's insert, who may only write."""
    async with qsync.Node(config(path, alone=True)) as node:
        await prepare(node.address)
        async with qsync.connect_async(node.address, user="root", password=PASSWORD) as root:
            await root.users.create("bob", PASSWORD)
            await root.users.revoke("ann", ["read"], space="mine")
            await root.schema.create_space("his", is_sync=True)
            await root.users.grant("bob", ["write"], space="his")
        number: tuple[bytes, int] = (b"", 0)
        for user in ("ann", "ann", "bob", "root"):
            who = Credentials(user, PASSWORD)
            async with await AsyncNodeConnection.open(node.address, credentials=who) as line:
                if not number[1]:
                    opening = [int(Op.OPEN_SESSION), b"seed"]
                    opened = await line.ask(verbs.WriteRequest(1, b"", 0, 0, 0, [opening]))
                    number = (tuples.stored(_row(opened))[0], 1)  # type: ignore[assignment]  # bytes
                space = "his" if user == "bob" else "mine"
                insert = [int(Op.INSERT), space, b"\x82\x01\x02"]
                told[user] = (await line.ask(verbs.WriteRequest(1, *number, 0, 0, [insert])))[4:]


async def _refused_retries(path: Path, told: dict[str, str]) -> None:
    """What each user hears with the token of ann's insert, which was refused for good."""
    async with qsync.Node(config(path, alone=True)) as node:
        await prepare(node.address)
        async with qsync.connect_async(node.address, user="root", password=PASSWORD) as root:
            await root.users.create("bob", PASSWORD)
            await root.users.revoke("ann", ["read"], space="mine")
            await root.space("mine").insert([4711])
        number: tuple[bytes, int] = (b"", 0)
        for user in ("ann", "bob", "root", "ann "):
            who = Credentials(user.strip(), PASSWORD)
            async with await AsyncNodeConnection.open(node.address, credentials=who) as line:
                if not number[1]:
                    opening = [int(Op.OPEN_SESSION), b"seed"]
                    opened = await line.ask(verbs.WriteRequest(1, b"", 0, 0, 0, [opening]))
                    number = (tuples.stored(_row(opened))[0], 1)  # type: ignore[assignment]  # bytes
                op: list[object] = [int(Op.GIVE_UP)]
                if user == "ann":
                    op = [int(Op.INSERT), "mine", tuples.encode([4711])]
                doubted = verbs.WriteFlags.DOUBTED
                error = await refused(line, verbs.WriteRequest(1, *number, 0, doubted, [op]))
                assert error is not None
                assert error.details["recorded"]
                told[user] = f"{error.code}: {error.message} {error.hint} {sorted(error.details)}"


async def _feed_of_a_revoked_reader(path: Path) -> None:
    """The space has another name meanwhile, which is none of his business."""
    async with qsync.Node(config(path, alone=True)) as node:
        await prepare(node.address)
        async with (
            qsync.connect_async(node.address, user="root", password=PASSWORD) as root,
            qsync.connect_async(node.address, user="ann", password=PASSWORD) as ann,
        ):
            feed = ann.watch("mine", after=0)
            await root.space("mine").replace([1])
            with trio.fail_after(WITHIN_S):
                assert (await anext(feed)).effects[0].row == [1]
                await root.schema.alter_space("mine", name="secret")
                for _ in range(2):
                    with pytest.raises(AccessDenied) as ended:
                        await anext(feed)
                    error = ended.value
                    assert error.message == "user 'ann' lacks the right read on space 'mine'"
                    assert error.details["space"] == "mine"
                    assert "secret" not in repr(error)


def test_the_error_that_ends_a_feed_names_the_space_as_its_reader_did(tmp_path: Path) -> None:
    trio.run(_feed_of_a_revoked_reader, tmp_path)


def test_a_token_of_another_tells_that_it_was_refused_and_not_for_which_row(
    tmp_path: Path,
) -> None:
    told: dict[str, str] = {}
    trio.run(_refused_retries, tmp_path, told)
    assert "4711" in told["ann"]
    assert told["root"] == told["ann "] == told["ann"]
    assert told["bob"] == (
        "DUPLICATE_KEY: the request was refused; why exactly is told who may read or write what it "
        "was about  ['recorded']"
    )


def _row(answer: list[object]) -> bytes:
    """The first tuple of what a write is answered with."""
    results = answer[4]
    assert isinstance(results, list)
    assert isinstance(results[0], bytes)
    return results[0]


def test_a_token_of_another_tells_the_outcome_and_no_row(tmp_path: Path) -> None:
    told: dict[str, object] = {}
    trio.run(_retries, tmp_path, told)
    shown = [[b"\x82\x01\x02"], True]
    assert told == {"ann": shown, "bob": [[], True], "root": shown}


def test_a_path_that_is_too_long_for_a_socket_is_no_obstacle(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)

    async def live() -> None:
        async with EmbeddedNode(config(deep, alone=True)):
            assert (deep / "n1" / socket_files.FILE).is_socket()

    trio.run(live)


async def _hoarding(path: Path) -> None:
    few = config(path, alone=True, limits__sessions_max="20")
    async with qsync.Node(few) as node:
        await prepare(node.address)
        async with qsync.connect_async(node.address, user="root", password=PASSWORD) as root:
            await root.users.create("mallory", PASSWORD)
        async with await AsyncNodeConnection.open(
            node.address, credentials=Credentials("mallory", PASSWORD)
        ) as line:
            errors = []
            for each in range(30):
                opening = [[int(Op.OPEN_SESSION), bytes([each, 1])]]
                write = verbs.WriteRequest(1, b"", 0, 0, verbs.WriteFlags.NONE, opening)
                errors.append(await refused(line, write))
        assert errors[:10] == [None] * 10
        assert all("sessions_per_user_max" in str(each and each.hint) for each in errors[10:])
        async with qsync.connect_async(node.address, user="ann", password=PASSWORD) as ann:
            await ann.space("mine").insert([1])


def test_who_opens_all_the_sessions_he_can_keeps_nobody_else_from_writing(tmp_path: Path) -> None:
    trio.run(_hoarding, tmp_path)


async def _crowding(path: Path) -> None:
    few = config(path, alone=True, limits__connections_max="10")
    async with open_node(few) as node, AsyncExitStack() as open_ones:
        address = node.address
        await prepare(address)
        await until(lambda: node.server.room.count == 0, "who made the users is gone")

        async def enter(user: str) -> AsyncNodeConnection:
            line = await AsyncNodeConnection.open(address, credentials=Credentials(user, PASSWORD))
            return await open_ones.enter_async_context(line)

        first = await enter("ann")
        for _ in range(8):
            await enter("ann")
        with pytest.raises(Overloaded, match="user 'ann' has 9 connections") as told:
            await enter("ann")
        assert told.value.details[RETRY_AFTER]
        other = await enter("root")
        with pytest.raises(Overloaded, match="10 clients are connected"):
            await enter("root")
        await trio.to_thread.run_sync(_the_owner_needs_no_password, path / "n1")
        await first.close()
        await until(lambda: node.server.room.count == 9, "one of hers is gone")
        with pytest.raises(Overloaded, match="9 tenths of the 9 that other users leave"):
            await enter("ann")
        await other.close()
        await until(lambda: node.server.room.count == 8, "the other one is gone, too")
        await enter("ann")


def test_one_user_leaves_connections_for_others_and_the_owner_always_gets_in(
    tmp_path: Path,
) -> None:
    trio.run(_crowding, tmp_path)
