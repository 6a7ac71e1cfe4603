"""Dispatches Lua's requests: verbs by name, with the guards before them."""

import json
from collections.abc import Iterator, Sequence
from typing import Protocol

from admin.box.session import Box
from cli.shell import arguments
from cli.shell.adminverbs import AdminVerbs
from cli.shell.dataverbs import NOTHING, DataVerbs, SchemaVerbs, Verb
from cli.shell.formats import one_line
from cli.shell.guards import WRITES, consequence
from cli.shell.runtime import MultipleValues
from cli.shell.tarantoolverbs import TarantoolVerbs
from cli.shell.userverbs import UserVerbs
from qsync.errors import ConfigError, Outcome, QsyncError, ReadOnly, WrongOperation


class VerbHost(Protocol):
    """The part of the shell that verbs need."""

    read_only: bool

    def emit(self, text: str) -> None:
        """A line of output."""

    async def sure(self, sentence: str, word: str) -> None:
        """Ask whether to go on. Raises Stopped."""

    async def pause(self, seconds: float) -> None:
        """Wait."""

    async def connect(self, target: str) -> Box:
        """Another session."""

    def watch(self, box: Box, key: str, function: int, value: object) -> None:
        """Call the function for every later value of a key, if the shell has an event loop."""

    async def help_page(self, topic: str | None) -> str:
        """A page of help."""

    async def taught(self, action: str | None) -> str:
        """A page of the tutorial."""


class Verbs:
    """The Lua runtime calls `ask`. Session 0 is the shell's own `box`."""

    def __init__(self, box: Box, host: VerbHost) -> None:
        self.data = DataVerbs()
        self.boxes: dict[int, Box] = {0: box}
        self.under_way: list[str] = []
        """The verbs of requests without an answer, oldest first."""
        self.changed = False
        """Whether a write took effect, or may have."""
        self._host = host
        self._verbs: dict[str, Verb] = {
            **self.data.verbs(),
            **SchemaVerbs(self.data).verbs(),
            **AdminVerbs().verbs(),
            **UserVerbs().verbs(),
        }
        self._tarantool = TarantoolVerbs(host)
        self._verbs |= self._tarantool.verbs()
        self._own = {
            "connect": self._connect,
            "help": self._help,
            "tutorial": self._tutorial,
            "print": self._print,
            "json_encode": self._json_encode,
            "json_decode": self._json_decode,
            "yaml_encode": self._yaml_encode,
        }

    async def ask(self, conn: int, verb: str, args: list[object]) -> object:
        """The answer to a verb. Raises QsyncError."""
        own = self._own.get(verb)
        if own is not None:
            return await own(args)
        if verb == "watch":
            return await self._watch(self.box(conn), args)
        if verb == "close":
            self.boxes.pop(conn, None)
            return NOTHING
        box = self.box(conn)
        await self._guard(box, verb, args)
        self.under_way.append(verb)
        try:
            answer = await self._verbs[verb](box, args)
        except QsyncError as error:
            self._answered(verb, changed=error.outcome is not Outcome.ROLLED_BACK)
            raise
        self._answered(verb, changed=box.txn is None)
        return answer

    @property
    def writing(self) -> str | None:
        """The write that waits for its answer; the oldest, if there are several."""
        return next((each for each in self.under_way if each in WRITES), None)

    def _answered(self, verb: str, *, changed: bool) -> None:
        self.changed |= changed and verb in WRITES
        if verb in self.under_way:
            self.under_way.remove(verb)

    def box(self, conn: int) -> Box:
        """The session of a connection; a fiber, whose number is below 0, has its own."""
        if conn < 0:
            return self._of_fiber(conn)
        found = self.boxes.get(conn)
        if found is None:
            raise WrongOperation("this connection is closed", hint="netbox.connect again")
        return found

    def _of_fiber(self, conn: int) -> Box:
        """A session with the shell's connections, and its own transaction."""
        shared, found = self.boxes[0], self.boxes.get(conn)
        if found is None or (found.txn is None and found.place is not shared.place):
            found = self.boxes[conn] = Box(shared.place)
        found.consistency = shared.consistency
        return found

    def fiber_ended(self, fiber: int) -> Iterator[str]:
        """Roll back its open transaction; return the messages about it."""
        box = self.boxes.pop(-fiber, None)
        if box is not None and box.txn is not None:
            size = box.txn.size
            box.rollback()
            yield f"fiber {fiber} ended: its transaction of {size} was rolled back"

    def script_ended(self) -> Iterator[str]:
        """Living fibers end with their script."""
        for conn in [conn for conn in self.boxes if conn < 0]:
            yield from self.fiber_ended(-conn)

    async def _guard(self, box: Box, verb: str, args: list[object]) -> None:
        if verb == "cfg" and not arguments.options(arguments.at(args, 0), (), "box.cfg"):
            return
        if verb in WRITES and verb != "commit" and self._host.read_only:
            raise ReadOnly(
                f"this shell was started with --read-only, so {verb} is not sent",
                hint="start it without --read-only",
            )
        told = await consequence(box, self.data, verb, args)
        if told is not None:
            await self._host.sure(*told)

    async def _connect(self, args: Sequence[object]) -> object:
        target = arguments.text(arguments.at(args, 0), "an address")
        box = await self._host.connect(target)
        number = max(0, *self.boxes) + 1
        self.boxes[number] = box
        return MultipleValues((number, target))

    async def _watch(self, box: Box, args: Sequence[object]) -> object:
        key = arguments.text(arguments.at(args, 0), "a key")
        function = arguments.number(arguments.at(args, 1), "a function")
        value = await anext(box.watch(key))
        self._host.watch(box, key, function, value)
        return value

    async def _help(self, args: Sequence[object]) -> object:
        topic = arguments.at(args, 0)
        self._host.emit(await self._host.help_page(None if topic is None else str(topic)))
        return NOTHING

    async def _tutorial(self, args: Sequence[object]) -> object:
        action = arguments.at(args, 0)
        self._host.emit(await self._host.taught(None if action is None else str(action)))
        return NOTHING

    async def _print(self, args: Sequence[object]) -> object:
        self._host.emit("\t".join(one_line(each) for each in args))
        return NOTHING

    async def _json_encode(self, args: Sequence[object]) -> object:
        return json.dumps(arguments.at(args, 0), ensure_ascii=False, default=str)

    async def _json_decode(self, args: Sequence[object]) -> object:
        try:
            return json.loads(arguments.text(arguments.at(args, 0), "JSON"))
        except ValueError as error:
            raise ConfigError(f"not JSON: {error}") from None

    async def _yaml_encode(self, args: Sequence[object]) -> object:
        import yaml  # noqa: PLC0415 - slow to import, and seldom needed

        return yaml.safe_dump(arguments.at(args, 0), allow_unicode=True, sort_keys=False)
