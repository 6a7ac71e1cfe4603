"""What a drill broke, on disk before it is broken: so that it can be mended by somebody else."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admin.drills.failures import DrillRuns
from admin.drills.words import Undo
from admin.lab import processes
from admin.lab.processes import OsProcess
from qsync.errors import ConfigError

FILE = "drill.journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoStep:
    """One thing that has to be undone. `node` is empty for what concerns all links."""

    undo: Undo
    node: str = ""

    def describe(self) -> str:
        """For people: `start n1`."""
        return f"{self.undo} {self.node}".rstrip()


class UndoLog:
    """Open debts of the drill that runs on the lab of a directory. Written through to the disk."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._open: list[UndoStep] = []
        self.drill = ""
        self._runner: OsProcess | None = None

    @property
    def debts(self) -> list[UndoStep]:
        """What is still to be undone, the latest first."""
        return list(reversed(self._open))

    @classmethod
    def create(cls, directory: Path, drill: str) -> "UndoLog":
        """A new one. Raises DrillRuns when another drill is not mended yet."""
        found = cls.read(directory)
        if found is not None and found.debts:
            raise DrillRuns(
                f"{found.path}: the drill {found.drill} left {len(found.debts)} things broken",
                hint="`qsync drill heal` mends them",
            )
        made = cls(directory)
        made.drill, me = drill, processes.identify(os.getpid())
        made.path.unlink(missing_ok=True)
        made._write({"drill": drill, "pid": me.pid, "started": me.started})
        return made

    @classmethod
    def read(cls, directory: Path) -> "UndoLog | None":
        """The one that is there, if any. A torn last line is the debt that was not made yet."""
        found = cls(directory)
        try:
            lines = list(_lines(found.path))
        except FileNotFoundError:
            return None
        for line in lines:
            found._take(line)
        return found

    @property
    def runs(self) -> bool:
        """The runner that wrote it is alive, and is not this process."""
        runner = self._runner
        return runner is not None and runner.pid != os.getpid() and runner.alive

    def owe(self, debt: UndoStep) -> None:
        """Something is about to be broken. Returns when that is safely written down."""
        self._open.append(debt)
        self._write({"owe": debt.undo, "node": debt.node})

    def settle(self, debt: UndoStep) -> None:
        """It was undone. Settling what nobody owes changes nothing."""
        if debt in self._open:
            self._open.remove(debt)
            self._write({"paid": debt.undo, "node": debt.node})

    def close(self) -> None:
        """Nothing is owed any more."""
        assert not self._open, self._open
        self.path.unlink(missing_ok=True)

    def _write(self, line: dict[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _take(self, line: dict[str, object]) -> None:
        try:
            match line:
                case {"drill": str(name), "pid": int(pid), "started": int(started)}:
                    self.drill, self._runner = name, OsProcess(pid=pid, started=started)
                case {"owe": str(undo), "node": str(node)}:
                    self._open.append(UndoStep(undo=Undo(undo), node=node))
                case {"paid": str(undo), "node": str(node)}:
                    self._open.remove(UndoStep(undo=Undo(undo), node=node))
                case _:
                    raise ConfigError(f"{self.path}: is no journal of a drill: {line}")
        except ValueError as error:
            raise ConfigError(f"{self.path}: is no journal of a drill: {error}") from error


def _lines(path: Path) -> Iterator[dict[str, object]]:
    texts = path.read_text("utf-8").split("\n")
    for text in texts[:-1]:  # behind the last newline nothing is finished
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{path}: is no journal of a drill: {error}") from error
        yield found
