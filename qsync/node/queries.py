"""Questions about the node rather than its data: news, options, traces, snapshots."""

from collections.abc import Awaitable, Callable, Mapping

from election.messages import Replica
from qsync.core.retention import foldable
from qsync.errors import QsyncError
from qsync.node import broadcast, guard, handshake, options, sweeping
from qsync.node.audit_heads import AuditHeads, HeadNews
from qsync.node.auditing import AuditTrail
from qsync.node.connection import Connection
from qsync.node.fault_hooks import FaultHooks
from qsync.node.log_export import LogExports
from qsync.node.retention import Retention
from qsync.node.snapshot_export import SnapshotExports
from qsync.node.snapshot_transfers import SnapshotTransfers
from qsync.node.snapshots import SnapshotWriter
from qsync.node.tracing import Tracing
from qsync.node.view import NodeView
from qsync.node.watching import Watching
from qsync.wire import replies, verbs
from qsync.wire.peer_audit import PeerAudit
from qsync.wire.verbs import Verb


class NodeQueries:
    """One per node. `turn` after every batch while `busy`, `tick` now and then while it `waits`."""

    def __init__(self, node: NodeView, *, now: Callable[[], float]) -> None:
        self._node = node
        self.watching = Watching(
            node.replica, broadcast.values(node), send=node.reactor.send, now=now
        )
        timeline = node.storage.timeline
        self.audit = AuditTrail(
            None if timeline is None else timeline.parent,
            node.config.audit,
            now=now,
            wall=node.reactor.effects.wall,
            alarm=lambda why: node.timeline.append("audit_unwritten", {"why": why}),
        )
        node.timeline.audited = self._happened
        self.audit_heads = AuditHeads(
            self.audit,
            interval=node.config.audit.heads_interval,
            send=node.links.deliver_to_all,
            alarm=node.timeline.append,
        )
        self.tracing = Tracing(node.replica.machine, now=now, wall=node.loop.timers.wall)
        self.fault_hooks = FaultHooks(node, now=now)
        self.log_exports = LogExports(
            node.replica.machine.replicated_log,
            node.storage.log.read,
            send=node.reactor.send,
            flush=node.reactor.flush,
            effects=node.reactor.effects,
        )
        self.snapshots = SnapshotWriter(
            node.replica.machine.replicated_log,
            node.storage.spaces,
            node.storage.snapshot_folder,
            keep=lambda: node.replica.machine.config.checkpoint_count,
            send=node.reactor.send,
            flush=node.reactor.flush,
            timeline=node.timeline,
            effects=node.reactor.effects,
        )
        self.transfers = SnapshotTransfers(node)
        self.snapshot_exports = SnapshotExports(
            node.storage.snapshots,
            send=node.reactor.send,
            flush=node.reactor.flush,
            effects=node.reactor.effects,
        )
        self.retention = Retention(
            node, self.snapshots, self.transfers.sender, self.snapshot_exports
        )
        self._snapshots: list[tuple[Connection, int, int]] = []

    def tasks(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the background work of all questions, to be run as long as the node runs."""
        transfers = self.transfers
        return [
            self.log_exports.run,
            self.snapshots.run,
            transfers.sender.run,
            transfers.receiver.run,
            self.snapshot_exports.run,
            self.retention.run,
        ]

    @property
    def busy(self) -> bool:
        """Whether there is anything to look at after a batch."""
        return self.watching.busy or self.tracing.armed or self.transfers.receiver.is_needless

    @property
    def waits(self) -> bool:
        """Whether a question waits for a point in time."""
        if self._snapshots or len(self.watching) > 0 or len(self.snapshot_exports) > 0:
            return True
        return self.tracing.armed or self.fault_hooks.points.any_armed

    def handle_request(self, connection: Connection, request: verbs.Request) -> bool:
        """Answer, or keep the question until it can be. False: another part must answer it."""
        try:
            if isinstance(request, verbs.WatchRequest):
                self.watching.key(connection, request)
            elif isinstance(request, verbs.ChangesRequest):
                self.watching.changes(connection, request)
            elif isinstance(request, verbs.OptionsRequest):
                self._options(connection, request)
            elif isinstance(request, verbs.FaultRequest):
                self._fault(connection, request)
            elif isinstance(request, verbs.TraceRequest):
                self.tracing.arm(request.arm)
                self._send(connection, replies.reply(request.id, self.tracing.tell(request.at)))
            elif isinstance(request, verbs.PackedRequest):
                self.log_exports.ask(connection, request)
            elif isinstance(request, verbs.SnapshotReadRequest):
                self.snapshot_exports.ask(connection, request)
            elif isinstance(request, verbs.PlainRequest):
                return self._plain(connection, request)
            else:
                return False
        except QsyncError as error:
            self._send(connection, replies.failed(request.id, error))
        return True

    def _plain(self, connection: Connection, request: verbs.PlainRequest) -> bool:
        """Answer a question without arguments; return false if another part must."""
        if request.verb is Verb.SNAPSHOT:
            self._snapshot(connection, request.id)
        elif request.verb is Verb.RELOAD:
            found = sweeping.reload_certificates(self._node)
            self._send(connection, replies.reply(request.id, found))
        else:
            return False
        return True

    def check_change(self, request: verbs.ChangeMemberRequest) -> None:
        """Check that a node may get a place. Raises WrongVersion."""
        handshake.check_change(self._node, request)

    def turn(self) -> None:
        """Look at the questions that wait, after a batch."""
        if self.tracing.armed:
            self.tracing.turn()
        if self.watching.busy:
            self.watching.turn()
        if self.transfers.receiver.is_needless:
            self.transfers.receiver.wake()

    def tick(self) -> None:
        """Look at the questions whose time may be over."""
        self.watching.tick()
        self.tracing.tick()
        self.fault_hooks.points.expire()
        self.snapshot_exports.close_unused()
        if self._snapshots:
            self._snapshots = [each for each in self._snapshots if not self._folded(*each)]

    def hear_audit(self, peer: Replica, told: PeerAudit) -> None:
        """Take the head of a peer's audit trail."""
        instance = self._node.server.instance_of(peer)
        if instance is None or guard.rights_of(self._node.replica) is None:
            return
        name = self._node.book.name_of(peer) or str(int(peer))
        self.audit_heads.heard(HeadNews(peer, name, instance, told))

    def _happened(self, name: str, fields: Mapping[str, object]) -> None:
        if guard.rights_of(self._node.replica) is not None:
            self.audit.note_happening(name, fields)

    def _send(self, connection: Connection, data: bytes) -> None:
        self._node.reactor.send(connection, data)

    def _options(self, connection: Connection, request: verbs.OptionsRequest) -> None:
        found = options.change(self._node, request.given)
        if request.given:
            # What was accepted is short and plain; what is refused may be anything.
            self._node.timeline.append("options", {"given": request.given})
        self._send(connection, replies.reply(request.id, found))

    def _fault(self, connection: Connection, request: verbs.FaultRequest) -> None:
        points = self.fault_hooks.points
        if request.arm:
            points.arm(
                request.point,
                seconds=request.seconds,
                times=request.times,
                lasts=request.lasts,
            )
        else:
            points.disarm(request.point)
        armed = points.describe()
        if armed:
            names = ", ".join(str(each["point"]) for each in armed)
            self._node.timeline.append("faults", {"armed": names})
        else:
            self._node.timeline.append("faults_gone", {})
        self._send(connection, replies.reply(request.id, armed))

    def _snapshot(self, connection: Connection, number: int) -> None:
        goal = foldable(self._node.replica.machine.replicated_log)
        self._node.folding.hurry(int(goal))
        self._snapshots.append((connection, number, int(goal)))

    def _folded(self, connection: Connection, number: int, goal: int) -> bool:
        """Answer a question that waited for folding; return true if it is done with."""
        folding = self._node.folding
        if connection.closed:
            return True
        if folding.durable >= goal:
            self.snapshots.ask(connection, number)
            return True
        if folding.error is not None:
            self._send(connection, replies.failed(number, folding.error))
            return True
        return False
