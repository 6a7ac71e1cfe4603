"""What tells a directory from an old copy of it: DIR/lives.json (membership.md M7 c).

It holds the life that the directory is in, raised before a node says anything to anybody; the
latest lives of other directories that it heard of; and when the file itself was made, by the file
system: no copy of files is as old as its original.
"""

import json
import os
from pathlib import Path
from typing import Final

from election.messages import Position, Term
from qsync.errors import WrongFormat
from qsync.life import DirectoryCopied, DirectoryLife, KnownLives
from qsync.store import faults
from qsync.store.birth import born_at
from qsync.store.environment import sync_directory

FILE: Final = "lives.json"


class Lives:
    """The lives of a directory in memory; `LivesFile` keeps those of one on a disk.

    `old`: the instance of which this directory is an old copy; as long as it is that one it counts
    for nothing. `why`: how that was found; it stays when the directory has become another instance.
    """

    def __init__(self) -> None:
        self.own = DirectoryLife(0, 0)
        self.known = KnownLives()
        self.old = self.why = ""
        self.acked: dict[str, tuple[Term, Position]] = {}
        """What each instance acked to this node, and in which term of its own; never written."""

    def begin_life(self, nonce: int) -> None:
        """A node starts: another life, durable when this returns. Raises StoreError."""
        self.own = DirectoryLife(self.own.number + 1, nonce)
        self._keep()

    def heard(self, instance: str, said: DirectoryLife) -> None:
        """Note that another directory is in that life, the latest known. Raises StoreError.

        What cannot be written counts until this node stops.
        """
        if self.known.remember(instance, said):
            self._keep()

    def is_old(self, instance: str) -> bool:
        """Return whether that directory was found to be an old copy."""
        return bool(self.old) and self.old == instance

    def withdraw(self, instance: str, why: str) -> None:
        """Note that this is an old copy of that instance. Raises StoreError as `heard`."""
        self.old, self.why = instance, why
        self._keep()

    def _keep(self) -> None:
        """Memory is where it is."""


class LivesFile(Lives):
    """See `Lives`. A directory of a release that knew none begins its first life."""

    def __init__(self, directory: Path, *, moved: bool = False, renewed: str = "") -> None:
        """Raises DirectoryCopied unless the files are those that were made here; StoreError.

        `moved`: the operator's word that they are the only ones. `renewed`: the instance that is
        given up by the operator's word, since they are a copy.
        """
        super().__init__()
        self._path = directory / FILE
        try:
            text: str | None = self._path.read_text("utf-8")
        except FileNotFoundError:
            text = None
        except (OSError, UnicodeDecodeError) as error:
            raise WrongFormat(f"{self._path} cannot be read: {error}") from error
        born = None if text is None else self._take(text)
        if renewed:
            self.old, self.why = renewed, "the operator says that it may be an old copy"
        elif born is not None and not moved and born_at(self._path) not in (born, None):
            raise DirectoryCopied(
                f"{directory} was copied: its files are others than those that its node wrote last"
            )

    def _take(self, text: str) -> int | None:
        try:
            fields = json.loads(text)
            self.own = DirectoryLife(*map(int, fields["life"]))
            known = {
                str(each): DirectoryLife(*map(int, life)) for each, life in fields["known"].items()
            }
            self.known = KnownLives(known)
            self.old, self.why = str(fields["old"]), str(fields["why"])
            return None if fields["born"] is None else int(fields["born"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise WrongFormat(
                f"{self._path} is none: {error!r}",
                hint="without the file the node is taken for an old copy of itself, and becomes a "
                "new instance: remove it for that",
            ) from None

    def _keep(self) -> None:
        unready = self._path.with_name(f"{FILE}.new")
        try:
            unready.unlink(missing_ok=True)
            with unready.open("wb") as file:
                fields = {
                    "life": list(self.own),
                    "known": {each: list(life) for each, life in self.known.items()},
                    "old": self.old,
                    "why": self.why,
                    "born": born_at(unready),
                }
                file.write(json.dumps(fields, indent=1).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            unready.rename(self._path)
            sync_directory(self._path.parent)
        except OSError as error:
            raise faults.typed(error, self._path) from error
