"""Heals a cluster: by the runner at its end, or by another process after the runner died."""

from admin.cluster import settling
from admin.drills import spaces
from admin.drills.failures import DrillNotHealed, DrillRuns
from admin.drills.place import DrillPlace
from admin.drills.undo_log import UndoLog
from admin.drills.verbs.catalogue import undo_pending
from admin.lab.lab import Lab
from qsync.client.blocking import connect
from qsync.errors import Unavailable

HEALTHY_S = 40.0
"""How long a cluster may take to be healthy after all faults were undone."""


def wait_healthy(place: DrillPlace, *, timeout: float = HEALTHY_S) -> None:
    """Wait until all nodes are connected to a leader. Raises DrillNotHealed."""
    late = f"not healthy {timeout:g} s after everything was undone"
    try:
        settling.wait_until(place.addresses, settling.ill, timeout=timeout, late=late)
    except Unavailable as error:
        raise DrillNotHealed(error.message) from None


def _remove_spaces(place: DrillPlace) -> None:
    if not isinstance(place, Lab):
        with connect(place.addresses, timeout=HEALTHY_S) as client:
            spaces.clean(place, client)


def heal(place: DrillPlace) -> list[str]:
    """Undo the faults in the undo log of a dead runner; return the undone faults."""
    undo_log = UndoLog.read(place.dir)
    if undo_log is None:
        return []
    if undo_log.runs:
        raise DrillRuns(f"the drill {undo_log.drill} still runs on {place.name}")
    done = undo_pending(place, undo_log)
    if isinstance(place, Lab):
        place.start_all()
    wait_healthy(place)
    _remove_spaces(place)
    undo_log.close()
    return done
