"""One shell: its session, Lua and settings; it runs chunks and reports errors."""

import difflib
import re
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from admin.box.session import Box
from cli.exits import StoppedByGuard
from cli.shell import opened, pasted
from cli.shell.chunks import COMMAND, chunks
from cli.shell.failures import LuaFailed, LuaSyntax
from cli.shell.formats import OutputStyle, render
from cli.shell.runtime import LuaRuntime
from cli.shell.settings import ShellSettings
from cli.shell.verbs import Verbs
from cli.shell.voices import ShellOutput
from qsync.errors import OutcomeUnknown, QsyncError, WrongOperation

_GLOBAL: Final = re.compile(r"global '(\w+)'")
_FIELD: Final = re.compile(r"index a nil value \(field '(\w+)'\)")
_METHOD: Final = re.compile(r"call a nil value \((?:method|field) '(\w+)'\)")
_LOCAL: Final = re.compile(r"^\s*local\s+(?:function\s+)?(\w+)", re.MULTILINE)
_ABSENT: Final = frozenset({"os", "io", "package", "debug", "dofile", "loadfile", "python"})
SPACES_MAX: Final = 5
"""How many names are listed if none is similar to the typed one."""


def locals_of(source: str) -> set[str]:
    """Local names of a chunk: they end with it."""
    return set(_LOCAL.findall(source))


def hint(message: str, *, source: str, gone: Iterable[str], spaces: Iterable[str]) -> str:
    """The advice for an error; empty when there is none."""
    named = _GLOBAL.search(message)
    if named is not None and named.group(1) in _ABSENT:
        return f"the shell's Lua has no {named.group(1)}: it reaches the cluster and nothing else"
    if named is not None and named.group(1) in set(gone):
        return f"`local {named.group(1)}` ended with its line; leave out the `local`"
    called = _METHOD.search(message)
    if called is not None:
        return _no_function(called.group(1))
    field = _FIELD.search(message)
    if field is not None:
        name = field.group(1)
        return _no_member(name, source) or _no_space(name, source, sorted(spaces))
    if "malformed number" in message and re.search(r"\d+U?LL", message):
        return "numbers have 64 bits here: leave the LL away"
    return ""


