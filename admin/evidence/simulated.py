"""A simulated run as a bundle of evidence: logs, and all that nodes and clients did."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from admin.evidence import rows
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.opening import number_hash
from admin.evidence.recorder import NANOS, EvidenceObserver, SimulationRecorder
from admin.evidence.replays import compared
from admin.evidence.tables import Row
from admin.workload.history import HistoryLine, OutcomeType
from election.fencing import Fencing
from election.quorum import majority
from qsync.core.config import DISCONNECT_FACTOR
from qsync.faults import Fault
from qsync.record import Entry
from qsync.sim import history as simulated
from qsync.sim.parts import NodePart
from qsync.sim.plan import Plan
from qsync.sim.run import SeedReport, play, rest_budget
from qsync.sim.spaces import NAMES, NOTES, REGISTERS
from qsync.sim.world import World

_BINDING = frozenset({"", "linearizable"})
_SPACES = frozenset({"registers", "lists"})
"""Whose operations name their kind, and are judged by what a bundle tells; `qsync sim` judges all.

What is done to a list is a transaction, so that it is not taken for a register.
"""
_WIPE_TRIES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Wipe:
    """A node loses its directory `after` this virtual time, when all others are up."""

    node: int
    after: float


def record(
    plan: Plan, folder: Path, *, wipe: Wipe | None = None, judged: bool = True
) -> tuple[SeedReport, Bundle]:
    """Run the plan and write its evidence; the bundle of a broken run ends there.

    Unless it is `judged`, a broken property ends nothing, and is for others to find.
    """
    world = stage(plan, judged=judged)
    wiped: list[Row] = []
    if wipe is not None:
        world.clockwork.after(wipe.after, _wipe, world, wipe, wiped)
    report = play(world)
    return report, keep(world, report, folder, wiped)


def stage(plan: Plan, *, judged: bool = True) -> World:
    """Return a world whose run can be recorded."""
    world = World(plan, watched_by=SimulationRecorder if judged else EvidenceObserver)
    _recorder(world).world = world
    return world


def keep(world: World, report: SeedReport, folder: Path, wiped: Iterable[Row] = ()) -> Bundle:
    """Write the evidence of a run that is over; one that held comes to rest before that."""
    if report.held:
        _settle(world)
    recorder = _recorder(world)
    struck: list[Row] = [{"number": at, "f": kind} for at, kind in sorted(report.strikes.items())]
    tables: dict[str, Iterable[Row]] = {
        "wal": _logs(world),
        "status": recorder.status,
        "ops": _ops(world),
        "events": recorder.events,
        "digests": _digests(world) if report.held else [],
        "nemesis": [*struck, *wiped],
        "feeds": recorder.feeds,
    }
    return write(folder, _manifest(world, report), tables)


def _settle(world: World) -> None:
    """Go on until all is at rest once more: who was asked to lead last may only begin to now."""
    end = world.clockwork.now + rest_budget(world)
    while world.clockwork.now < end and not _settled(world) and world.step():
        pass


def _settled(world: World) -> bool:
    """Return whether all is on every disk and decided, and no node campaigns late by its disk."""
    ledgers = [node.core.machine.replicated_log for node in world.nodes]
    return world.unrest() is None and all(
        each.written == each.log.last == each.confirmed for each in ledgers
    )


def _recorder(world: World) -> SimulationRecorder:
    recorder = world.looker
    assert isinstance(recorder, SimulationRecorder)
    return recorder


def _wipe(world: World, wipe: Wipe, wiped: list[Row], tries: int = _WIPE_TRIES) -> None:
    """Wipe a disk, as when a machine is replaced; not while the others need it."""
    if world.clients[0].stopping or not tries:
        return
    node = world.nodes[wipe.node - 1]
    last = int(node.disk.log.last)
    if not all(_has(each, last, world) for each in world.nodes):
        again = partial(_wipe, world, wipe, wiped, tries - 1)
        world.clockwork.after(world.swarm.timing.replication_timeout, again)
        return
    node.stop(power=False)
    node.exchange()
    time = int(world.clockwork.now * NANOS)
    wiped.append({"number": 0, "f": "wipe", "time_mono": time, "value": wipe.node})
    node.start()


def _has(node: NodePart, last: int, world: World) -> bool:
    """Return whether it votes, and has on its disk all that is confirmed or was acked."""
    votes = node.reachable and node.core.machine.raft.ballot.member
    return votes and node.disk.log.last >= max(last, world.invariants.canon.last)


def _manifest(world: World, report: SeedReport) -> Manifest:
    nodes = []
    for node in world.nodes:
        replicated_log = node.core.machine.replicated_log if node.up else None
        # The log of the bundle is that of the disk, which may lag behind.
        confirmed = (
            0
            if replicated_log is None
            else int(min(replicated_log.confirmed, replicated_log.written))
        )
        facts = NodeFacts(
            node=int(node.me),
            generation=_recorder(world).generations[node.me],
            name=f"n{node.me}",
            confirmed=confirmed,
        )
        nodes.append(replace(facts, last=int(node.disk.log.last), recorded=node.up))
    return Manifest(
        run_id=f"seed-{report.seed}",
        source="simulator",
        cluster="simulated",
        quorum=_quorum(world),
        voters=0 if _comes_and_goes(world) else len(nodes),
        seed=report.seed,
        command=report.plan.command(),
        whole=report.held,
        faults=True,
        nodes=tuple(nodes),
        settings=_fence(world),
    )


def _fence(world: World) -> dict[str, object]:
    """Return how long a deposed leader may go on; nothing where one may have no fence."""
    drawn = world.swarm
    if drawn.fencing is Fencing.OFF or Fault.RESETTLE in drawn.nemesis.active:
        return {}
    return {"fence_seconds": DISCONNECT_FACTOR * drawn.timing.replication_timeout}


def _quorum(world: World) -> int:
    """Return the quorum; 0 where it is not one number, as during the replacement of a disk."""
    if _comes_and_goes(world):
        return 0
    nodes = world.swarm.nodes
    replaced = any(each > 1 for each in _recorder(world).generations.values())
    return 0 if replaced and nodes % 2 == 0 else majority(nodes)


def _comes_and_goes(world: World) -> bool:
    """Return whether the number of voters changes; the events say by which nodes count."""
    return "members" in world.swarm.variety.habits


def _logs(world: World) -> Iterable[Row]:
    for node in world.nodes:
        generation = _recorder(world).generations[node.me]
        for entry in _entries(world, node):
            yield rows.wal_row(entry, node=int(node.me), generation=generation)


def _entries(world: World, node: NodePart) -> Iterable[Entry]:
    """Return the entries of its disk; what was trimmed comes from the recorder."""
    log = node.disk.log
    yield from world.invariants.durable[node.me].entries[: log.start.index]
    for batch in log.batches(log.begins, log.last, bytes_max=1 << 20) if log.last else ():
        yield from rows.entries_of(batch.raw)


def _digests(world: World) -> Iterable[Row]:
    for node in world.nodes:
        visible = int(node.core.machine.replicated_log.visible)
        generation = {"generation": _recorder(world).generations[node.me]}
        for row in rows.digest_rows(int(node.me), visible, node.core.state.digests()):
            yield row | generation
        for row in compared(int(node.me), partial(_entries, world, node), node.disk.spaces):
            yield row | generation


def _ops(world: World) -> Iterable[Row]:
    """Return the operations that promise linearizability, or transactions, renumbered."""
    good = _BINDING | {"lease"} if world.leases_hold else _BINDING
    kept: list[simulated.RecordedLine] = []
    begun: dict[int, simulated.RecordedLine] = {}
    for line in world.history.lines:
        if line.space not in _SPACES:
            continue
        if line.type == "invoke":
            begun[line.process] = line
            continue
        first = begun.pop(line.process)
        if line.consistency in good:
            known = replace(
                first,
                session=line.session,
                seq=line.seq,
                floor=line.floor,
                floor_term=line.floor_term,
                value=_known_later(first, line),
            )
            kept += [known, line]
    kept += [line for line in begun.values() if line.consistency in good]
    for line in sorted(kept, key=lambda each: each.index):
        yield rows.ops_row(_line(line))


def _known_later(first: simulated.RecordedLine, line: simulated.RecordedLine) -> object:
    """Return what an operation asked for, where only its end shows all of it."""
    if line.f == "cas":
        return line.value  # with the value that it read and compared
    if line.type == "ok" and line.f == "txn":
        assert isinstance(line.value, list)
        return [[f, key, None if f == "r" else value] for f, key, value in line.value]
    return first.value


def _line(line: simulated.RecordedLine) -> HistoryLine:
    in_list = line.space == "lists"
    steps = _steps(line) if in_list else None
    # What only reads has an entry, too, of no synchronous space: it may be lost with its leader.
    numbered = not in_list or any(f != "r" for f, *_ in steps or ())
    return HistoryLine(
        index=line.index,
        time=line.time,
        process=line.process,
        type=OutcomeType(line.type),
        f="txn" if in_list else line.f,
        key="lists" if in_list else f"{line.space} {line.key}",
        value=steps if in_list else line.value,
        node=f"n{line.node}" if line.node else None,
        term=line.term,
        error=line.error,
        session=(line.session or None) if numbered else None,
        seq=(line.seq or None) if numbered else None,
        floor=line.floor or None,
        floor_term=line.floor_term or None,
        log_index=line.at,
        key_hash=_key_hash(line),
    )


def _key_hash(line: simulated.RecordedLine) -> int | None:
    """Return the hash of the first row that a write to a register changes."""
    if line.space != NAMES[REGISTERS] or line.f not in {"write", "cas"} or line.key is None:
        return None
    if line.name == "schema":
        return None  # the first row that it changes is one of the schema
    return number_hash(NOTES if line.name == "mixed" else REGISTERS, line.key)


def _steps(line: simulated.RecordedLine) -> list[list[object]]:
    """Return an operation as steps of a transaction; reads without an answer are unknown."""
    if line.f == "read":
        return [["r", line.key, (line.value or []) if line.type == "ok" else None]]
    if line.f == "append":
        return [["append", line.key, line.value]]
    assert isinstance(line.value, list)
    return line.value
