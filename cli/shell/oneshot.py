"""Chunks from the command line, a file or a pipe: no event loop, no questions, exit codes."""

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from admin.box.inline import drive, open_inline
from cli.output import note_change
from cli.shell import opened
from cli.shell.chunks import COMMAND, chunks
from cli.shell.failures import InterruptedUnknown
from cli.shell.formats import OutputFormat
from cli.shell.interrupts import stopping
from cli.shell.runtime import installed
from cli.shell.shell import Shell
from cli.shell.voices import ShellOutput

FIBER: Final = re.compile(r"\bfiber\b|\bbox\.watch\s*\(|:watch\s*\(|\bon_election\b|\\i\b")
"""A script with these names needs an event loop: a request of one fiber must not block the others,
and watchers are called while the script waits.
"""
REQUEST_S: Final = 10.0
"""Seconds for each request, if nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to run, where, and how to show it. `sources`: name and text.

    `timeout`: seconds for each request. `lasts`: for all of it.
    """

    target: Sequence[str]
    sources: Sequence[tuple[str, str]]
    node: str | None = None
    format: OutputFormat = OutputFormat.AUTO
    people: bool = False
    read_only: bool = False
    yes: bool = False
    timeout: float = REQUEST_S
    lasts: float = math.inf

    @property
    def has_fibers(self) -> bool:
        """Whether it needs an event loop, which can also end it when its time is over."""
        return self.lasts < math.inf or any(FIBER.search(text) for _, text in self.sources)


class Script(Shell):
    """A shell without a user."""

    @override
    async def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)  # noqa: ASYNC251 - there is no event loop that could be kept waiting


def run(
    job: Job, voices: ShellOutput, collect: Callable[[list[object]], None] | None = None
) -> None:
    """Run all of it; the first error stops it and is raised.

    `collect` takes the values of each chunk instead of showing them.
    """
    installed()
    with open_inline(list(job.target), node=job.node, timeout=job.timeout) as box:
        shell = Script(box, voices, read_only=job.read_only, yes=job.yes)
        shell.people = job.people
        shell.settings.format = job.format
        try:
            with stopping(shell.runtime):
                drive(run_chunks(shell, job, collect))
        except KeyboardInterrupt:
            raise InterruptedUnknown.unless_safe(shell.verbs.writing) from None
        finally:
            if shell.verbs.changed:
                note_change()
            opened.lose(shell.box, shell.voices)
            shell.voices.back()


async def run_chunks(
    shell: Shell, job: Job, collect: Callable[[list[object]], None] | None
) -> None:
    """Run all of it, and show or collect what the chunks return. Raises the first error."""
    await shell.detect_target()
    for name, text in job.sources:
        for chunk in chunks(shell.runtime.compile, text, name=name):
            if chunk.startswith(COMMAND):
                await shell.command(chunk)
                continue
            values = await shell.run(chunk, name=name)
            if collect is None:
                await shell.present(values)
            else:
                collect(values)
