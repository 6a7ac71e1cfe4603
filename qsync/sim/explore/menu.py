"""The possible acts in a state of one node, and the bound that each uses."""

from collections.abc import Mapping
from typing import NamedTuple

from election.messages import RequestVote
from election.ready import ElectionTimer
from election.roles import Role
from qsync.core.ready import TimerKind
from qsync.faults import Fault
from qsync.sim.explore import members
from qsync.sim.explore.acts import LONG, Alarm, Delivery, ExplorerAct, WriteAct
from qsync.sim.explore.cast import StateTable
from qsync.sim.explore.clients import CallAttempt
from qsync.sim.explore.host import ExploredNode
from qsync.sim.explore.ids import node_ids
from qsync.sim.explore.scope import PROMISE, Scope
from qsync.sim.explore.world import KINDS_MAX

FREE = -1
"""Instead of a bound: it may happen whenever it is possible."""

BOUNDS = (
    "campaigns",
    "timeouts",
    "heartbeats",
    "writes",
    "asyncs",
    "reads",
    "receipts",
    "rollbacks",
    "crashes",
    "wipes",
    "damages",
    "forces",
    "upgrades",
    "downgrades",
    "supersedes",
    "ticks",
    "drifts",
    "leases",
    "refusals",
    "retimes",
    "duplicates",
    "failures",
    "breaks",
    "pauses",
    "promotes",
    "demotes",
    "replaces",
    "changes",
    "calls",
    "asks",
    "doubts",
    "resets",
    "expiries",
    "openings",
    "nexts",
    "lowers",
    "raises",
    "folds",
    "trims",
    "batches",
)
"""All acts that a scope may bound."""

FAULTS: Mapping[str, Fault] = {
    "crashes": Fault.KILL,
    "wipes": Fault.NEW_DISK,
    "damages": Fault.LOG_BIT_FLIP,
    "pauses": Fault.PAUSE,
    "failures": Fault.FAIL_FSYNC,
    "breaks": Fault.RESET,
    "refusals": Fault.REFUSE,
    "promotes": Fault.PROMOTE,
    "demotes": Fault.DEMOTE,
}
"""The faults, by their common name.

Any message may be late or lost and, with a slow disk, any write, without being counted.
"""
assert set(FAULTS) <= set(BOUNDS)


class Move(NamedTuple):
    """An act by its number; it uses one of the bound at that place. `kind`: of a free act."""

    bound: int
    act: int
    kind: int


