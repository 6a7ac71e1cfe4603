"""Mutants of snapshots and trimming: the data that a node keeps, and for which consumers."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from typing import Final

from election.messages import Index
from qsync.consumer import ConsumerKind
from qsync.core.logstart import LogStart
from qsync.core.retention import ConsumerChanges, HoldKind
from qsync.core.trimming import start_at
from qsync.node.node import Node
from qsync.sim.kernel.snapshots import KernelSnapshots
from qsync.store.contract import Wait
from qsync.store.snapfiles import SnapshotFile
from qsync.store.snapshot import RowsView


def _heedless(node: Node, kinds: Iterable[HoldKind | ConsumerKind]) -> None:
    """The log is trimmed as if nothing of these kinds held it."""
    retention = node.queries.retention
    honest, left_out = retention._look, frozenset(kinds)  # noqa: SLF001 - a mutant

    def look() -> object:
        seen = honest()
        if seen is None:
            return None
        return seen._replace(holds=[each for each in seen.holds if each.kind not in left_out])

    retention._look = look  # type: ignore[method-assign, assignment]  # noqa: SLF001 - a mutant


def _trims_without_snapshot(node: Node) -> None:
    """The log is trimmed up to the folded index, even without a snapshot."""
    _heedless(node, [HoldKind.SNAPSHOT])


def _trims_for_nobody(node: Node) -> None:
    """Trimming ignores all consumers of the log."""
    _heedless(node, ConsumerKind)


def _trims_past_readers(node: Node) -> None:
    """Trimming ignores every consumer but members."""
    _heedless(node, [kind for kind in ConsumerKind if kind is not ConsumerKind.REPLICA])


def _lets_readers_go(node: Node) -> None:
    """Other consumers than members are let go however little of the log they hold back."""
    retention = node.queries.retention
    honest = retention.sweep

    def sweep(now: float) -> None:
        honest(now)
        seen, machine = retention._look(), node.replica.machine  # noqa: SLF001 - a mutant
        if seen is None or machine.leader is None or machine.reasons():
            return
        held = [each for each in seen.consumers if each.kind is not ConsumerKind.REPLICA]
        gone = [each for each in held if not each.let_go]
        if gone:
            retention._write(ConsumerChanges(let_go=gone))  # noqa: SLF001 - a mutant

    retention.sweep = sweep  # type: ignore[method-assign]  # a mutant


def _keeps_one_snapshot(node: Node) -> None:
    """A new snapshot replaces all earlier ones."""
    node.queries.snapshots._keep = lambda: 1  # noqa: SLF001 - a mutant


def _snapshot_not_flushed(node: Node) -> None:
    """A snapshot counts before it is durable."""
    if isinstance(node.storage.snapshot_folder, KernelSnapshots):
        node.storage.snapshot_folder.flushes = False


def _snapshots_unsettled(node: Node) -> None:
    """A snapshot file found at a start counts before its name is durable."""
    folder = node.storage.snapshot_folder
    if folder is not None:
        folder.settle = lambda: None  # type: ignore[method-assign]  # a mutant


Start = Callable[[Node, LogStart], LogStart]


def _another_start(node: Node, start_of: Start) -> None:
    """A snapshot of the same rows says that a log goes on elsewhere behind it."""
    folder = node.storage.snapshot_folder
    if not isinstance(folder, KernelSnapshots):
        return

    def writing(view: RowsView, start: LogStart) -> Generator[Wait, None, SnapshotFile]:
        start = start_of(node, start)
        view.folded = start.index
        return KernelSnapshots.writing(folder, view, start)

    folder.writing = writing  # type: ignore[method-assign]  # a mutant


def _snapshot_of_unconfirmed(node: Node) -> None:
    """A snapshot claims the index of the last entry of the log."""

    def last(node: Node, start: LogStart) -> LogStart:
        log = node.replica.machine.replicated_log.log
        index = Index(log.last)
        return replace(
            start,
            index=index,
            term=log.term_at(index),
            crc=log.crc_at(index),
            origin=log.run_at(index).origin,
            vclock=log.vclock_at(index),
        )

    _another_start(node, last)


def _snapshot_ahead_of_rows(node: Node) -> None:
    """A snapshot claims the confirmed index, although rows are folded only up to an earlier one."""

    def confirmed(node: Node, _start: LogStart) -> LogStart:
        replicated_log = node.replica.machine.replicated_log
        return start_at(replicated_log, replicated_log.confirmed)

    _another_start(node, confirmed)


RETENTION: Final[Mapping[str, Callable[[Node], None]]] = {
    "trims_without_snapshot": _trims_without_snapshot,
    "trims_for_nobody": _trims_for_nobody,
    "trims_past_readers": _trims_past_readers,
    "lets_readers_go": _lets_readers_go,
    "keeps_one_snapshot": _keeps_one_snapshot,
    "snapshot_not_flushed": _snapshot_not_flushed,
    "snapshots_unsettled": _snapshots_unsettled,
    "snapshot_of_unconfirmed": _snapshot_of_unconfirmed,
    "snapshot_ahead_of_rows": _snapshot_ahead_of_rows,
}
