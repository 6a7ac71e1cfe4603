"""The line editor: history, completion, colours, the hint line, and questions to the user."""

import fcntl
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio
from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import ValidationState
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import is_searching
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import DynamicLexer, Lexer, PygmentsLexer, SimpleLexer
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from prompt_toolkit.validation import ValidationError
from pygments.lexers.scripting import LuaLexer
from typing_extensions import override

from admin.box.opening import open_box
from cli.groups import first_of
from cli.printable import printable
from cli.shell import opened
from cli.shell.chunks import MissingEnd, missing_end
from cli.shell.cluster_watch import Watcher
from cli.shell.complete import candidates, hint_line
from cli.shell.oneshot import Job
from cli.shell.remembered import history_path
from cli.shell.runtime import installed
from cli.shell.shell_commands import Leave
from cli.shell.talk import InteractiveShell
from cli.shell.voices import APPEND, ShellOutput
from qsync.errors import QsyncError

FILE_COMMANDS = ("\\i", "\\o")
COLOURS: Final = Style.from_dict(
    {
        "pygments.keyword": "bold",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansimagenta",
        "pygments.comment": "italic",
        "pygments.error": "ansired",
    }
)
"""Colours of the terminal's palette that are readable on black and on white."""
_SECRET = "passw"  # noqa: S105 - a word to look for, of `password` and `passwd`
_WELCOME = r"Lua 5.4 with `box`; \help lists what there is, \tutorial shows it, Ctrl-D leaves."


def converse(job: Job) -> None:
    """Run the interactive shell until the user leaves it."""
    installed()
    try:
        trio.run(_converse, job)
    except* QsyncError as group:
        first = first_of(group, QsyncError)
    else:
        return
    raise first


async def _converse(job: Job) -> None:
    async with (
        open_box(list(job.target), node=job.node, timeout=job.timeout) as box,
        trio.open_nursery() as nursery,
    ):
        editor = Editor()
        voices = ShellOutput(result=_print, out=_print, say=_say)
        talk = InteractiveShell(box, voices, nursery, read_only=job.read_only, ask=editor.question)
        talk.settings.format = job.format
        await talk.detect_target()
        watcher = Watcher(talk)
        await watcher.look()
        editor.attach(talk, watcher)
        nursery.start_soon(watcher.run)
        _say(_greeting(talk, watcher))
        await _loop(talk, editor)
        opened.lose(talk.box, talk.voices)
        talk.voices.back()
        nursery.cancel_scope.cancel()


async def _loop(talk: InteractiveShell, editor: "Editor") -> None:
    while True:
        try:
            text = await editor.line()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if not text.strip():
            continue
        try:
            await talk.typed(text)
        except Leave:
            return


def _greeting(talk: InteractiveShell, watcher: Watcher) -> str:
    tag = f", tagged {talk.tag}" if talk.tag else ""
    mode = ", read-only" if talk.read_only else ""
    nodes = len(talk.box.members)
    return f"{talk.cluster}: {nodes} nodes, this is {watcher.standing.node}{tag}{mode}. {_WELCOME}"


class Editor:
    """Reads lines in a thread, so the session continues meanwhile."""

    def __init__(self) -> None:
        self._talk: InteractiveShell | None = None
        self._watcher: Watcher | None = None
        self._session: PromptSession[str] | None = None

    def attach(self, talk: InteractiveShell, watcher: Watcher) -> None:
        """Attach the shell that gets the typed lines."""
        self._talk, self._watcher = talk, watcher
        plain = bool(os.environ.get("NO_COLOR"))
        self._session = PromptSession(
            message=self._message,
            multiline=True,
            key_bindings=_keys(talk),
            history=HistoryFile(history_path()),
            auto_suggest=AutoSuggestFromHistory(),
            completer=NameCompleter(watcher),
            complete_while_typing=True,
            style=COLOURS,
            include_default_pygments_style=False,
            lexer=None if plain else DynamicLexer(self._lexer),
            bottom_toolbar=self._toolbar,
            prompt_continuation=_continuation,
            reserve_space_for_menu=6,
        )

        watcher.redraw = self._session.app.invalidate

    def _lexer(self) -> Lexer:
        return _PLAIN if self._session is None else lexer_of(self._session.default_buffer.text)

    async def line(self) -> str:
        """The next chunk. Raises KeyboardInterrupt or EOFError."""
        session, talk, watcher = self._session, self._talk, self._watcher
        assert session is not None
        assert talk is not None
        assert watcher is not None
        if watcher.standing.node != talk.box.name:
            await watcher.look()

        draft, talk.draft = talk.draft, ""

        def read() -> str:
            return session.prompt(default=draft, handle_sigint=False)

        return await _aside(read)

    async def question(self, words: str) -> str:
        """An answer; an empty one for Ctrl-C and Ctrl-D."""

        def read() -> str:
            try:
                # A separate session: answers do not go to the history.
                return PromptSession[str]().prompt(words, handle_sigint=False)
            except (KeyboardInterrupt, EOFError):
                return ""

        return await _aside(read)

    def _message(self) -> FormattedText:
        talk, watcher = self._talk, self._watcher
        assert talk is not None
        assert watcher is not None
        text = watcher.standing.prompt(open_=talk.box.txn is not None)
        style = "ansired bold" if watcher.standing.production else "bold"
        return FormattedText([("" if os.environ.get("NO_COLOR") else style, text)])

    def _toolbar(self) -> str:
        session = self._session
        assert session is not None
        document = session.default_buffer.document
        waits = "" if document.current_line.strip() else self._waits_for(document)
        width = shutil.get_terminal_size().columns - 1
        found = waits or hint_line(document.text_before_cursor, width)
        return (
            f" {found}" if found else r" Tab completes  Alt-Enter new line  Ctrl-R history  \help"
        )

    def _waits_for(self, document: Document) -> str:
        """Why Enter made a new line; nothing on the first one."""
        talk = self._talk
        assert talk is not None
        if document.line_count == 1:
            return ""
        found = missing_end(talk.runtime.compile, document.text)
        return "" if found is None else _not_complete(found)