class ActionMenu:
    """Moves by state, each list made once."""

    def __init__(self, scope: Scope, cast: StateTable) -> None:
        unknown = set(scope.bounds) - set(BOUNDS)
        assert not unknown, unknown
        self.bounds = tuple(name for name in BOUNDS if name in scope.bounds)
        self._scope = scope
        self._cast = cast
        self._moves: dict[int, tuple[Move, ...]] = {}
        self._deliveries: dict[int, tuple[int, ...]] = {}
        self._voters = node_ids(scope.nodes)
        self._writable: dict[int, bool] = {}
        self._writes: dict[tuple[int, int, bool], int] = {}

    def bound(self, name: str) -> int:
        """The position of a bound; -2 if the scope does not have it."""
        return self.bounds.index(name) if name in self.bounds else -2

    def moves(self, state: int) -> tuple[Move, ...]:
        """The possible acts of a node in that state, independent of the others."""
        found = self._moves.get(state)
        if found is None:
            host = self._cast.hosts[state]
            acts = [*self._timers(host), *self._people(host)]
            if host.platter.write is not None:
                acts.append(("", ExplorerAct(host.me, "land")))
                acts.append(("failures", ExplorerAct(host.me, "fail")))
            found = self._moves[state] = tuple([
                Move(self.bounds.index(bound) if bound else FREE, self._cast.act(act), _kind(act))
                for bound, act in acts
                if not bound or bound in self.bounds
            ])  # fmt: skip
        return found

    def _timers(self, host: ExploredNode) -> list[tuple[str, ExplorerAct]]:
        me, machine = host.me, host.core.machine
        leads = machine.raft.role is Role.LEADER
        found: list[tuple[str, ExplorerAct]] = []
        long, beat = (0.0, 0.0) if self._scope.tick else (LONG, self._scope.beat)
        campaigns = int(me) in self._scope.campaigning and not leads
        if ElectionTimer.ELECTION in host.armed and campaigns:
            found.append(("timeouts", ExplorerAct(me, "fire", Alarm(ElectionTimer.ELECTION, long))))
        if campaigns and machine.raft.electorate.may_lead:
            if not self._scope.tick:
                found.append(("campaigns", ExplorerAct(me, "campaign")))
            elif machine.raft.state.now >= machine.raft.state.promise.sticky_until:
                found.append(("campaigns", ExplorerAct(me, "campaign", "now")))
        if leads:
            if int(me) in self._scope.beating:
                found.append(
                    ("heartbeats", ExplorerAct(me, "fire", Alarm(TimerKind.HEARTBEAT, beat)))
                )
            found.append(("pauses", ExplorerAct(me, "pause")))
        if TimerKind.CONFIRM in host.armed and self._scope.records:
            found.append(("", ExplorerAct(me, "fire", Alarm(TimerKind.CONFIRM, 0.0))))
        if TimerKind.SYNCHRO in host.armed and host.replicated_log.limbo.queue:
            found.append(("rollbacks", ExplorerAct(me, "fire", Alarm(TimerKind.SYNCHRO, 0.0))))
        found += _round_for_reads(host)
        if TimerKind.DISK in host.armed:
            found.append(("", ExplorerAct(me, "fire", Alarm(TimerKind.DISK, 0.0))))
        due = [kind for kind in _OPERATIONS if kind in host.armed]
        return found + [("", ExplorerAct(me, "fire", Alarm(kind, long))) for kind in due]

    def _people(self, host: ExploredNode) -> list[tuple[str, ExplorerAct]]:
        me, machine = host.me, host.core.machine
        if host.plan.whole:
            return [("folds", ExplorerAct(me, "fold"))]
        found = self._operators(host)
        if int(me) in self._scope.crashing and not host.platter.superseded:
            found.append(("supersedes", ExplorerAct(me, "supersede")))
        begins = machine.replicated_log.log.start.index
        if int(me) in self._scope.trimming and machine.replicated_log.confirmed > begins:
            found.append(("trims", ExplorerAct(me, "trim")))
        if (
            self._scope.tick
            and machine.leader is None
            and machine.config.election_timeout == PROMISE
        ):
            found.append(("retimes", ExplorerAct(me, "retime")))
        return found

    def _operators(self, host: ExploredNode) -> list[tuple[str, ExplorerAct]]:
        me, machine = host.me, host.core.machine
        if machine.leader is None:
            return [("promotes", ExplorerAct(me, "promote"))]
        orders = [
            *[("replaces", order) for order in members.replacing(machine)],
            *[("changes", order) for order in members.possible(machine, self._scope.changes)],
        ]
        return [
            *[("demotes", ExplorerAct(me, "demote", peer)) for peer in host.plan.peers],
            *[(bound, ExplorerAct(me, "change", order)) for bound, order in orders],
        ]

    def leads(self, state: int) -> bool:
        """Whether it believes that it leads."""
        return self._cast.hosts[state].core.machine.leader is not None

    def writable(self, state: int) -> bool:
        """Whether the node would accept a client's transaction."""
        found = self._writable.get(state)
        if found is None:
            machine = self._cast.hosts[state].core.machine
            mine = int(machine.config.me) in self._scope.writing
            found = self._writable[state] = mine and not machine.reasons()
        return found

    def write(self, place: int, count: int, *, sync: bool) -> int:
        """The act of taking the transaction that is the count-th of its kind."""
        key = (place, count, sync)
        found = self._writes.get(key)
        if found is None:
            name = chr(ord("a" if sync else "p") + count)
            ticket = count if sync else 100 + count
            me = self._voters[place]
            act = ExplorerAct(me, "put", WriteAct(name, sync=sync, ticket=ticket))
            found = self._writes[key] = self._cast.act(act)
        return found

    def call(self, place: int, call: CallAttempt) -> int:
        """The act of a request."""
        return self._cast.act(ExplorerAct(self._voters[place], "call", call))

    def deliveries(self, letter: int) -> tuple[int, ...]:
        """The acts of a message's arrival: one, or two if the receiver's timeout matters."""
        found = self._deliveries.get(letter)
        if found is None:
            sender, receiver, message, instance = self._cast.letters[letter]
            asks = isinstance(message, RequestVote) and not message.transfer
            late = [True] if asks and not self._scope.sticky else [False, True] if asks else [False]
            late = [False] if self._scope.tick else late
            found = self._deliveries[letter] = tuple([
                self._cast.act(ExplorerAct(receiver, "deliver", delivery))
                for each in late
                for delivery in (Delivery(sender, message, each, instance),)
            ])  # fmt: skip
        return found


def _round_for_reads(host: ExploredNode) -> list[tuple[str, ExplorerAct]]:
    """What asks everybody, as a heartbeat does, because the voters that were asked are silent."""
    if TimerKind.READS not in host.armed:
        return []
    return [("heartbeats", ExplorerAct(host.me, "fire", Alarm(TimerKind.READS, 0.0)))]


def _kind(act: ExplorerAct) -> int:
    """Free acts at one node have different kinds."""
    return _KINDS.get(act.what.kind if isinstance(act.what, Alarm) else act.name, 0)


_OPERATIONS = (
    ElectionTimer.TRANSFER,
    TimerKind.HAND_OVER,
    TimerKind.DEMOTION,
    TimerKind.PROMOTION,
)
"""Timers of requests of operators."""
_KINDS: dict[str, int] = {
    "land": 1,
    TimerKind.CONFIRM: 2,
    TimerKind.DISK: 3,
    **{str(kind): 4 + at for at, kind in enumerate(_OPERATIONS)},
}
assert max(_KINDS.values()) < KINDS_MAX
