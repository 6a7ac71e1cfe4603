"""The reasons for the length of the log in a node's status: snapshots, and readers."""

from qsync.consumer import Consumer, ConsumerKind
from qsync.core.retention import LogHold
from qsync.node.member_status import vclock_at
from qsync.node.view import NodeView
from qsync.record import read_instance
from qsync.status.storage import CheckpointStatus, ConsumerStatus, GcStatus, HoldStatus


def gc(node: NodeView) -> GcStatus:
    """Return where the log begins, which snapshots there are, and which readers need the log."""
    machine, seen = node.replica.machine, node.retained
    start = machine.replicated_log.log.start
    return GcStatus(
        vclock={int(origin): int(lsn) for origin, lsn in start.vclock},
        signature=int(start.index),
        checkpoint_is_in_progress=node.folding.hurried or seen.is_writing,
        checkpoint_error=seen.snapshot_error,
        checkpoint_interval=machine.config.checkpoint_interval,
        checkpoints=tuple(
            CheckpointStatus(
                signature=int(each.index), vclock=each.vclock, size=each.bytes_used, time=each.time
            )
            for each in seen.checkpoints
        ),
        consumers=tuple(
            _consumer(node, each) for each in sorted(seen.consumers, key=lambda each: each.index)
        ),
        held_by=_hold(seen.holds[0]) if seen.holds else None,
        readers=tuple(seen.readers),
        retention=machine.config.wal_retention_size,
        trim_error=seen.trim_error,
    )


def _consumer(node: NodeView, each: Consumer) -> ConsumerStatus:
    log = node.replica.machine.replicated_log.log
    return ConsumerStatus(
        name=each.name,
        kind=each.kind.value,
        about=each.about or _member_name(node, each),
        signature=int(each.index),
        vclock=vclock_at(node, each.index),
        size=0 if each.let_go else log.bytes_between(each.index, log.last),
        let_go=each.let_go,
        owner=each.owner,
    )


def _member_name(node: NodeView, each: Consumer) -> str:
    configuration = node.replica.machine.replicated_log.configurations.followed
    if each.kind is not ConsumerKind.REPLICA or configuration is None:
        return ""
    instance = read_instance(each.name)
    found = next((one for one in configuration.members if one.instance == instance), None)
    return "" if found is None else node.book.name_of(found.replica) or ""


def _hold(hold: LogHold) -> HoldStatus:
    return HoldStatus(kind=hold.kind.value, name=hold.name, signature=int(hold.index), why=hold.why)
