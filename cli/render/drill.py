"""What a drill says while it runs."""

from typing_extensions import override

from admin.drills.runner import DrillObserver
from cli.output import say


class Lines(DrillObserver):
    """A line for each step, beside the output."""

    @override
    def tell(self, what: str) -> None:
        say(what)
