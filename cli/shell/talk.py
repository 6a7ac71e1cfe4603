r"""The interactive shell without its line editor: interruptible chunks, questions, `\e`."""

import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import FrameType
from typing import Final

import trio
from typing_extensions import override

from admin.box.session import Box
from cli.exits import StoppedByGuard
from cli.shell import opened
from cli.shell.carriers import TaskCarriers
from cli.shell.chunks import COMMAND
from cli.shell.editor import edited
from cli.shell.failures import ChunkInterrupted, InterruptedUnknown
from cli.shell.following import follow_key
from cli.shell.guards import WRITES
from cli.shell.pager import paged, pager
from cli.shell.shell import Shell
from cli.shell.shell_commands import resolved
from cli.shell.voices import ShellOutput
from qsync.errors import OutcomeUnknown, QsyncError

SLOW_S: Final = 0.1
"""The duration of a chunk is shown if it is longer than this."""
FOLLOW_UP_S: Final = 60.0
"""How long the shell itself requests the outcome of a write."""

Reader = Callable[[str], Awaitable[str]]
"""Asks a person for a line."""


class BackgroundWrite:
    """A write in progress: after an interrupt it continues, and its outcome is shown later."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.done = trio.Event()
        self.left = False
        self.answer: object = None
        self.error: QsyncError | None = None


class InteractiveShell(Shell):
    """An interactive shell. `nursery` outlives every chunk."""

    people = True

    def __init__(
        self, box: Box, voices: ShellOutput, nursery: trio.Nursery, *, read_only: bool, ask: Reader
    ) -> None:
        super().__init__(box, voices, read_only=read_only)
        self.nursery = nursery
        self._read = ask
        self._token = trio.lowlevel.current_trio_token()
        self._one = trio.Lock()
        self._scope: trio.CancelScope | None = None
        self._thinking = 0.0
        """Seconds that the user took to answer."""
        self.chunk = ""
        """The last chunk."""
        self.draft = ""
        """The initial text of the next line."""
        self.runtime.turns.carriers = TaskCarriers(nursery)
        nursery.start_soon(self._go_on)

    @property
    @override
    def width(self) -> int:
        """Columns of the screen."""
        return shutil.get_terminal_size().columns

    @override
    async def pause(self, seconds: float) -> None:
        """Wait."""
        await trio.sleep(seconds)

    # -- running what was typed

    async def typed(self, text: str) -> None:
        """Run the typed text. Errors are shown, and the shell continues; only Leave is raised."""
        begun, self._thinking = time.perf_counter(), 0.0
        if not text.startswith(COMMAND):
            self.chunk = text
        try:
            await self._interruptible(text)
        except QsyncError as error:
            self.failed = error
            self.complain(error)
        took = time.perf_counter() - begun - self._thinking
        if self.settings.timing and took >= SLOW_S:
            self.voices.say(f"({took:.2f} s)")

    async def _go_on(self) -> None:
        """Fibers go on between chunks."""
        while True:
            try:
                await self.runtime.turns.go_on()
            except QsyncError as error:
                self.complain(error)

    async def _interruptible(self, text: str) -> None:
        """Ctrl-C ends the chunk, not the shell."""
        former = signal.signal(signal.SIGINT, self._interrupt)
        self.verbs.under_way.clear()
        try:
            async with self._one:
                with trio.CancelScope() as scope:
                    self._scope = scope
                    await self.show(text)
            if scope.cancelled_caught:
                self.runtime.interrupted = False  # fibers that were not running continue
                opened.roll_back(self.box, self.voices)
                raise InterruptedUnknown.unless_safe(self.verbs.writing)
        finally:
            self._scope = None
            signal.signal(signal.SIGINT, former)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self.runtime.interrupted = True
        if self._scope is not None:
            self._token.run_sync_soon(self._scope.cancel)

    def complain(self, error: QsyncError) -> None:
        """Report the error, and where to read more."""
        if isinstance(error, ChunkInterrupted):
            self.voices.say("\n")  # behind the ^C that the terminal shows
        self.voices.say(str(error))
        if error.leader:
            self.voices.say(f"  the leader is {error.leader}")
        if self._asks_on(error):
            return
        if isinstance(error, InterruptedUnknown):
            self.voices.say("  it continues; its outcome will be shown here")
        elif not isinstance(error, ChunkInterrupted) and error.details.get("why"):
            self.voices.say("  \\explain says more")

    @override
    async def ask(self, conn: int, verb: str, args: list[object]) -> object:
        """The answer to a verb. A write runs in a separate task."""
        if verb not in WRITES:
            return await super().ask(conn, verb, args)
        errand = BackgroundWrite(verb)
        self.nursery.start_soon(self._carry, errand, conn, args)
        try:
            await errand.done.wait()
        except trio.Cancelled:
            errand.left = True
            raise
        if errand.error is not None:
            raise errand.error
        return errand.answer

    async def _carry(self, errand: BackgroundWrite, conn: int, args: list[object]) -> None:
        try:
            errand.answer = await super().ask(conn, errand.verb, args)
        except QsyncError as error:
            errand.error = error
        finally:
            errand.done.set()
        if errand.left:
            self._tell(errand)

    def _asks_on(self, error: BaseException) -> bool:
        """Go on asking for the outcome of the last unknown write, and say so; False for others."""
        token = error.token if isinstance(error, OutcomeUnknown) else ""
        if not token or token != self.box.unknown:
            return False
        self.nursery.start_soon(self._follow_up, self.box, token)
        self.voices.say("  its outcome will be shown here; \\retry asks at once,")
        self.voices.say("  \\resolve too, and sees that it never is if nobody has done it")
        return True

    async def _follow_up(self, box: Box, token: str) -> None:
        """Retry with the same number until the outcome is known: it takes effect at most once."""
        try:
            receipt = await resolved(box, token, timeout=FOLLOW_UP_S)
        except QsyncError as error:
            self.voices.say(f"the write of token {token}: {error}")
        else:
            at = f"term {receipt.term}, index {receipt.index}"
            self.voices.say(f"the write of token {token} took effect: {at}")

    def _tell(self, errand: BackgroundWrite) -> None:
        """Report the outcome of an interrupted write."""
        if errand.error is not None:
            self.voices.say(f"the {errand.verb} that was interrupted: {errand.error}")
            self._asks_on(errand.error)
            return
        last = self.box.last
        at = f"term {last.term}, index {last.index}" if last is not None else "done"
        self.voices.say(f"the {errand.verb} that was interrupted took effect: {at}")

    # -- editing, questions and events

    @override
    async def edit(self) -> None:
        """Edit the last chunk, or its draft; the editor uses the screen."""
        held: list[str] = []
        voices = self.voices
        self.voices = replace(voices, say=held.append)
        scope, self._scope = self._scope, None  # Ctrl-C is the editor's too
        begun = time.perf_counter()
        try:
            with trio.CancelScope(shield=True):
                self.draft = await trio.to_thread.run_sync(edited, self.chunk)
        finally:
            self._thinking += time.perf_counter() - begun
            self._scope, self.voices = scope, voices
            for sentence in held:
                voices.say(sentence)

    @override
    async def present(self, values: list[object]) -> None:
        """Show the results of a chunk; output longer than the screen in a pager."""
        lines = list(self.lines(values))
        tall = len(lines) >= shutil.get_terminal_size().lines
        wanted = tall and self.settings.pager and self.voices.file is None
        command = pager() if wanted and sys.stdout.isatty() else []
        if not command:
            for line in lines:
                self.voices.result(line)
            return
        scope, self._scope = self._scope, None  # Ctrl-C is the pager's
        begun = time.perf_counter()
        try:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(paged, command, lines)
        finally:
            self._thinking += time.perf_counter() - begun
            self._scope = scope

    @override
    async def sure(self, sentence: str, word: str) -> None:
        """Describe the effect of a verb, and ask.

        On a production cluster the name must be typed.
        """
        self.voices.say(sentence)
        begun = time.perf_counter()
        if self.production:
            answer = await self._read(f"type {word} to go on: ")
            agreed = answer.strip() == word
        elif self.settings.confirm:
            answer = await self._read("go on? [y/N] ")
            agreed = answer.strip().lower() in {"y", "yes"}
        else:
            agreed = True
        self._thinking += time.perf_counter() - begun
        if not agreed:
            raise StoppedByGuard("cancelled; nothing was changed")

    @override
    def watch(self, box: Box, key: str, function: int, value: object) -> None:
        """Call a Lua function for every new value of a key, between chunks."""
        self.nursery.start_soon(self._watch, box, key, function, value)

    async def _watch(self, box: Box, key: str, function: int, known: object) -> None:
        async def call(value: object) -> None:
            async with self._one:
                try:
                    await self.runtime.call_kept(function, [key, value])
                except QsyncError as error:
                    self.voices.say(f"box.watch('{key}'): {error}")

        def wanted() -> bool:
            return self.runtime.keeps(function)

        await follow_key(box, key, known, wanted=wanted, call=call)