async def _aside(read: Callable[[], str]) -> str:
    """Ask a person, in a thread. What is printed meanwhile appears above the question.

    Only meanwhile: what a chunk prints is on the screen before the next prompt begins.
    """
    with patch_stdout(raw=True):
        return await trio.to_thread.run_sync(read, abandon_on_cancel=True)


class NameCompleter(Completer):
    """Completion from recent answers: no request is sent while the user types."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._files = PathCompleter(expanduser=True)

    @override
    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Return the completions."""
        line = document.current_line_before_cursor
        if not line.strip() and not complete_event.completion_requested:
            return
        command, blank, rest = line.partition(" ")
        if blank and command in FILE_COMMANDS:
            typed = Document(rest.removeprefix(APPEND).lstrip())
            yield from self._files.get_completions(typed, complete_event)
            return
        for each in candidates(line, self._watcher.names):
            yield Completion(each.text, -each.length, display_meta=each.about)


class HistoryFile(FileHistory):
    """History in a file that several shells share; secrets are not kept, repetitions shown once.

    Where the file cannot be read or written, as in a container, lines are known to this shell only.
    """

    @override
    def load_history_strings(self) -> Iterator[str]:
        """The newest first."""
        try:
            return iter(dict.fromkeys(super().load_history_strings()))
        except OSError:
            return iter(())

    @override
    def store_string(self, string: str) -> None:
        """Append it, under a lock of the file."""
        if _SECRET not in string.lower():
            with suppress(OSError):
                self._append(string)

    def _append(self, string: str) -> None:
        path = Path(os.fsdecode(self.filename))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            super().store_string(string)
        path.chmod(0o600)


def _keys(talk: InteractiveShell) -> KeyBindings:
    """Enter runs a complete chunk, and starts a new line in an incomplete one.

    If a quote is open, another line does not help: Enter reports it, and nothing is lost. During a
    search in the history it takes the shown line, as everywhere.
    """
    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion:
            buffer.complete_state = None
            return
        found = missing_end(talk.runtime.compile, buffer.text)
        if found is None:
            buffer.validate_and_handle()
        elif found.in_line:
            buffer.validation_state = ValidationState.INVALID
            buffer.validation_error = ValidationError(len(buffer.text), _not_complete(found))
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def _newline(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _not_complete(found: MissingEnd) -> str:
    return f"not complete: {found.why}; Ctrl-C drops it"


def lexer_of(text: str) -> Lexer:
    """Return what colours the text: the shell's own commands are no Lua, and no mistake in it."""
    return _PLAIN if text.lstrip().startswith("\\") else _LUA


_LUA: Final = PygmentsLexer(LuaLexer)
_PLAIN: Final = SimpleLexer()


def _continuation(width: int, _line: int, _wrapped: int) -> str:
    return "." * max(0, width - 1) + " "


def _print(text: str) -> None:
    print(printable(text))  # noqa: T201 - through the patched stdout, above the prompt


def _say(text: str) -> None:
    columns = shutil.get_terminal_size().columns
    for line in printable(text).splitlines():
        wrapped = textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False)
        print(wrapped, file=sys.stderr)  # noqa: T201 - the same
