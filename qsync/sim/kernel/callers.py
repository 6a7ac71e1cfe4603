"""Operators of a simulated node with their own connection; none by default."""

from typing import Final, Protocol

from qsync.core.inputs import Input


class Callers(Protocol):
    """Operators of this node; see `qsync.sim.kernel.operators`."""

    def ask(self, what: str, event: Input) -> bool:
        """Send the request for that input. False if the input has no such request."""

    def waiting(self) -> list[str]:
        """Operators without an answer."""

    def leave(self) -> None:
        """They no longer wait."""


class _Nobody:
    def ask(self, _what: str, _event: Input) -> bool:
        return False

    def waiting(self) -> list[str]:
        return []

    def leave(self) -> None:
        """There are no operators."""


NOBODY: Final[Callers] = _Nobody()
