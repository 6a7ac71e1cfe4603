"""The terminal as tables and pictures are drawn on it: texts do not steer it, readers may go."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typing_extensions import override

from cli.printable import printable


class SafeConsole(Console):
    """A console on which only Rich itself moves the cursor or changes colours.

    Where its reader has gone it raises BrokenPipeError; Rich ends the process with exit code 1.
    """

    @override
    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError again; Rich calls this while it handles that error."""
        raise  # noqa: PLE0704 - the error that is handled

    @override
    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the parts of a drawing, without controls in their texts."""
        for part in super().render(renderable, options):
            text, style, control = part
            yield part if control else Segment(printable(text), style)
