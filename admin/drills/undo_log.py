"""The faults of a drill, on disk before they are injected, so another process can undo them."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admin.drills.failures import DrillRuns
from admin.lab import processes
from admin.lab.processes import OsProcess
from qsync.errors import ConfigError
from qsync.units import how_many

FILE = "drill.journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoStep:
    """One fault to undo. `undo`: the verb that undoes it. No `node`: all links."""

    undo: str
    node: str = ""

    def describe(self) -> str:
        """For people: `start n1`."""
        return f"{self.undo} {self.node}".rstrip()


class UndoLog:
    """The faults to undo of the drill on the lab in a directory. Every write is synced to disk."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._open: list[UndoStep] = []
        self.drill = ""
        self._runner: OsProcess | None = None

    @property
    def pending(self) -> list[UndoStep]:
        """The faults that are still to be undone, the latest first."""
        return list(reversed(self._open))

    @classmethod
    def create(cls, directory: Path, drill: str) -> "UndoLog":
        """Create a new one. Raises DrillRuns if another drill runs, or is not healed yet."""
        found = cls.read(directory)
        if found is not None and found.runs:
            raise DrillRuns(f"{found.path}: the drill {found.drill} runs on the same nodes")
        if found is not None and found.pending:
            raise DrillRuns(
                f"{found.path}: the drill {found.drill} left "
                f"{how_many(len(found.pending), 'thing')} broken",
                hint="`qsync drill heal` mends them",
            )
        made = cls(directory)
        made.drill, me = drill, processes.identify(os.getpid())
        made.path.unlink(missing_ok=True)
        made._write({"drill": drill, "pid": me.pid, "started": me.started})
        return made

    @classmethod
    def read(cls, directory: Path) -> "UndoLog | None":
        """The existing one, if any. A torn last line is of a fault that was not injected yet."""
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
        """Whether the runner that wrote it is alive, and is not this process."""
        runner = self._runner
        return runner is not None and runner.pid != os.getpid() and runner.alive

    def owe(self, step: UndoStep) -> None:
        """Record a coming fault. Returns after it is durable."""
        self._open.append(step)
        self._write({"owe": step.undo, "node": step.node})

    def settle(self, step: UndoStep) -> None:
        """Record that it was undone. Has no effect if it is not in the log."""
        if step in self._open:
            self._open.remove(step)
            self._write({"paid": step.undo, "node": step.node})

    def close(self) -> None:
        """Remove the log: nothing is left to undo."""
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
                    raise ConfigError(f"{self.path}: is not an undo log of a drill: {line}")
        except ValueError as error:
            raise ConfigError(f"{self.path}: is not an undo log of a drill: {error}") from error


def _lines(path: Path) -> Iterator[dict[str, object]]:
    texts = path.read_text("utf-8").split("\n")
    for text in texts[:-1]:  # a line without a newline is incomplete
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"{path}: is not an undo log of a drill: {error}") from error
        yield found
