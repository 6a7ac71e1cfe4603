"""Every verb and operation, by every role, on an own, a foreign and a missing object: a real node.

What is expected is written out here once more, by hand, so that the table of the product is held
against something that is not itself.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Final

import cbor2
import pytest
import trio

import qsync
from election.messages import Index
from qsync.client.login import Credentials
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.core.consistency import Consistency
from qsync.data.operation_kinds import Op
from qsync.errors import AccessDenied, Conflict, NoSuchSpace, QsyncError
from qsync.rights import ROLES
from qsync.wire import verbs
from qsync.wire.verbs import PlainRequest, ReadLevel, Verb, WriteRequest
from tests.node.knocking import config

OWN, FOREIGN, MISSING = "own.a", "foreign", "missing"
OBJECTS: Final = (OWN, FOREIGN, MISSING)
PASSWORD = "correct horse"
USERS: Final = (*ROLES, "owner", "plain")
"""One of each ready-made role; who owns `own.*`; who may log in and no more."""
ON_OWN = ("read", "write", "create", "alter", "drop")
LOCAL = ReadLevel(Consistency.LOCAL)
HELD: Final[Mapping[str, frozenset[str]]] = {
    "reader": frozenset({"read"}),
    "writer": frozenset({"read", "write"}),
    "operator": frozenset({"promote", "demote", "clear", "member", "settings", "trace"}),
    "auditor": frozenset({"audit"}),
    "replication": frozenset({"backup", "dump"}),
    "owner": frozenset(),
    "plain": frozenset(),
}
"""Everywhere, beside `session` and `usage`."""


def may(user: str, right: str, space: str | None = None) -> bool:
    """Has that user the right, on that space or everywhere?"""
    if user == "super" or right == "session" or right in HELD[user]:
        return True
    return user == "owner" and right in ON_OWN and space is not None and space.startswith("own.")


ASKED: Final[Mapping[Verb, str]] = {
    Verb.PING: "session",
    Verb.SCHEMA: "session",
    Verb.WRITE: "write",
    Verb.GET: "read",
    Verb.SELECT: "read",
    Verb.COUNT: "read",
    Verb.STATUS: "session",
    Verb.INFO: "session",
    Verb.PROMOTE: "promote",
    Verb.DEMOTE: "demote",
    Verb.CLEAR: "clear",
    Verb.ROLLBACK_QUEUE: "clear",
    Verb.LOG: "dump",
    Verb.DIGEST: "read",
    Verb.LOST: "session",
    Verb.DRY_RUN: "demote",
    Verb.TX_GET: "read",
    Verb.WATCH: "session",
    Verb.CHANGES: "read",
    Verb.OPTIONS: "settings",
    Verb.SNAPSHOT: "backup",
    Verb.TRACE: "trace",
    Verb.FAULT: "fault",
    Verb.PACKED: "dump",
    Verb.CHANGE_MEMBER: "member",
    Verb.SNAPSHOT_READ: "backup",
    Verb.RIGHTS: "audit",
    Verb.RELOAD: "settings",
}
OF_SPACES: Final = frozenset(
    {*(Verb.WRITE, Verb.GET, Verb.SELECT, Verb.COUNT, Verb.DIGEST, Verb.TX_GET, Verb.CHANGES)}
)
GUARDED: Final = [Op.REQUIRE_EXISTENCE, "guard", 0, [1], True]
"""Fails, so nothing of the transaction is done. Everybody may read that space."""


def question(verb: Verb, space: str) -> verbs.Request:
    """One that does no harm where it is allowed."""
    row = cbor2.dumps([1])
    made: dict[Verb, verbs.Request] = {
        Verb.WRITE: WriteRequest(1, b"", 0, 0, 0, [[Op.INSERT, space, row], [*GUARDED]]),
        Verb.GET: verbs.GetRequest(1, space, 0, [1], LOCAL),
        Verb.SELECT: verbs.SelectRequest(1, space, 0, "all", [], 1, level=LOCAL),
        Verb.COUNT: verbs.CountRequest(1, space, 0, "all", [], LOCAL),
        Verb.INFO: verbs.InfoRequest(1, "term"),
        Verb.PROMOTE: verbs.PromoteRequest(1, 5.0),
        Verb.DEMOTE: verbs.DemoteRequest(1, 31, 5.0),
        Verb.CLEAR: verbs.ClearRequest(1, 5.0),
        Verb.LOG: verbs.LogRequest(1, Index(1), 1, 100),
        Verb.DIGEST: verbs.DigestRequest(1, space),
        Verb.DRY_RUN: verbs.DryRunRequest(1, "demote"),
        Verb.TX_GET: verbs.TxGetRequest(1, [], space, 0, [1], LOCAL),
        Verb.WATCH: verbs.WatchRequest(1, "box.id", None, 0.0),
        Verb.CHANGES: verbs.ChangesRequest(1, None, space, [], 0.0),
        Verb.OPTIONS: verbs.OptionsRequest(1, {"no_such_option": 1}),
        Verb.TRACE: verbs.TraceRequest(1, 1, 0.0),
        Verb.FAULT: verbs.FaultRequest(1, "no such point", arm=True),
        Verb.PACKED: verbs.PackedRequest(1, Index(1), 1, 0),
        Verb.CHANGE_MEMBER: verbs.ChangeMemberRequest(
            1, "remove", 9, "", "", "", "", force=False, dry_run=True, timeout=5.0
        ),
        Verb.SNAPSHOT_READ: verbs.SnapshotReadRequest(1, Index(99), 0, 1),
        Verb.RIGHTS: verbs.RightsRequest(1, "*"),
    }
    return made.get(verb, PlainRequest(1, verb))


CHANGED: Final[Mapping[Op, tuple[str, ...]]] = {
    Op.INSERT: ("write",),
    Op.REPLACE: ("write",),
    Op.UPDATE: ("write", "read"),
    Op.UPSERT: ("write",),
    Op.DELETE: ("write", "read"),
    Op.TRUNCATE: ("write",),
    Op.CREATE_SPACE: ("create",),
    Op.ALTER_SPACE: ("alter",),
    Op.DROP_SPACE: ("drop",),
    Op.CREATE_INDEX: ("alter",),
    Op.DROP_INDEX: ("alter",),
    Op.NEXT_VALUE: ("write",),
    Op.CREATE_SEQUENCE: ("create",),
    Op.CHANGE_SETTINGS: ("settings",),
    Op.REQUIRE_EQUAL: ("read",),
    Op.REQUIRE_EXISTENCE: ("read",),
    Op.OPEN_SESSION: ("session",),
    Op.EXPIRE_SESSION: ("session",),
    Op.GIVE_UP: ("session",),
    Op.REGISTER_CONSUMER: ("read",),
    Op.ADVANCE_CONSUMER: ("read",),
    Op.MOVE_REPLICA: ("member",),
    Op.LET_GO_CONSUMER: ("member",),
    Op.DROP_CONSUMER: ("member",),
    **dict.fromkeys(
        (
            *(Op.ENABLE_USERS, Op.CREATE_USER, Op.ALTER_USER, Op.DROP_USER, Op.CREATE_ROLE),
            *(Op.DROP_ROLE, Op.GRANT, Op.REVOKE),
        ),
        ("super",),
    ),
}
OLD: Final = "old"
"""A consumer of the log that was registered before there were users: it belongs to nobody."""
CONSUMERS: Final = ("own", "foreign", OLD, MISSING)
OF_CONSUMERS: Final = (
    *(Op.REGISTER_CONSUMER, Op.ADVANCE_CONSUMER, Op.LET_GO_CONSUMER, Op.DROP_CONSUMER),
)


def may_change(user: str, op: Op, whose: str) -> bool:
    """May that user do that to a consumer?"""
    read, member = may(user, "read"), may(user, "member")
    if op in (Op.REGISTER_CONSUMER, Op.ADVANCE_CONSUMER):
        return read and (member or whose != "foreign")
    return member or (read and (whose == "own" or (whose, op) == (MISSING, Op.DROP_CONSUMER)))


EVERYWHERE: Final = frozenset(op for op in Op if op >= Op.OPEN_SESSION) | {Op.CHANGE_SETTINGS}
"""On no space."""


def operation(op: Op, space: str) -> list[object]:
    """With arguments that would do for it."""
    row, key = cbor2.dumps([1]), [1]
    made: dict[Op, list[object]] = {
        Op.INSERT: [space, row],
        Op.REPLACE: [space, row],
        Op.UPDATE: [space, 0, key, [["=", 2, 1]]],
        Op.UPSERT: [space, row, [["=", 2, 1]]],
        Op.DELETE: [space, 0, key],
        Op.TRUNCATE: [space],
        Op.CREATE_SPACE: [space, None],
        Op.ALTER_SPACE: [space, {"is_sync": False}],
        Op.DROP_SPACE: [space],
        Op.CREATE_INDEX: [space, "i", None],
        Op.DROP_INDEX: [space, "i"],
        Op.NEXT_VALUE: [space],
        Op.CREATE_SEQUENCE: [space, None],
        Op.CHANGE_SETTINGS: [{}],
        Op.REQUIRE_EQUAL: [space, 0, key, None],
        Op.REQUIRE_EXISTENCE: [space, 0, key, False],
        Op.OPEN_SESSION: [b"s"],
        Op.EXPIRE_SESSION: [b"s"],
        Op.GIVE_UP: [],
        Op.REGISTER_CONSUMER: ["c", "backup", None, ""],
        Op.ADVANCE_CONSUMER: ["c", 1],
        Op.MOVE_REPLICA: ["c", 1],
        Op.LET_GO_CONSUMER: ["c"],
        Op.DROP_CONSUMER: [OLD],
        Op.ENABLE_USERS: [bytes(32)],
        Op.CREATE_USER: ["new", None],
        Op.ALTER_USER: ["plain2", None],
        Op.DROP_USER: ["plain2", None],
        Op.CREATE_ROLE: ["new", None],
        Op.DROP_ROLE: ["new", None],
        Op.GRANT: ["plain", "read", "universe", ""],
        Op.REVOKE: ["plain", "usage", "universe", ""],
    }
    return [op, *made[op]]


Answer = QsyncError | None
Cell = tuple[str, str, str]


async def ask(node: AsyncNodeConnection, request: verbs.Request) -> Answer:
    """The error that was answered, if one was."""
    try:
        await node.ask(request)
    except QsyncError as error:
        return error
    return None


async def _prepare(address: str) -> None:
    async with qsync.connect_async(address) as db:
        for name in (OWN, FOREIGN, "guard"):
            await db.schema.create_space(name, is_sync=True)
        await db.consumers.register(OLD)
        await db.users.create("first", PASSWORD)
    async with qsync.connect_async(address, user="first", password=PASSWORD) as db:
        await db.consumers.register("of first")
        for name in USERS:
            await db.users.create(f"{name}_", PASSWORD)
            await db.users.grant(f"{name}_", ["read"], space="guard")
            if name in ROLES:
                await db.users.grant(f"{name}_", role=name)
        await db.users.grant("owner_", ON_OWN, space="own.*")
        for name in USERS:
            await db.users.grant(f"{name}_", ["read"])
            async with qsync.connect_async(address, user=f"{name}_", password=PASSWORD) as theirs:
                await theirs.consumers.register(f"of {name}")
            await db.users.revoke(f"{name}_", ["read"])


def named(user: str, whose: str) -> str:
    """The name of a consumer."""
    return {"own": f"of {user}", "foreign": "of first"}.get(whose, whose)


async def _fill(path: Path, cells: dict[Cell, Answer]) -> None:
    async with qsync.Node(config(path, alone=True)) as node:
        await _prepare(node.address)
        for user in USERS:
            who = Credentials(f"{user}_", PASSWORD)
            async with await AsyncNodeConnection.open(node.address, credentials=who) as line:
                for space in OBJECTS:
                    for verb in Verb:
                        cells[user, repr(verb), space] = await ask(line, question(verb, space))
                    for op in Op:
                        ops = [operation(op, space), [*GUARDED]]
                        asked = WriteRequest(1, b"", 0, 0, 0, ops)
                        cells[user, repr(op), space] = await ask(line, asked)
                for whose, op in product(CONSUMERS, OF_CONSUMERS):
                    changed = operation(op, "")
                    changed[1] = named(user, whose)
                    asked = WriteRequest(1, b"", 0, 0, 0, [changed, [*GUARDED]])
                    cells[user, repr(op), f"consumer {whose}"] = await ask(line, asked)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[Cell, Answer]:
    """The result of each request: one node, one process, every cell."""
    found: dict[Cell, Answer] = {}
    trio.run(_fill, tmp_path_factory.mktemp("matrix"), found)
    return found


def refused(answer: Answer) -> bool:
    """For a right: a node that may not be broken on purpose says so in other words."""
    return isinstance(answer, AccessDenied) and "privilege" in answer.details


@pytest.mark.parametrize("user", USERS)
def test_every_verb_is_allowed_or_refused_as_written_here(
    cells: dict[Cell, Answer], user: str
) -> None:
    assert set(ASKED) == set(Verb)
    wrong = []
    for verb, right in ASKED.items():
        for space in OBJECTS:
            allowed = may(user, right, space if verb in OF_SPACES else None)
            answer = cells[user, repr(verb), space]
            if refused(answer) is allowed:
                wrong.append((verb.name, space, allowed, answer))
    assert wrong == []


@pytest.mark.parametrize("user", USERS)
def test_every_operation_is_allowed_or_refused_as_written_here(
    cells: dict[Cell, Answer], user: str
) -> None:
    assert set(CHANGED) == set(Op)
    wrong = []
    for op, rights in CHANGED.items():
        for space in OBJECTS:
            of = None if op in EVERYWHERE else space
            allowed = all(may(user, right, of) for right in rights)
            answer = cells[user, repr(op), space]
            if refused(answer) is allowed:
                wrong.append((op.name, space, allowed, answer))
    assert wrong == []


@pytest.mark.parametrize("user", USERS)
def test_every_consumer_is_changed_by_those_who_may_as_written_here(
    cells: dict[Cell, Answer], user: str
) -> None:
    wrong = []
    for whose, op in product(CONSUMERS, OF_CONSUMERS):
        answer = cells[user, repr(op), f"consumer {whose}"]
        if refused(answer) is may_change(user, op, whose):
            wrong.append((op.name, whose, answer))
    assert wrong == []


def test_nothing_tells_a_foreign_space_from_one_that_is_not_there(
    cells: dict[Cell, Answer],
) -> None:
    told = 0
    for user in USERS:
        for what in (*Verb, *Op):
            foreign, missing = (cells[user, repr(what), space] for space in (FOREIGN, MISSING))
            if refused(foreign):
                told += 1
                assert str(foreign).replace(FOREIGN, MISSING) == str(missing), (user, what)
    assert told > len(Verb)


def test_what_is_allowed_reaches_the_data(cells: dict[Cell, Answer]) -> None:
    """The matrix asked in earnest: conditions failed, and spaces were not there."""
    assert isinstance(cells["owner", repr(Op.INSERT), OWN], Conflict)
    assert isinstance(cells["reader", repr(Verb.GET), MISSING], NoSuchSpace)
    assert cells["owner", repr(Verb.GET), OWN] is None
