"""Chooses the node that a backup is taken from, and asks it."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Self

from admin.backup.failures import ForeignBackup
from admin.cluster import surveys
from election.messages import Index
from qsync import record
from qsync.client.one_node import NodeConnection
from qsync.errors import ProtocolError, Unavailable, WrongVersion
from qsync.node.snapshot_export import FEATURE, PIECE_BYTES_MAX
from qsync.record import Entry, RecordDamage
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import LogRequest, PlainRequest, SnapshotReadRequest, Verb

TIMEOUT_S: Final = 10.0
SNAPSHOT_S: Final = 600.0
"""How long a node may take to fold and write down all its rows."""
CATCH_UP_S: Final = 10.0
"""A follower may learn so much later what the leader has confirmed; mostly by a heartbeat."""
ASK_AGAIN_S: Final = 0.05
LOG_ENTRIES: Final = 2048
LOG_BYTES: Final = 256 << 10
"""The size of one read of the log: a node reads it between two turns of its other work."""


class BackupSource:
    """One node that answers. Use it as a context; `status` is as of when it was asked last."""

    def __init__(self, address: str, *, timeout: float = TIMEOUT_S) -> None:
        """Raises Unavailable, or WrongVersion of a release that gives no snapshots."""
        self.line = NodeConnection(address, timeout=timeout)
        self._ids = itertools.count(1)
        try:
            _check_release(self.line)
            self.status = self.ask_status()
        except BaseException:
            self.line.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def ask_status(self) -> NodeStatus:
        """Ask for its status now."""
        answer = self.line.ask(PlainRequest(next(self._ids), Verb.STATUS))
        self.status = decode.status(replies.read_map(answer))
        return self.status

    @property
    def confirmed(self) -> int:
        """The index up to which all is decided and on its disk, as of the last status."""
        return min(self.status.confirmed, self.status.written)

    def catch_up(self, index: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Ask until it has confirmed that entry, too. Raises Unavailable if it takes too long."""
        until = time.monotonic() + CATCH_UP_S
        while self.confirmed < index:
            if time.monotonic() >= until:
                raise Unavailable(
                    f"{self.line.address} has not come up to index {index}, which is confirmed",
                    hint="name another node with --node, or repeat the command",
                )
            sleep(ASK_AGAIN_S)
            self.ask_status()

    def make_snapshot(self) -> int:
        """Let it write all that is confirmed to a file; return the index at which that is exact."""
        request = PlainRequest(next(self._ids), Verb.SNAPSHOT)
        (index,) = self.line.ask(request, timeout=SNAPSHOT_S)
        if not isinstance(index, int):
            raise ProtocolError("the answer to SNAPSHOT is no index")
        return index

    def read_snapshot(self, snapshot: int, offset: int) -> tuple[int, bytes]:
        """Return the size of the file, and some bytes. Raises SnapshotLost when it is gone."""
        request = SnapshotReadRequest(next(self._ids), Index(snapshot), offset, PIECE_BYTES_MAX)
        match self.line.ask(request):
            case [int(there), int(size), bytes(piece)] if there == snapshot:
                return size, piece
            case _:
                raise ProtocolError("the answer to SNAPSHOT_READ is none")

    def read_log(self, first: int, last: int, *, before: int | None) -> list[Entry]:
        """Read entries from `first` on, none behind `last`. `before`: the checksum they follow.

        Raises ProtocolError when it holds others.
        """
        count = min(LOG_ENTRIES, last - first + 1)
        request = LogRequest(next(self._ids), Index(first), count, LOG_BYTES)
        _, _, batch = self.line.ask(request)
        if not isinstance(batch, bytes) or not batch:
            raise ProtocolError(f"the node has no entry {first}, which it called confirmed")
        try:
            found = record.decode(batch, previous=before)
        except RecordDamage as damage:
            if damage.index < first and before is not None:
                raise ForeignBackup(
                    f"what {self.line.address} has from entry {first} on does not follow what is "
                    "kept: it is another history, or what is kept is damaged",
                    hint="`qsync backup verify` tells which; begin another place with this cluster",
                ) from damage
            raise ProtocolError(
                f"the log from {first} on is not what is expected: {damage}"
            ) from damage
        if found[0].index != first or found[-1].index > last:
            raise ProtocolError(f"asked for the log from {first} on, got {found[0].index}")
        return found


class ChosenNodes(NamedTuple):
    """The nodes that may be asked, the best one first, and what the cluster had confirmed."""

    able: list[NodeStatus]
    confirmed: int


def choose(seeds: Sequence[str], *, node: str | None = None) -> ChosenNodes:
    """Choose nodes to take a backup from: followers that are not behind are the best.

    `node`: that one and no other, by its name, id or address. Raises Unavailable, ConfigError.
    """
    found = surveys.survey(seeds)
    confirmed = max((each.confirmed for each in found.samples if _is_able(each)), default=0)
    if node is not None:
        address = surveys.node_address(found, node)
        chosen = [each for each in found.samples if each.address == address]
        if not chosen:
            raise Unavailable(f"{node} at {address} does not answer")
        return ChosenNodes(chosen, confirmed)
    able = [each for each in found.samples if _is_able(each)]
    if not able:
        raise Unavailable(
            "none of the nodes that answer has the cluster's data",
            hint="`qsync status` says what is wrong with each",
        )
    able.sort(key=lambda each: (each.leads, confirmed - each.confirmed, each.id))
    return ChosenNodes(able, confirmed)


def _check_release(line: NodeConnection) -> None:
    if FEATURE not in line.greeting.features:
        raise WrongVersion(
            f"the node at {line.address} runs a release that does not send its snapshots",
            hint="upgrade it, or name another node with --node",
        )


def _is_able(node: NodeStatus) -> bool:
    return node.status == "running" and not node.stranger and node.quarantined is None
