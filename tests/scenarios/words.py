"""What transcripts call things: transactions in short, entries with their fates."""

import cbor2

from qsync.data import tuples
from qsync.data.request import Op, Request
from qsync.data.state import State
from qsync.record import WAIT_ACK, Entry, Kind, read_ref
from qsync.store.memory import MemorySpaces

QUIET = {"elected", "follows", "votes", "campaign", "pre_vote", "stepped_down", "promote", "member"}
"""Notes that every transcript would be full of."""

SYNC, ASYNC = "sync", "async"
"""The two spaces that are there when a transcript begins, and whether they are synchronous."""


class Furnished(MemorySpaces):
    """Spaces on disk that begin with a schema, as of a cluster that was set up long ago."""

    def __init__(self) -> None:
        super().__init__()
        self.furnish()

    def furnish(self) -> None:
        """Put the two spaces there, at index 0."""
        state = State(self, folded=self.folded)
        request = Request(ops=[_space(SYNC, is_sync=True), _space(ASYNC, is_sync=False)])
        self._rows.update({key: row for key, row in state.execute(request).writes if row})

    def wipe(self) -> None:
        """Back to the beginning."""
        super().wipe()
        self.furnish()


def furnished() -> MemorySpaces:
    """The spaces of a node before a transcript begins."""
    return Furnished()


def _space(name: str, *, is_sync: bool) -> list[object]:
    value = {"name": "value", "type": "any", "is_nullable": True}
    options = {
        "is_sync": is_sync,
        "format": [{"name": "key", "type": "string"}, value],
        "primary": ["key"],
    }
    return [int(Op.CREATE_SPACE), name, options]


def put(name: str, space: str) -> list[object]:
    """The operation that `x` or `x=5` in a transcript stands for."""
    key, equals, value = name.partition("=")
    return [int(Op.REPLACE), space, tuples.encode([key, value] if equals else [key])]


def shown(row: bytes) -> str:
    """A tuple of one of the two spaces, as it was put."""
    return "=".join(str(field) for field in tuples.stored(row))


def describe(entry: Entry) -> str:
    """An entry in short."""
    kind = Kind(entry.kind)
    if kind is Kind.TXN:
        return transaction(entry) + ("" if entry.flags & WAIT_ACK else " async")
    if kind is Kind.DEMOTE:
        return "DEMOTE"
    ref = read_ref(entry)
    return f"{kind.name} {ref.owner}/{ref.lsn}"


def transaction(entry: Entry) -> str:
    """What a transaction does: `x`, or `(x y)` when it is more than one effect."""
    effects = [_effect(*effect) for effect in cbor2.loads(entry.body)[3]]
    return effects[0] if len(effects) == 1 else f"({' '.join(effects)})"


def _effect(space: int, key: bytes, row: bytes | None) -> str:
    if row is None:
        return f"delete {key!r}"
    return shown(row)
