"""A simulated run as a bundle of evidence: its logs, and all that its nodes and clients did."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from admin.evidence import rows
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import Row
from admin.history import Line, Type
from election.messages import Index, Replica, Vote
from election.roles import Role
from qsync.core.messages import Appended, Message
from qsync.core.ready import Write
from qsync.replica import Replica as Core
from qsync.sim import history as simulated
from qsync.sim.invariants import Invariants
from qsync.sim.node import Node
from qsync.sim.plan import Plan
from qsync.sim.run import Report, play
from qsync.sim.world import World

_BINDING = frozenset({"", "linearizable"})
_SPACE = "registers"
"""Its operations are linearizable one by one, and name their kind; `qsync sim` judges all."""
_NANOS = 1_000_000_000
_FIRST = Index(1)


class Recorder(Invariants):
    """The simulator's invariants, that also write down what they see."""

    def __init__(self, quorum: int, *, lease_checked: bool) -> None:
        super().__init__(quorum, lease_checked=lease_checked)
        self.events: list[Row] = []
        self.status: list[Row] = []
        self.world: World | None = None
        self._lives: Counter[Replica] = Counter()
        self._shown: dict[Replica, tuple[object, ...]] = {}
        self._reached: dict[Replica, int] = {}

    def join(self, node: Node) -> None:
        """Look on at its disk, too."""
        super().join(node)
        judge = node.disk.looks_on

        def wrote(write: Write) -> None:
            self._wrote(node.me, write)
            judge(write)

        node.disk.looks_on = wrote

    def started(self, me: Replica, core: Core) -> None:
        """A new life."""
        self._lives[me] += 1
        self._shown.pop(me, None)
        self._reached[me] = 0
        self._note(me, "started", index=int(core.machine.ledger.log.last))
        super().started(me, core)

    def said(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """Votes and acks."""
        if isinstance(message, Vote) and message.granted and not message.pre:
            self._note(me, "vote", term=int(message.asked), peer=int(peer))
        elif isinstance(message, Appended) and message.ok:
            self._note(me, "ack", term=int(message.term), index=int(message.index), peer=int(peer))
        super().said(me, core, peer, message)

    def turned(self, me: Replica, core: Core) -> None:
        """What it shows of itself, if that changed; and its confirmed index."""
        raft, ledger = core.machine.raft, core.machine.ledger
        leads = raft.role is Role.LEADER
        reasons = core.machine.reasons()
        view = (raft.role.value, int(raft.term), ledger.log.last, ledger.confirmed, not reasons)
        before = self._shown.get(me)
        if view != before:
            self._shown[me] = view
            if leads and (before is None or before[:2] != view[:2]):
                self._note(me, "leads", term=int(raft.term))
            self._sample(me, core, ro=bool(reasons))
        if ledger.confirmed > self._reached[me]:
            self._reached[me] = int(ledger.confirmed)
            crc = int(ledger.log.crc_at(ledger.confirmed))
            self._note(me, "confirmed", index=int(ledger.confirmed), crc=crc)
        super().turned(me, core)

    def _wrote(self, me: Replica, write: Write) -> None:
        self._note(me, "ballot", term=int(write.ballot.term), peer=_number(write.ballot.vote))
        if write.cut_above is not None:
            self._note(me, "cut", index=int(write.cut_above))
        for each in write.entries:
            self._note(me, "durable", index=int(each.index), term=int(each.term), crc=int(each.crc))

    def _now(self) -> int:
        return 0 if self.world is None else int(self.world.clockwork.now * _NANOS)

    def _note(self, me: Replica, name: str, **known: int | None) -> None:
        row: Row = {"node": int(me), "generation": 1, "life": self._lives[me], "name": name}
        self.events.append(row | {"number": len(self.events), "time_mono": self._now()} | known)

    def _sample(self, me: Replica, core: Core, *, ro: bool) -> None:
        raft, ledger = core.machine.raft, core.machine.ledger
        row: Row = {
            "node": int(me),
            "generation": 1,
            "life": self._lives[me],
            "sample": len(self.status),
            "time_mono": self._now(),
            "role": raft.role.value,
            "term": int(raft.term),
            "vote": _number(raft.ballot.vote),
            "leader": _number(raft.leader),
            "ro": ro,
            "last": int(ledger.log.last),
            "written": int(ledger.written),
            "confirmed": int(ledger.confirmed),
            "visible": int(ledger.visible),
            "limbo_owner": int(ledger.limbo.owner.owner),
            "limbo_term": int(ledger.limbo.owner.term),
            "limbo_len": len(ledger.limbo.queue),
            "quorum": self.quorum,
        }
        self.status.append(row)


def record(plan: Plan, folder: Path) -> tuple[Report, Bundle]:
    """Run the plan and write what there is to see; the bundle of a broken run ends there."""
    world = World(plan, watched_by=Recorder)
    recorder = world.invariants
    assert isinstance(recorder, Recorder)
    recorder.world = world
    report = play(world)
    tables: dict[str, Iterable[Row]] = {
        "wal": _logs(world),
        "status": recorder.status,
        "ops": _ops(world),
        "events": recorder.events,
        "digests": _digests(world) if report.held else [],
        "nemesis": [
            {"number": number, "f": kind} for number, kind in sorted(report.strikes.items())
        ],
    }
    return report, write(folder, _manifest(world, report), tables)


def _manifest(world: World, report: Report) -> Manifest:
    nodes = []
    for node in world.nodes:
        confirmed = int(node.core.machine.ledger.confirmed) if node.up else 0
        facts = NodeFacts(node=int(node.me), name=f"n{node.me}", confirmed=confirmed)
        nodes.append(replace(facts, last=int(node.disk.log.last)))
    return Manifest(
        run_id=f"seed-{report.seed}",
        source="simulator",
        cluster="simulated",
        quorum=world.invariants.quorum,
        voters=len(nodes),
        seed=report.seed,
        command=report.plan.command(),
        whole=report.held,
        faults=True,
        nodes=tuple(nodes),
    )


def _logs(world: World) -> Iterable[Row]:
    for node in world.nodes:
        log = node.disk.log
        for batch in log.batches(_FIRST, log.last, bytes_max=1 << 20) if log.last else ():
            for entry in rows.entries_of(batch.raw):
                yield rows.wal_row(entry, node=int(node.me))


def _digests(world: World) -> Iterable[Row]:
    for node in world.nodes:
        visible = int(node.core.machine.ledger.visible)
        yield from rows.digest_rows(int(node.me), visible, node.core.state.digests())


def _ops(world: World) -> Iterable[Row]:
    """The operations that promise to be linearizable, renumbered."""
    good = _BINDING | {"lease"} if world.leases_hold else _BINDING
    kept: list[simulated.Line] = []
    begun: dict[int, simulated.Line] = {}
    for line in world.history.lines:
        if line.space != _SPACE or line.key is None:
            continue
        if line.type == "invoke":
            begun[line.process] = line
            continue
        first = begun.pop(line.process)
        if line.consistency in good:
            known = replace(first, session=line.session, seq=line.seq, value=line.value)
            kept += [known if line.f != "read" else first, line]
    kept += [line for line in begun.values() if line.consistency in good]
    for line in sorted(kept, key=lambda each: each.index):
        yield rows.ops_row(_line(line))


def _line(line: simulated.Line) -> Line:
    return Line(
        index=line.index,
        time=line.time,
        process=line.process,
        type=Type(line.type),
        f=line.f,
        key=f"{line.space} {line.key}",
        value=line.value,
        node=None if line.node is None else f"n{line.node}",
        term=line.term,
        error=line.error,
        session=line.session or None,
        seq=line.seq or None,
        floor=line.floor or None,
        log_index=line.at,
    )


def _number(replica: Replica | None) -> int | None:
    return None if replica is None else int(replica)
