"""Which start of which directory a process is: how an old copy of a directory is recognised.

membership.md M7 c. A directory counts its starts, and every start draws a number. Who has heard of
a later life of a directory, or of this one under another number, has an old copy before it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from qsync.errors import ConfigError

KNOWN_MAX: Final = 256
"""Of so many directories the latest life is kept; those that were heard of last."""


class DirectoryLife(NamedTuple):
    """One start. `number` counts those of the directory, `nonce` was drawn for it alone."""

    number: int
    nonce: int

    def __str__(self) -> str:
        return f"{self.number} ({self.nonce:08x})"


class KnownLives:
    """The latest life of each directory that was heard of, by the instance of the directory."""

    def __init__(self, known: Mapping[str, DirectoryLife] | None = None) -> None:
        self._known: dict[str, DirectoryLife] = dict(known or {})

    def __len__(self) -> int:
        return len(self._known)

    def items(self) -> list[tuple[str, DirectoryLife]]:
        """Instances with their latest lives; what was heard of last is last."""
        return list(self._known.items())

    def later(self, instance: str, said: DirectoryLife) -> DirectoryLife | None:
        """The life of that directory that an old copy does not know of; None for the latest one."""
        known = self._known.get(instance)
        if known is None or said == known or said.number > known.number:
            return None
        return known

    def remember(self, instance: str, said: DirectoryLife) -> bool:
        """Note the life that a directory says it is in; return whether it is the latest and new."""
        assert self.later(instance, said) is None
        if self._known.get(instance) == said:
            return False
        self._known.pop(instance, None)
        while len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[instance] = said
        return True


class OldCopy(ConfigError):
    """A directory is an old copy of itself: another node remembers more of it than it does."""

    code = "OLD_COPY"
    number = 112
    hint = "start it again: it continues as a new instance, and replaces the former one"


class DirectoryCopied(ConfigError):
    """The files of a directory are not those that its node wrote, but copies of them."""

    code = "DIRECTORY_COPIED"
    number = 113
    hint = (
        "`qsync start DIR --moved` if it was moved and nothing ran on the other one since; "
        "`qsync start DIR --new-instance` if it may be an old copy"
    )
