"""How far a check is, in one line of stderr that goes away; nothing without a terminal."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admin.checker.spark.progress import SparkStage


@contextlib.contextmanager
def waiting(*, plain: bool) -> "Iterator[Callable[[SparkStage], None] | None]":
    """A function to call with every stage of Spark; None where stderr is no terminal."""
    with working(plain=plain) as tell:
        yield None if tell is None else lambda moment: tell(describe(moment))


@contextlib.contextmanager
def working(*, plain: bool) -> "Iterator[Callable[[str], None] | None]":
    """A function to call with the progress in words; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import, and seldom needed
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - the same

    # While Java starts, our stderr is a file; the line goes to the terminal all the same.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as own:
        words = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn("line"), words, TimeElapsedColumn())
        screen = Console(file=own, force_terminal=True, no_color=True if plain else None)
        with Progress(*columns, console=screen, transient=True, redirect_stderr=False) as line:
            task = line.add_task("")
            yield lambda text: line.update(task, description=text)


def describe(moment: "SparkStage") -> str:
    """In words: `judging: 12 of 40 tasks`."""
    if not moment.tasks:
        return f"{moment.phase} ..."
    return f"{moment.phase}: {moment.done} of {moment.tasks} tasks"
