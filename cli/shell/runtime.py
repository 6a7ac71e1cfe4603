"""Lua chunks as Python coroutines: every request is awaited, and Lua continues with the answer.

The sandbox: no os, io, package, debug, bytecode, and no Python objects; memory has a limit, and an
endless loop can be interrupted.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from cli.shell.errorcodes import CODES
from cli.shell.failures import ChunkInterrupted, LuaFailed, LuaSyntax, NotInstalled
from cli.shell.fibers import FiberTurns
from cli.shell.refused import REFUSED
from cli.shell.values import Bridge, Lua
from qsync.errors import QsyncError

MEMORY_MAX: Final = 1 << 30
"""Bytes that Lua may take."""
CHUNK: Final = "=shell"
PRELUDE: Final = Path(__file__).with_name("prelude.lua")


class AskVerb(Protocol):
    """Answers a verb of a connection. Gives a value, or several in a tuple."""

    def __call__(self, conn: int, verb: str, args: list[object]) -> Awaitable[object]:
        """The answer. Raises QsyncError, which Lua sees as an error."""


class MultipleValues(tuple[object, ...]):
    """Several values of one answer; an empty one is no value at all."""

    __slots__ = ()


class LuaRuntime:
    """One Lua state with its globals. One chunk at a time."""

    def __init__(self, ask: AskVerb, emit: Callable[[str], None]) -> None:
        lua = _lua()
        self.interrupted = False
        self.ended = False
        """Whether a signal came while Lua ran: the script ends when Lua has stopped."""
        self.late: Callable[[], QsyncError | None] = _never
        """The error that ends the script, when its time is over."""
        self.is_running = False
        self._ask = ask
        self._emit = emit
        self._kept: list[object] = []
        self._main = self._load(lua)
        self.turns = FiberTurns(self._step, self._answer)
        self.bridge = Bridge(self._main, lua.table, _kind_of)

    def _load(self, lua: Lua) -> Lua:
        api = lua.table_from(
            {
                b"interrupted": lambda: self.interrupted or self.late() is not None,
                b"emit": lambda text: self._emit(_text(text)),
                b"keep": self._keep,
                b"forget": self._forget,
                b"source": _source,
                b"uuid": _uuid,
                b"codes": lua.table_from({name.encode(): code for name, code in CODES.items()}),
                b"refused": lua.table_from({name.encode(): True for name in REFUSED}),
                b"time": _wall,
                b"clock": time.monotonic,
            }
        )
        source = PRELUDE.read_bytes()
        return lua.eval(b"function(...) return (...)(select(2, ...)) end")(
            lua.eval(b"load")(source, b"@prelude.lua", b"t"), api
        )

    def _keep(self, function: object) -> int:
        self._kept.append(function)
        return len(self._kept)

    def _forget(self, number: int) -> None:
        self._kept[number - 1] = None

    def keeps(self, number: int) -> bool:
        """Return whether that function is still wanted."""
        return self._kept[number - 1] is not None

    # -- running

    def compile(self, source: str, name: str = CHUNK, /) -> object:
        """The chunk as a function. Raises LuaSyntax."""
        try:
            given = source.encode()
        except UnicodeEncodeError as broken:
            place = source.count("\n", 0, broken.start) + 1
            raise LuaSyntax(f"{name[1:]}:{place}: this is not UTF-8 text") from None
        found = self._main[b"compile"](given, name.encode(errors="surrogateescape"))
        function, error = found if isinstance(found, tuple) else (found, None)
        if function is None:
            raise LuaSyntax(_text(error))
        return function

    async def run(self, function: object, arguments: Sequence[object] = ()) -> list[object]:
        """The results of the chunk. Raises QsyncError; Lua errors are LuaFailed."""
        self.interrupted = False
        given = [self.bridge.to_lua(each) for each in arguments]
        return await self._drive(self._main[b"start"](function, *given))

    async def call_kept(self, number: int, arguments: Sequence[object]) -> None:
        """Call a function that was passed to `box.watch`."""
        await self.run(self._kept[number - 1], arguments)

    def spawn_kept(self, number: int, arguments: Sequence[object]) -> None:
        """Run it in a separate fiber without waiting for it."""
        given = [self.bridge.to_lua(each) for each in arguments]
        self._main[b"spawn"](self._kept[number - 1], *given)
        assert self.turns.carriers is not None
        self.turns.carriers.poke()

    async def _drive(self, chunk: int) -> list[object]:
        try:
            step = await self.turns.until_done(chunk)
        finally:
            self._main[b"drop"](chunk)
        match step[0]:
            case b"done":
                return self._values(step[2])
            case b"interrupted":
                raise self.late() or ChunkInterrupted(
                    "the chunk was interrupted; no request was running"
                )
            case _:
                raise self._failure(step[1:])

    def _step(self) -> tuple[Lua, ...]:
        """Return the next requests of the coroutines; each had a turn."""
        self.is_running = True
        try:
            found = self._main[b"turn"]()
        except MemoryError as error:
            raise LuaFailed(
                f"the chunk wanted more than {MEMORY_MAX >> 20} MiB", hint=str(error)
            ) from None
        finally:
            self.is_running = False
        if self.ended:
            raise ChunkInterrupted("the script was interrupted; no request was running")
        event = found if isinstance(found, tuple) else (found,)
        late = self.late() if event[0] == b"ask" else None  # what has ended may tell how
        if late is not None:
            raise late
        return event

    async def _answer(self, fiber: int, conn: int, verb: bytes, packed: Lua) -> None:
        """Send the request of a fiber, which makes it ready. Raises ChunkInterrupted."""
        back: tuple[object, ...]
        try:
            args = [self.bridge.to_python(packed[at]) for at in range(1, packed[b"n"] + 1)]
            answer = await self._ask(conn, verb.decode(), args)
            if isinstance(answer, MultipleValues):
                back = (True, *(self._for_lua(each) for each in answer))
            else:
                back = (True, self._for_lua(answer))
        except ChunkInterrupted:
            raise
        except QsyncError as error:
            back = (False, self.bridge.error(error))
        self._main[b"answer"](fiber, *back)

    def _for_lua(self, value: object) -> object:
        return (
            value.table(self.bridge)
            if isinstance(value, CallableMap)
            else self.bridge.to_lua(value)
        )

    def _values(self, packed: Lua) -> list[object]:
        return [self._shown(packed[at]) for at in range(1, packed[b"n"] + 1)]

    def _shown(self, value: object) -> object:
        """Return the results of a chunk; a function is shown by its name only."""
        if _kind_of(value) in {"function", "thread", "userdata"}:
            return f"<{_kind_of(value)}>"
        return self.bridge.to_python(value)

    def _failure(self, step: tuple[Lua, ...]) -> QsyncError:
        _, what, *rest = step
        if _kind_of(what) == "table":
            number = what[b"number"]
            if isinstance(number, int) and 0 < number <= len(self.bridge.errors):
                return self.bridge.errors[number - 1]
            said = what[b"message"] or what[b"code"] or (rest[0] if rest else None)
            return LuaFailed(_text(said))
        return LuaFailed(_text(what))


class CallableMap:
    """A map for Lua that may be called as well, such as a part of `box.info`."""

    def __init__(self, members: dict[object, object]) -> None:
        self._members = members

    def table(self, bridge: Bridge) -> object:
        """The Lua table."""
        return bridge.callable_map(self._members)


def installed() -> Lua:
    """The maker of Lua states. Raises NotInstalled."""
    try:
        from lupa.lua54 import LuaRuntime  # noqa: PLC0415 - an extra, and only the shell needs it
    except ImportError as error:
        raise NotInstalled(f"the shell needs {error.name or 'lupa'}") from None
    return LuaRuntime


def _lua() -> Lua:
    return installed()(
        encoding=None,
        unpack_returned_tuples=True,
        register_eval=False,
        register_builtins=False,
        attribute_filter=_no_attributes,
        max_memory=MEMORY_MAX,
    )


def _no_attributes(_object: object, name: object, _setting: bool) -> object:  # noqa: FBT001 - lupa calls it so
    raise AttributeError(f"no attribute {name!r} of Python objects")


def _kind_of(value: object) -> str | None:
    from lupa.lua54 import lua_type  # noqa: PLC0415 - see _lua

    found: str | None = lua_type(value)
    return found


def _source(name: bytes) -> bytes:
    """A part of the prelude."""
    return PRELUDE.with_name(name.decode()).read_bytes()


def _never() -> QsyncError | None:
    """The default: a script may last."""
    return None


def _uuid() -> bytes:
    return str(uuid.uuid4()).encode()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return "an error without a message" if value is None else str(value)


def _wall() -> float:
    return time.clock_gettime(time.CLOCK_REALTIME)
