"""Who asks something of a simulated node at a terminal of its own; nobody, by default."""

from typing import Final, Protocol

from qsync.core.inputs import Input


class Callers(Protocol):
    """Operators of this node; see `qsync.sim.kernel.operators`."""

    def ask(self, what: str, event: Input) -> bool:
        """Send what makes that input there. False when it is nothing that is asked so."""

    def waiting(self) -> list[str]:
        """Who was not answered yet."""

    def leave(self) -> None:
        """They wait for nothing any more."""


class _Nobody:
    def ask(self, _what: str, _event: Input) -> bool:
        return False

    def waiting(self) -> list[str]:
        return []

    def leave(self) -> None:
        """Nobody is there."""


NOBODY: Final[Callers] = _Nobody()
