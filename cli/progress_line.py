"""The progress of long work on stderr: one line that is overwritten, or one every ten seconds."""

import sys
import time
from typing import Final

import click

from cli.output import say
from cli.printable import printable

_TELL_S: Final = 10.0
"""The time between two lines where no line can be overwritten."""


class ProgressLine:
    """On a terminal one line that is overwritten, else a line every ten seconds."""

    def __init__(self) -> None:
        self._over = sys.stderr.isatty()
        self._told = time.monotonic()

    def tell(self, line: str) -> None:
        """Show the progress."""
        now = time.monotonic()
        if self._over:
            click.echo(f"\r{printable(line)}\x1b[K", err=True, nl=False)
        elif now - self._told >= _TELL_S:
            self._told = now
            say(line)

    def end(self) -> None:
        """Clear the line for other output."""
        if self._over:
            click.echo("\r\x1b[K", err=True, nl=False)
