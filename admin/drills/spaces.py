"""The spaces that the clients of a drill write to: made before it, and removed where others live.

A lab exists to be broken. On a real cluster a space of the same name may be the user's, so
nothing is removed there but what a drill has made.
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
        hint="rename it, or drill a cluster without it; what drills made is noted beside their "
        "undo log, and only that is removed",
    )


def prepare(place: DrillPlace, client: Client, kind: LoadKind) -> None:
    """Make them anew. Raises DrillStopped, and errors of a client."""
    check(place, client)
    if not isinstance(place, Lab):
        (place.dir / SPACES_NOTE).write_text("made by a drill\n", "utf-8")
    clients.drop(client)
    clients.prepare(client, kind)


def clean(place: DrillPlace, client: Client) -> None:
    """Remove them from a cluster that is no lab. Raises what a client raises."""
    note = place.dir / SPACES_NOTE
    if not isinstance(place, Lab) and note.is_file():
        clients.drop(client)
        note.unlink()
