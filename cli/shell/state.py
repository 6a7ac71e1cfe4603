"""One shell: its session, Lua and settings; it runs chunks and reports errors."""

import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial

from admin.box.session import Box
from cli.exits import StoppedByGuard
from cli.shell import luahints, opened, pasted
from cli.shell.chunks import COMMAND, chunks
from cli.shell.failures import LuaFailed, LuaSyntax
from cli.shell.formats import OutputStyle, render
from cli.shell.runtime import LuaRuntime
from cli.shell.settings import ShellSettings
from cli.shell.verbs import Verbs
from cli.shell.voices import ShellOutput
from qsync.errors import OutcomeUnknown, QsyncError, WrongOperation

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
            self.gone |= luahints.locals_of(cleaned.text)

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
    if luahints.may_be_a_space(message):
        shapes = await shell.verbs.data.shapes(shell.box)
        spaces = [each.name for each in shapes.values() if not each.system]
    return luahints.hint(message, source=source, gone=shell.gone, spaces=spaces)
