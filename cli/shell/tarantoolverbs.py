"""Additional verbs for Tarantool scripts: refusals, savepoints, injections, `box.once`."""

import time
from collections.abc import Sequence
from typing import Final, Protocol

from admin.box.session import Box
from cli.shell import arguments, injections
from cli.shell.dataverbs import NOTHING, Verb
from cli.shell.refused import refusal_of
from cli.shell.runtime import MultipleValues
from cli.shell.values import plain
from qsync.client.draft import NoTransaction
from qsync.errors import DuplicateKey, WrongOperation, WrongTuple

ONCE: Final = "_once"
"""The synchronous space of the keys of `box.once`."""
_LOOK_S: Final = 0.005
"""How often `box.ctl.wal_sync` checks."""


class Pauses(Protocol):
    """The part of the shell that can wait."""

    async def pause(self, seconds: float) -> None:
        """Wait."""


class TarantoolVerbs:
    """Each gets the session and the arguments from Lua."""

    def __init__(self, host: Pauses) -> None:
        self._host = host

    def verbs(self) -> dict[str, Verb]:
        """Return the verbs by name."""
        return {
            "refuse": _refuse,
            "once": _once,
            "savepoint": _savepoint,
            "rollback_to_savepoint": _back_to,
            "ctl.wal_sync": self._wal_sync,
            "session.id": _session_id,
            "session.type": _session_type,
            "session.peer": _session_peer,
            "msgpack_encode": _msgpack_encode,
            "msgpack_decode": _msgpack_decode,
            **injections.verbs(),
        }

    async def _wal_sync(self, box: Box, _args: Sequence[object]) -> object:
        """Wait until the node's disk has its whole current log."""
        last = int(str((await box.node.status())["last"]))
        while int(str((await box.node.status())["written"])) < last:
            await self._host.pause(_LOOK_S)
        return NOTHING


async def _refuse(_box: Box, args: Sequence[object]) -> object:
    raise refusal_of(arguments.text(arguments.at(args, 0), "a name"))


async def _once(box: Box, args: Sequence[object]) -> object:
    """Insert the key; return whether it was new. Only one of several concurrent calls gets true."""
    if box.txn is not None:
        raise NoTransaction("box.once inside of a transaction", hint="commit it first")
    key = arguments.text(arguments.at(args, 0), "a key")
    await box.data.schema.create_space(
        ONCE,
        if_not_exists=True,
        is_sync=True,
        format=[("key", "string"), ("time", "double")],
        primary=["key"],
    )
    space = box.data.space(ONCE)
    if await space.get(key) is not None:
        return False
    try:
        await space.insert([key, time.clock_gettime(time.CLOCK_REALTIME)])
    except DuplicateKey:
        return False
    return True


async def _savepoint(box: Box, _args: Sequence[object]) -> object:
    if box.txn is None:
        raise NoTransaction("no transaction is open", hint="box.begin()")
    return box.txn.size


async def _back_to(box: Box, args: Sequence[object]) -> object:
    size = arguments.number(arguments.at(args, 0), "a savepoint")
    if box.txn is None or arguments.at(args, 1) is not True or size > box.txn.size:
        raise NoTransaction(
            "the savepoint does not belong to this transaction",
            hint="it was made in another one, or before a savepoint that was gone back to",
        )
    box.txn.back_to(size)
    return NOTHING


async def _session_id(box: Box, _args: Sequence[object]) -> object:
    return id(box) & 0xFFFFFFFF


async def _session_type(_box: Box, _args: Sequence[object]) -> object:
    return "console"


async def _session_peer(box: Box, _args: Sequence[object]) -> object:
    return box.members.get(box.name)


async def _msgpack_encode(_box: Box, args: Sequence[object]) -> object:
    import msgspec  # noqa: PLC0415 - slow to import, and seldom needed

    try:
        return msgspec.msgpack.encode(plain(arguments.at(args, 0)))
    except (OverflowError, TypeError) as error:
        raise WrongTuple(f"not encodable in MessagePack: {error}") from None


async def _msgpack_decode(_box: Box, args: Sequence[object]) -> object:
    """The value, and the position of the next one, counted from 1."""
    import msgspec  # noqa: PLC0415 - slow to import, and seldom needed

    given, start = arguments.at(args, 0), arguments.number(arguments.at(args, 1), "a place")
    data = given.encode() if isinstance(given, str) else given
    if not isinstance(data, bytes):
        raise WrongOperation(f"MessagePack is a text of bytes, not {given!r}")
    try:
        return MultipleValues((msgspec.msgpack.decode(data[start - 1 :]), len(data) + 1))
    except msgspec.DecodeError as error:
        raise WrongTuple(f"not MessagePack: {error}") from None
