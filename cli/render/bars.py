"""How far long work is: one bar on stderr for each of its parts."""

import contextlib
from collections.abc import Callable, Iterator

from cli.output import console, style

Progress = Callable[[str, int, int], None]
"""Called with the name of a part, how much of it is done, and how much there is."""


@contextlib.contextmanager
def bars(*, least: int = 0) -> Iterator[Progress]:
    """Show them until the end, on a terminal only. `least`: smaller parts have none."""
    screen = console(stderr=True)
    if style().as_json or not screen.is_terminal:
        yield _silent
        return
    from rich.progress import Progress as Bars  # noqa: PLC0415 - slow to import

    with Bars(console=screen, transient=True) as shown:
        tasks = {}

        def progress(name: str, done: int, all_: int) -> None:
            if all_ < least:
                return
            if name not in tasks:
                tasks[name] = shown.add_task(name, total=all_)
            shown.update(tasks[name], completed=done, total=all_)

        yield progress


def _silent(_name: str, _done: int, _all: int) -> None:
    """Nobody looks."""
