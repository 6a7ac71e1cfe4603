"""What a user without rights may ask tells nothing of spaces, rows and users that are not his."""

from pathlib import Path
from typing import Final

import pytest
import trio

import qsync
from qsync import refusing
from qsync.client.login import Credentials
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.core.consistency import Consistency
from qsync.data import tuples
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.errors import AccessDenied, DuplicateKey, QsyncError
from qsync.node.node import open_node
from qsync.wire import verbs
from qsync.wire.verbs import PlainRequest, Verb
from tests.node.knocking import config

PASSWORD = "correct horse"
SPACE, ROW, USER, ROLE = "hidden-space", "hidden-row", "hidden-user", "hidden-role"
SECRETS: Final = (SPACE, ROW, USER, ROLE)
BROADCAST = ("box.id", "box.status", "box.election", "box.synchro")
PARTS = (None, "", "settings", "events", "stalls", "audit", "log_start", "counters", "no such part")
"""Of INFO: the whole record, what there is beside it, and what is not there."""
QUESTIONS: Final[tuple[verbs.Request, ...]] = (
    *(PlainRequest(1, verb) for verb in (Verb.PING, Verb.SCHEMA, Verb.STATUS, Verb.LOST)),
    *(verbs.InfoRequest(1, part) for part in PARTS),
    *(verbs.WatchRequest(1, key, None, 0.0) for key in (*BROADCAST, "no such key")),
    verbs.OptionsRequest(1, {}),
    verbs.RightsRequest(1),
    verbs.RightsRequest(1, "nobody"),
    verbs.RightsRequest(1, "*"),
    verbs.ChangesRequest(1, 1, None, [], 0.0),
    verbs.DigestRequest(1, None),
    verbs.DryRunRequest(1, "demote"),
)
"""All that takes no right on a space, whether it is answered or refused."""


async def answers(address: str, who: str) -> str:
    """Everything that is said to that user."""
    said: list[str] = []
    async with await AsyncNodeConnection.open(
        address, credentials=Credentials(who, PASSWORD)
    ) as line:
        for question in QUESTIONS:
            try:
                said.append(repr(await line.ask(question)))
            except QsyncError as error:
                said.append(f"{error!r} {error.hint} {error.details}")
    return "\n".join(said)


async def _live(path: Path, told: dict[str, str]) -> None:
    async with qsync.Node(config(path, alone=True)) as node:
        async with qsync.connect_async(node.address) as db:
            await db.users.create("root", PASSWORD)
        async with qsync.connect_async(node.address, user="root", password=PASSWORD) as root:
            await root.users.create("plain", PASSWORD)
            await root.users.create(USER, PASSWORD)
            await root.users.create_role(ROLE)
            await root.schema.create_space(SPACE, is_sync=True)
            await root.space(SPACE).insert([1, ROW])
            await root.users.grant(USER, ["read"], space=SPACE)
            with pytest.raises(QsyncError):
                await root.space(SPACE).insert([1, ROW])
        for who in ("root", "plain"):
            told[who] = await answers(node.address, who)


def test_what_takes_no_right_on_a_space_tells_nothing_of_it(tmp_path: Path) -> None:
    """The same questions by who may do everything find all of it, so they could have."""
    told: dict[str, str] = {}
    trio.run(_live, tmp_path, told)
    assert [each for each in SECRETS if each in told["plain"]] == []
    assert [each for each in SECRETS if each in told["root"]] == [*SECRETS]
    assert told["plain"].count("lacks the right") >= 4


async def _previews(path: Path, told: dict[str, list[str]]) -> None:
    """What an upsert that does not fit says in each read of a transaction that has it."""
    async with qsync.Node(config(path, alone=True)) as node:
        async with qsync.connect_async(node.address) as db:
            await db.users.create("root", PASSWORD)
        async with qsync.connect_async(node.address, user="root", password=PASSWORD) as root:
            for name in ("kept", "own"):
                await root.schema.create_space(name, is_sync=True)
            await root.schema.create_index("kept", "by row", parts=[(2, "string")])
            for key in (1, 2):
                await root.space("kept").insert([key, f"{ROW}{key}", 4711])
            for who in ("plain", "ann"):
                await root.users.create(who, PASSWORD)
                await root.users.grant(who, ["write"], space="kept")
                await root.users.grant(who, ["read"], space="own")
            await root.users.grant("ann", ["read"], space="kept")
        level = verbs.ReadLevel(Consistency.LOCAL)
        upsert: list[object] = [
            *(int(Op.UPSERT), "kept", tuples.encode([1, "x"]), [["=", 2, f"{ROW}2"]])
        ]
        reads: list[verbs.Request] = [
            verbs.TxGetRequest(1, [upsert], "own", 0, [1], level),
            verbs.SelectRequest(1, "own", 0, "all", [], 9, level=level, ops=[upsert]),
            verbs.CountRequest(1, "own", 0, "all", [], level, [upsert]),
        ]
        for who in ("plain", "ann"):
            async with await AsyncNodeConnection.open(
                node.address, credentials=Credentials(who, PASSWORD)
            ) as line:
                for read in reads:
                    with pytest.raises(DuplicateKey) as refused:
                        await line.ask(read)
                    told.setdefault(who, []).append(refused.value.message)


def test_what_a_transaction_would_write_shows_no_row_when_it_is_refused(tmp_path: Path) -> None:
    told: dict[str, list[str]] = {}
    trio.run(_previews, tmp_path, told)
    assert [ROW in each for each in told["plain"]] == [False] * 3
    assert [ROW in each for each in told["ann"]] == [True] * 3


async def _waits(path: Path, found: dict[str, bool]) -> None:
    async with open_node(config(path, alone=True)) as node:
        async with qsync.connect_async(node.address) as db:
            await db.schema.create_space("sync", is_sync=True)
            await db.schema.create_space("async", is_sync=False)
            await db.users.create("root", PASSWORD)
        async with qsync.connect_async(node.address, user="root", password=PASSWORD) as root:
            await root.users.create("plain", PASSWORD)
        for space in ("sync", "async", "missing"):
            asked = Request(ops=[[Op.INSERT, space, b"\x81\x01"]], user="plain")
            with pytest.raises(AccessDenied) as refused:
                node.replica.state.execute(asked)
            waiting = refusing.waiting(node.replica, asked, refused.value)
            found[space] = waiting is not None


def test_how_long_a_denied_write_takes_tells_nothing_of_its_space(tmp_path: Path) -> None:
    """A refusal about a synchronous space waits for a quorum; so do those about any other."""
    found: dict[str, bool] = {}
    trio.run(_waits, tmp_path, found)
    assert found == {"sync": True, "async": True, "missing": True}
