"""The faults of a drill, on disk before they are injected, so that others can undo them."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admin.drills.failures import DrillRuns
from admin.lab import processes
from admin.lab.processes import OsProcess
from qsync.errors import ConfigError

FILE = "drill.journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoStep:
    """One thing that has to be undone. `undo`: the verb that does it. No `node`: all links."""

    undo: str
    node: str = ""

    def describe(self) -> str:
        """For people: `start n1`."""
        return f"{self.undo} {self.node}".rstrip()


class UndoLog:
    """What the drill on the lab of a directory has to undo. Written through to the disk."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._open: list[UndoStep] = []
        self.drill = ""
        self._runner: OsProcess | None = None

    @property
    def pending(self) -> list[UndoStep]:
        """What is still to be undone, the latest first."""
        return list(reversed(self._open))

    @classmethod
    def create(cls, directory: Path, drill: str) -> "UndoLog":
        """A new one. Raises DrillRuns when another drill runs, or is not mended yet."""
        found = cls.read(directory)
        if found is not None and found.runs:
            raise DrillRuns(f"{found.path}: the drill {found.drill} runs on the same nodes")
        if found is not None and found.pending:
            raise DrillRuns(
                f"{found.path}: the drill {found.drill} left {len(found.pending)} things broken",
                hint="`qsync drill heal` mends them",
            )
        made = cls(directory)
        made.drill, me = drill, processes.identify(os.getpid())
        made.path.unlink(missing_ok=True)
        made._write({"drill": drill, "pid": me.pid, "started": me.started})
        return made

    @classmethod
    def read(cls, directory: Path) -> "UndoLog | None":
        """The one that is there, if any. A torn last line is of what was not done yet."""
        found = cls(directory)
        try:
            lines = list(_lines(found.path))
        except FileNotFoundError:
            return None
        for line in lines:
            found._apply(line)
        return found

    @property
    def runs(self) -> bool:
        """The runner that wrote it is alive, and is not this process."""
        runner = self._runner
        return runner is not None and runner.pid != os.getpid() and runner.alive

    def owe(self, step: UndoStep) -> None:
        """Something is about to be broken. Returns when that is safely written down."""
        self._open.append(step)
        self._write({"owe": step.undo, "node": step.node})

    def settle(self, step: UndoStep) -> None:
        """It was undone. Settling what nobody owes changes nothing."""
        if step in self._open:
            self._open.remove(step)
            self._write({"paid": step.undo, "node": step.node})

    def close(self) -> None:
        """Nothing is owed any more."""
        assert not self._open, self._open
        self.path.unlink(missing_ok=True)

    def _write(self, line: dict[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _apply(self, line: dict[str, object]) -> None:
        try:
            match line:
                case {"drill": str(name), "pid": int(pid), "started": int(started)}:
                    self.drill, self._runner = name, OsProcess(pid=pid, started=started)
                case {"owe": str(undo), "node": str(node)}:
                    self._open.append(UndoStep(undo=undo, node=node))
                case {"paid": str(undo), "node": str(node)}:
                    self._open.remove(UndoStep(undo=undo, node=node))
                case _:
                    raise ConfigError(f"{self.path}: is no undo log of a drill: {line}")
        except ValueError as error:
            raise ConfigError(f"{self.path}: is no undo log of a drill: {error}") from error


def _lines(path: Path) -> Iterator[dict[str, object]]:
    texts = path.read_text("utf-8").split("\n")
    for text in texts[:-1]:  # behind the last newline nothing is finished
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{path}: is no undo log of a drill: {error}") from error
        yield found
