"""Puts right what a drill broke: by its runner at the end, or by anybody after the runner died."""

import resource
import time
from collections.abc import Callable

from admin.cluster import fault_points, surveys
from admin.drills.failures import DrillNotHealed, DrillRuns
from admin.drills.journal import UndoLog, UndoStep
from admin.drills.words import Undo
from admin.lab.lab import Lab, LabNode
from qsync.errors import QsyncError, Unavailable

HEALTHY_S = 40.0
"""How long a cluster may take to be whole again after everything was undone."""
_ASKED_AGAIN_S = 0.1


def undo(lab: Lab, debt: UndoStep) -> None:
    """Undo one fault; doing it twice does no harm."""
    _UNDO[debt.undo](lab, debt)


def undo_all(lab: Lab, journal: UndoLog) -> list[str]:
    """Undo everything, the latest first; what was done. Raises DrillNotHealed naming what failed.

    One that fails keeps none of the others from being undone.
    """
    done: list[str] = []
    failed: list[str] = []
    for debt in journal.debts:
        try:
            undo(lab, debt)
        except (QsyncError, OSError) as error:
            failed.append(f"{debt.describe()}: {error}")
        else:
            journal.settle(debt)
            done.append(debt.describe())
    if failed:
        raise DrillNotHealed("; ".join(failed))
    return done


def wait_healthy(lab: Lab, *, timeout: float = HEALTHY_S) -> None:
    """Wait until all nodes are in touch with a leader. Raises DrillNotHealed."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            verdict = surveys.judge(surveys.survey(lab.addresses, timeout=0.5))
        except Unavailable as error:
            why = str(error)
        else:
            if verdict.health is surveys.ClusterHealth.HEALTHY:
                return
            why = verdict.sentence
        if time.monotonic() > deadline:
            raise DrillNotHealed(f"not healthy {timeout:g} s after everything was undone: {why}")
        time.sleep(_ASKED_AGAIN_S)


def heal(lab: Lab) -> list[str]:
    """After a runner that died: undo what its journal says; what was done."""
    journal = UndoLog.read(lab.dir)
    if journal is None:
        return []
    if journal.runs:
        raise DrillRuns(f"the drill {journal.drill} still runs on lab {lab.name}")
    done = undo_all(lab, journal)
    lab.start_all()
    wait_healthy(lab)
    journal.close()
    return done


def _start(lab: Lab, debt: UndoStep) -> None:
    lab.start(lab.node(debt.node))


def _resume(lab: Lab, debt: UndoStep) -> None:
    node = lab.node(debt.node)
    if node.process is not None:
        lab.resume(node)


def _mend(lab: Lab, _: UndoStep) -> None:
    lab.start_links()
    lab.control.heal()


def _room(lab: Lab, debt: UndoStep) -> None:
    limit_files(lab.node(debt.node), None)


def _disarm(lab: Lab, debt: UndoStep) -> None:
    node = lab.node(debt.node)
    if node.process is not None:  # what was armed went with its process
        fault_points.disarm(node.address)


def limit_files(node: LabNode, size: int | None) -> None:
    """No file of the live process may grow beyond `size`; None lifts the limit."""
    process = node.process
    if process is None:
        return  # the limit went with the process
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    soft = hard if size is None else size
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))


_UNDO: dict[Undo, Callable[[Lab, UndoStep], None]] = {
    Undo.START: _start,
    Undo.RESUME: _resume,
    Undo.MEND: _mend,
    Undo.ROOM: _room,
    Undo.DISARM: _disarm,
}