def _no_function(name: str) -> str:
    """Suggest a name for an unknown method or function."""
    from cli.shell.known import BOX, SPACE  # noqa: PLC0415 - it loads all that can be called

    there = dict.fromkeys((*SPACE, *(each.rpartition(".")[2] for each in BOX)))
    near = difflib.get_close_matches(name, there, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _no_member(name: str, source: str) -> str:
    """Suggest a name for an unknown part of `box`, such as `box.spaec`."""
    from cli.shell.known import BOX  # noqa: PLC0415 - it loads all that can be called

    found = re.search(rf"\b(box(?:\.\w+)*)\.{re.escape(name)}\b", source)
    if found is None or found.group(1) == "box.space":
        return ""
    start = f"{found.group(1)}."
    there = {each.removeprefix(start).partition(".")[0] for each in BOX if each.startswith(start)}
    near = difflib.get_close_matches(name, sorted(there), n=1)
    return f"did you mean {start}{near[0]}?" if near else ""


def _no_space(name: str, source: str, spaces: list[str]) -> str:
    """Suggest a name for an unknown member, such as a space."""
    near = difflib.get_close_matches(name, spaces, n=1)
    if near:
        return f"did you mean the space {near[0]!r}?"
    if not re.search(rf"space(\.|\[\s*['\"]){re.escape(name)}\b", source):
        return ""
    there = ", ".join(spaces[:SPACES_MAX]) + (", ..." if len(spaces) > SPACES_MAX else "")
    return f"there is no space {name!r}; " + (f"there are {there}" if spaces else "there are none")


PRODUCTION = "production"
"""The tag of a cluster on which dangerous verbs require a typed name."""
WIDTH = 100
"""Columns, where there is no terminal."""


class ShellCore(ABC):
    """The part of a shell that is the same with and without a terminal."""

    people = False

    def __init__(
        self, box: Box, voices: ShellOutput, *, read_only: bool = False, yes: bool = False
    ) -> None:
        self.box = box
        self.voices = voices
        self.read_only = read_only
        self.settings = ShellSettings()
        self.cluster = ""
        self.tag = ""
        self.gone: set[str] = set()
        self.failed: QsyncError | None = None
        self.lesson = 0
        self.verbs = Verbs(box, self)
        self.runtime = LuaRuntime(self.ask, self.emit)
        self.runtime.turns.pause = self.pause
        self.runtime.turns.ended = partial(_ended, self)
        self._yes = yes

    @property
    def production(self) -> bool:
        """Whether this cluster is tagged production."""
        return PRODUCTION in self.tag.lower()

    @property
    def width(self) -> int:
        """Columns of the screen."""
        return WIDTH

    async def detect_target(self) -> None:
        """Read the tag and settings of the cluster."""
        found = await self.box.info_at("cluster")
        if isinstance(found, dict):
            self.cluster, self.tag = str(found.get("name")), str(found.get("tag") or "")

    async def switch(self, box: Box) -> None:
        """Connect to another cluster."""
        box.consistency = self.settings.consistency
        self.box = self.verbs.boxes[0] = box
        await self.detect_target()

    # -- chunks

    async def show(self, text: str, *, name: str = "=shell") -> None:
        """Run a text, chunk by chunk, and show the results. Raises the first error."""
        for chunk in chunks(self.runtime.compile, text, name=name):
            if chunk.startswith(COMMAND):
                await self.command(chunk)
            else:
                await self.present(await self.run(chunk, name=name))

    async def present(self, values: list[object]) -> None:
        """Show the results of a chunk."""
        for line in self.lines(values):
            self.voices.result(line)

    def lines(self, values: list[object]) -> Iterator[str]:
        """Return it as text."""
        rows = self.settings.rows if self.voices.file is None else sys.maxsize
        look = OutputStyle(self.settings.format, self.people, rows, self.width)
        return render(values, look)

    def tell(self, text: str, indent: str = "") -> None:
        """A sentence as a result, in the width of the screen."""
        self.voices.result(
            textwrap.fill(
                text,
                self.width,
                initial_indent=indent,
                subsequent_indent=indent + "  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )

    @abstractmethod
    async def command(self, line: str) -> None:
        """Run a command with a backslash."""

    async def run(self, source: str, *, name: str = "=shell") -> list[object]:
        """Return the result of a chunk. Raises QsyncError, with a hint where there is one."""
        cleaned = pasted.clean(source)
        for note in cleaned.notes:
            self.voices.say(note)
        try:
            return await self.runtime.run(self.runtime.compile(cleaned.text, name))
        except LuaFailed as error:
            opened.roll_back(self.box, self.voices)
            if not error.hint:
                error.hint = await _hint(self, error.message, cleaned.text)
            raise
        except LuaSyntax:
            raise  # no part of it was run
        except QsyncError:
            opened.roll_back(self.box, self.voices)
            raise
        finally:
            self.gone |= locals_of(cleaned.text)

    async def run_at(self, node: str, source: str) -> list[object]:
        """The results of a chunk whose `box` is of another node."""
        here = self.box
        there = await here.beside(node)
        there.consistency = here.consistency
        self.box = self.verbs.boxes[0] = there
        try:
            return await self.run(source)
        finally:
            self.box = self.verbs.boxes[0] = here
            there.place.close()

    async def ask(self, conn: int, verb: str, args: list[object]) -> object:
        """The answer to a verb. Raises QsyncError."""
        try:
            return await self.verbs.ask(conn, verb, args)
        except OutcomeUnknown as error:
            if conn == 0 and error.token:
                self.box.unknown = error.token
            raise

    # -- what the verbs need

    def emit(self, text: str) -> None:
        """A line of output that a chunk printed."""
        self.voices.out(text)

    async def sure(self, sentence: str, word: str) -> None:
        """Check that `--yes` was given for a production cluster: no user can be asked."""
        if self.production and not self._yes:
            raise StoppedByGuard(
                f"this cluster is tagged {self.tag!r}. {sentence}",
                hint=f"give --yes to confirm ({word})",
            )

    async def edit(self) -> None:
        """Edit the last chunk. Raises WrongOperation: there is no user."""
        raise WrongOperation("a script has no user who could edit", hint="start `qsync shell`")

    @abstractmethod
    async def pause(self, seconds: float) -> None:
        """Wait, in whatever way this shell can."""

    async def connect(self, target: str) -> Box:
        """Another session, over the same kind of connections."""
        return await self.box.another(target)

    def watch(self, box: Box, key: str, function: int, value: object) -> None:  # noqa: B027 - so it is meant
        """Call a function with later values; without an event loop there are none."""

    @abstractmethod
    async def help_page(self, topic: str | None) -> str:
        """A page of help."""

    async def taught(self, action: str | None) -> str:
        """The next lesson of the tutorial, or the one of that number."""
        from cli.shell.tutorial import LESSONS, lesson  # noqa: PLC0415 - only when asked for

        if action is not None and action.isdigit():
            self.lesson = int(action)
        else:
            self.lesson = self.lesson % len(LESSONS) + 1
        return lesson(self.lesson)


def _ended(shell: ShellCore, fiber: int) -> None:
    """A fiber has ended: report its lost transaction."""
    for sentence in shell.verbs.fiber_ended(fiber):
        shell.voices.say(sentence)


async def _hint(shell: ShellCore, message: str, source: str) -> str:
    """The probable meaning of a Lua error, given the names in the cluster."""
    spaces: list[str] = []
    if "nil value (field" in message:
        shapes = await shell.verbs.data.shapes(shell.box)
        spaces = [each.name for each in shapes.values() if not each.system]
    return hint(message, source=source, gone=shell.gone, spaces=spaces)
