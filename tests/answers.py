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
