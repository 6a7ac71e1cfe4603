"""Writes snapshots by itself and trims the log, as `qsync.core.retention` decides."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from election.messages import Index
from qsync.consumer import Consumer, ConsumerKind
from qsync.core import retention
from qsync.core.logstart import LogStart
from qsync.core.retention import ConsumerChanges, HoldKind, LogHold, RetentionFacts
from qsync.core.trimming import start_at, trim_log
from qsync.data import schema
from qsync.data.consumers import consumers_of
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.errors import QsyncError, StoreError
from qsync.node.checkpoints import Checkpoint
from qsync.node.retained import Retained
from qsync.node.snapshot_export import SnapshotExports
from qsync.node.snapshot_sender import SnapshotSender
from qsync.node.snapshots import SnapshotWriter

if TYPE_CHECKING:
    from qsync.node.view import NodeView

SWEEP_INTERVAL: Final = 1.0
"""Seconds between two looks."""
RETRY_SECONDS: Final = 30.0
"""After a snapshot that could not be written, or was none, so long until the next one is tried."""
TRIM_RETRY_DELAY: Final = 5.0


class _Seen(NamedTuple):
    rows: Sequence[Consumer]
    consumers: Sequence[Consumer]
    holds: Sequence[LogHold]
    facts: RetentionFacts


class Retention:
    """Retention of one node. Call `sweep` between two batches; one task writes to the disk."""

    def __init__(
        self,
        node: "NodeView",
        snapshots: SnapshotWriter,
        sender: SnapshotSender,
        exports: SnapshotExports,
    ) -> None:
        self.interval = SWEEP_INTERVAL
        """The seconds until the next check."""
        self._trimming: LogStart | None = None
        """Where the log on disk is to begin; it is trimmed there in another thread."""
        self._error: str | None = None
        """Why it cannot be."""
        self._node = node
        self._sender = sender
        self._snapshots = snapshots
        self._exports = exports
        self._goal: Index | None = None
        """A snapshot of all up to here is written as soon as that is folded."""
        self._tried: tuple[float, Checkpoint | None] = (float("-inf"), None)
        """When the last one was asked for, and the newest snapshot before that."""
        self._leads_since = (0, 0.0)
        self._begins = node.replica.machine.replicated_log.log.start.index
        self._wake = node.reactor.effects.event()

    @property
    def seen(self) -> Retained:
        """The data for the status."""
        seen = self._look()
        return Retained(
            consumers=() if seen is None else seen.consumers,
            holds=() if seen is None else seen.holds,
            checkpoints=self._snapshots.checkpoints.stored,
            readers=self._exports.readers,
            is_writing=self._snapshots.busy,
            snapshot_error=self._snapshots.error,
            trim_error=self._error,
        )

    # -- looking

    def _look(self) -> _Seen | None:
        """Look at log and snapshots; None while that is impossible, as when rows are remade."""
        node, machine = self._node, self._node.replica.machine
        if node.replica.lost is not None:
            return None
        try:
            rows = consumers_of(node.replica.state.select(schema.GC_CONSUMERS))
        except StoreError:
            return None  # the disk does not answer, or not with what was stored: later
        log, config = machine.replicated_log, machine.config
        followed = log.configurations.followed
        consumers = retention.placed(
            rows,
            () if followed is None else followed.members,
            log=log,
            config=config,
            followers=machine.peers if machine.leader is not None else None,
        )
        facts = self._stored()
        return _Seen(rows, consumers, retention.holds(log, facts, consumers, config), facts)

    def sweep(self, now: float) -> None:
        """Find the readers that need the log, and begin what is due."""
        self._renew_leases(now)
        machine = self._node.replica.machine
        log = machine.replicated_log.log
        if log.start.index != self._begins:
            self._begins = log.start.index
            self._snapshots.look()
        seen = self._look()
        if seen is None:
            return
        if machine.leader is not None and not machine.reasons():
            changes = retention.consumer_changes(
                seen.rows,
                seen.consumers,
                log=log,
                found=seen.holds,
                config=machine.config,
                settled=self._has_settled(now),
            )
            if changes:
                self._write(changes)
        self._see_to_snapshot(now, seen.facts)
        self._see_to_trim(seen.holds)

    def _stored(self) -> RetentionFacts:
        there, newest = self._snapshots.checkpoints.stored, self._snapshots.checkpoints.newest
        uptime = self._node.uptime()
        age = (
            uptime if newest is None else max(0.0, self._node.reactor.effects.wall() - newest.time)
        )
        return RetentionFacts(
            folded=Index(self._node.folding.durable),
            snapshots=tuple(each.index for each in there),
            newest_bytes=0 if newest is None else newest.bytes_used,
            age=age,
            uptime=uptime,
            transfers=self._transfers(),
            anonymous=self._anonymous(),
        )

    def _transfers(self) -> tuple[LogHold, ...]:
        """Return the needs of nodes that are sent a snapshot: the log behind it."""
        found = []
        for peer, transfer in self._sender.transfers.items():
            name, index = self._node.book.name_of(peer), transfer.source.head.start.index
            why = f"the snapshot at {index} is on its way there"
            hold = LogHold(name=name or "", kind=HoldKind.TRANSFER, index=index, why=why)
            found.append(hold)
        return tuple(found)

    def _anonymous(self) -> Sequence[LogHold]:
        """Return the needs of anonymous replicas, which a leader knows."""
        node, machine = self._node, self._node.replica.machine
        if machine.leader is None:
            return ()
        leases, log = node.book.anonymous, machine.replicated_log
        leases.follow(machine.peers, log)
        return leases.holds(log, machine.config)

    def _renew_leases(self, now: float) -> None:
        node = self._node
        known = node.replica.machine.replicated_log.configurations
        for each in node.book.anonymous.renew(now, node.server.hears, known):
            fields = {"id": int(each.replica), "name": each.name, "uuid": each.instance}
            node.timeline.append("anonymous_over", fields)
            if known.followed is not None and known.followed.member(each.replica) is not None:
                node.server.part(f"replica id {each.replica} is that of a member", each.replica)

    def _has_settled(self, now: float) -> bool:
        machine = self._node.replica.machine
        if self._leads_since[0] != machine.term:
            self._leads_since = (int(machine.term), now)
        return now - self._leads_since[1] >= machine.config.disconnect_timeout

    # -- what follows from it

    def _write(self, changes: ConsumerChanges) -> None:
        log = self._node.replica.machine.replicated_log.log
        try:
            changes = replace(changes, let_go=self._unmoved(changes.let_go))
        except StoreError:
            return  # the disk does not answer: it is looked at again
        if not changes:
            return
        ops = [
            *([int(Op.MOVE_REPLICA), each.name, int(each.index)] for each in changes.moved),
            *([int(Op.LET_GO_CONSUMER), each.name] for each in changes.let_go),
            *([int(Op.DROP_CONSUMER), name] for name in changes.dropped),
        ]
        try:
            self._node.replica.submit(None, Request(ops=ops))
        except QsyncError as error:
            # Not writable any more, or no room: it is looked at again.
            self._node.timeline.append("consumers_unwritten", {"why": error.message})
            return
        for each in changes.let_go:
            held = log.bytes_between(each.index, log.last)
            fields = {"kind": each.kind.value, "index": int(each.index), "bytes": held}
            self._node.timeline.append("consumer_let_go", {"name": each.name, **fields})

    def _unmoved(self, let_go: Sequence[Consumer]) -> list[Consumer]:
        """Return the readers without those that have moved on, also by entries not visible yet."""
        rows = self._node.replica.state.select(schema.GC_CONSUMERS, head=True)
        now = {each.name: each.index for each in consumers_of(rows)}
        return [
            each
            for each in let_go
            if each.kind is ConsumerKind.REPLICA or now.get(each.name) == each.index
        ]

    def _see_to_snapshot(self, now: float, stored: RetentionFacts) -> None:
        if self._node.storage.snapshot_folder is None or self._snapshots.busy:
            return
        folding, machine = self._node.folding, self._node.replica.machine
        if self._goal is None:
            if now - self._tried[0] < RETRY_SECONDS and self._has_failed():
                return
            why = retention.snapshot_due(machine.replicated_log, stored, machine.config)
            if why is None:
                return
            self._goal = retention.foldable(machine.replicated_log)
            folding.hurry(int(self._goal))
        if folding.durable >= self._goal:
            self._goal, self._tried = None, (now, self._snapshots.checkpoints.newest)
            self._snapshots.request()

    def _has_failed(self) -> bool:
        """Return whether the last attempt left no snapshot."""
        return self._snapshots.checkpoints.newest == self._tried[1]

    def _see_to_trim(self, holds: Sequence[LogHold]) -> None:
        machine = self._node.replica.machine
        replicated_log = machine.replicated_log
        begins = replicated_log.log.start.index
        if self._trimming is not None:
            return
        log, config = replicated_log.log, machine.config
        if holds[0].kind is HoldKind.FOLD:
            upto = min(holds[1].index, retention.foldable(replicated_log))
            if retention.is_worth_trimming(log, upto, config):
                self._node.folding.hurry(int(upto))
        goal = retention.trim_goal(holds, begins)
        if not retention.is_worth_trimming(log, goal, config):
            return
        try:
            start = start_at(replicated_log, goal)
        except StoreError as error:
            self._error = error.message
            return
        if start.index <= begins or not start.can_begin:
            return
        trim_log(replicated_log, start)
        self._trimming = start
        self._wake.set()

    async def run(self) -> None:
        """Trim the log on disk whenever the log in memory was trimmed; until cancelled."""
        while True:
            if self._trimming is None:
                self._wake = self._node.reactor.effects.event()
                await self._wake.wait()
            start = self._trimming
            assert start is not None
            try:
                await self._node.reactor.effects.in_thread(partial(_trim, self._node, start))
            except StoreError as error:
                # What is on disk is more than is used: that does no harm but take room.
                if self._error is None:
                    self._node.timeline.append("trim_failed", {"why": error.message})
                self._error = error.message
                await self._node.reactor.effects.sleep(TRIM_RETRY_DELAY)
                continue
            self._error = None
            self._trimming = None
            self._node.timeline.append("trimmed", {"begins": int(start.index) + 1})


def _trim(node: "NodeView", start: LogStart) -> int:
    node.storage.log.trim(start)
    return int(start.index)
