"""The spaces that the clients of a drill write to: made before it, removed on a real cluster.

On a real cluster a space of the same name may be the user's, so only spaces that a drill made are
removed.
"""

from admin.drills.failures import DrillStopped
from admin.drills.hooks.cluster import SPACES_NOTE
from admin.drills.place import DrillPlace
from admin.lab.lab import Lab
from admin.workload import clients
from admin.workload.load_names import SPACES, LoadKind
from qsync.client.blocking import Client


def check(place: DrillPlace, client: Client) -> None:
    """Check for spaces of other owners. Raises DrillStopped. Changes nothing."""
    there = sorted(SPACES.keys() & client.schema.spaces().keys())
    note = place.dir / SPACES_NOTE
    if isinstance(place, Lab) or not there or note.is_file():
        return
    raise DrillStopped(
        f"{place.name} has the space {', '.join(there)}, and clients of a drill make their own",
        hint="rename it, or use a cluster without it; spaces made by drills are listed next to "
        "the undo log, and only those are removed",
    )


def prepare(place: DrillPlace, client: Client, kind: LoadKind) -> None:
    """Recreate them. Raises DrillStopped, and errors of a client."""
    check(place, client)
    if not isinstance(place, Lab):
        (place.dir / SPACES_NOTE).write_text("made by a drill\n", "utf-8")
    clients.drop(client)
    clients.prepare(client, kind)


def clean(place: DrillPlace, client: Client) -> None:
    """Remove them from a cluster that is not a lab. Raises errors of a client."""
    note = place.dir / SPACES_NOTE
    if not isinstance(place, Lab) and note.is_file():
        clients.drop(client)
        note.unlink()
