r"""The outputs of the shell: the screen, or temporarily a file (`\o`)."""

from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError
from qsync.units import how_many

APPEND: Final = ">>"
r"""`\o >> FILE` appends to a file instead of overwriting it."""


@dataclass(slots=True)
class ShellOutput:
    """The outputs of a shell: results, prints, and messages.

    `former` are the outputs to restore; None: these are the first.
    """

    result: Callable[[str], None]
    out: Callable[[str], None]
    say: Callable[[str], None]
    former: "ShellOutput | None" = None
    file: "LineFile | None" = None

    def into(self, name: str) -> "ShellOutput":
        """Write results and prints to a file from now on. Raises ConfigError."""
        made = LineFile(name)
        first = self.back()
        return ShellOutput(result=made.line, out=made.line, say=first.say, former=first, file=made)

    def back(self) -> "ShellOutput":
        """Write to the screen again; report how much was written, and close the file."""
        if self.file is None or self.former is None:
            return self
        self.file.close()
        lines = how_many(self.file.lines, "line")
        self.say(f"{lines} written to {self.file.path}")
        return self.former


class LineFile:
    """A file of text, readable by others after every line."""

    def __init__(self, name: str) -> None:
        self.path = Path(name.removeprefix(APPEND).strip()).expanduser()
        self.lines = 0
        self._file = self._open(append=name.startswith(APPEND))

    def _open(self, *, append: bool) -> FileIO:
        try:
            return self.path.open("ab" if append else "wb", buffering=0)
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be written: {error.strerror}",
                hint="results still go to the former output",
            ) from None

    def line(self, text: str) -> None:
        """Add a line. Raises ConfigError."""
        rest = memoryview(f"{text}\n".encode())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be written: {error.strerror}",
                hint="\\o goes back to the screen",
            ) from None
        self.lines += text.count("\n") + 1

    def close(self) -> None:
        """The last output: nothing more is added."""
        self._file.close()
