"""Brings a cluster back: by the runner at its end, or by anybody after the runner died."""

import time

from admin.cluster import surveys
from admin.drills.failures import DrillNotHealed, DrillRuns
from admin.drills.undo_log import UndoLog
from admin.drills.verbs.catalogue import undo_pending
from admin.lab.lab import Lab
from qsync.errors import Unavailable

HEALTHY_S = 40.0
"""How long a cluster may take to be whole again after everything was undone."""
_ASKED_AGAIN_S = 0.1


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
    """After a runner that died: undo what its undo log says; what was done."""
    undo_log = UndoLog.read(lab.dir)
    if undo_log is None:
        return []
    if undo_log.runs:
        raise DrillRuns(f"the drill {undo_log.drill} still runs on lab {lab.name}")
    done = undo_pending(lab, undo_log)
    lab.start_all()
    wait_healthy(lab)
    undo_log.close()
    return done
