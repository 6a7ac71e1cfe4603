"""Parts of what nodes answer to STATUS, made short."""

from collections.abc import Mapping

import msgspec

from qsync.histogram import Histogram
from qsync.status.limbo import SynchroStatus


def synchro(**told: object) -> dict[str, object]:
    """Quorum and limbo: fields of both, where each belongs. `waiting`: see `waiting`."""
    outer = {name: told[name] for name in told if name in SynchroStatus.__struct_fields__}
    return outer | {"queue": {name: told[name] for name in told if name not in outer}}


def waiting(index: int, *missing: int, acked: tuple[int, ...] = ()) -> Mapping[str, object]:
    """The oldest pending transaction, and whose acks it lacks; node 1 is called n1."""
    return {
        "index": index,
        "acks": len(acked),
        "acked_by": [f"n{id}" for id in acked],
        "missing": [{"id": id, "name": f"n{id}"} for id in missing],
    }


def spread(made: Histogram) -> dict[str, object]:
    """How long things took."""
    told: dict[str, object] = msgspec.to_builtins(made.spread())
    return told


OF_ELECTION = {"role": "state"} | {
    name: name for name in ("term", "vote", "leader", "leader_name", "leader_idle")
}
"""Members at the top of a status that it tells of its election, and what they are called there."""


def placed(told: Mapping[str, object]) -> dict[str, object]:
    """A status whose facts of the election, log and address stand at the top: put where they are.

    The same members at the top stay, as nodes tell them too.
    """
    election = {inner: told[name] for name, inner in OF_ELECTION.items() if name in told}
    election["leader"] = election.get("leader") or 0
    given = told.get("election")
    found = dict(told) | {"election": election | (given if isinstance(given, dict) else {})}
    for name, own in (("last", "signature"), ("address", "listen")):
        if name in told:
            found[own] = told[name]
    return found
