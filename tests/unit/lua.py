"""A Lua runtime whose questions are answered by a table of functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from admin.box.inline import drive
from cli.shell.runtime import LuaRuntime, MultipleValues

Answer = Callable[..., object]


@dataclass
class Bench:
    """`asked` is every question in order, `said` every line that was printed."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[int, str, list[object]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runtime = LuaRuntime(self._ask, self.said.append)
        self.runtime.turns.pause = self._pause

    async def _ask(self, conn: int, verb: str, args: list[object]) -> object:
        self.asked.append((conn, verb, args))
        answer = self.answers.get(verb)
        return MultipleValues() if answer is None else answer(*args)

    async def _pause(self, seconds: float) -> None:
        assert seconds < 1, "a fiber sleeps for longer than a test may last"

    def run(self, source: str, arguments: Sequence[object] = ()) -> list[object]:
        """What a chunk returns."""
        return drive(self.runtime.run(self.runtime.compile(source), arguments))

    def one(self, source: str) -> object:
        """The one value that a chunk returns."""
        (value,) = self.run(source)
        return value

    @property
    def verbs(self) -> list[str]:
        """What was asked, in order."""
        return [verb for _, verb, _ in self.asked]


def space(name: str = "t", *columns: str) -> dict[str, object]:
    """A definition as the shell gives it to Lua."""
    return {
        "id": 512,
        "name": name,
        "format": [{"name": each, "type": "any"} for each in columns],
        "index": [{"id": 0, "name": "pk"}, {"id": 1, "name": "second"}],
    }
