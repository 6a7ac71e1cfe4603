"""Everything that can happen to one node of the explored cluster, by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import cbor2

from election.messages import Position, Replica
from election.ready import ElectionTimer
from qsync import features
from qsync.core.consistency import Consistency
from qsync.core.inputs import (
    ChangeAsked,
    DemoteAsked,
    Disconnected,
    PromoteAsked,
    ReadAsked,
    Received,
    RollbackAsked,
    TimerFired,
    WriteFailed,
)
from qsync.core.messages import Append, Message
from qsync.errors import WrongFormat
from qsync.record import ONE_INSTANCE, Instance
from qsync.sim import properties
from qsync.sim.explore import clients, falls, members
from qsync.sim.explore.answers import OPERATOR, PROMOTER
from qsync.sim.explore.host import ExploredNode, PeerConnection, TurnOutput

LONG = 1000.0
"""Seconds that are longer than every timeout."""


class ExplorerAct(NamedTuple):
    """`what` says more; it is a value, so that acts can be told apart."""

    node: Replica
    name: str
    what: object = None

    def describe(self) -> str:
        """For a line of the trace."""
        return _DESCRIBERS.get(self.name, _plainly)(self)


class Delivery(NamedTuple):
    """A message arrives. `late`: its receiver has heard nothing for long."""

    sender: Replica
    message: Message
    late: bool
    instance: Instance = ONE_INSTANCE
    """The directory on which its sender ran."""


def perform(host: ExploredNode, act: ExplorerAct) -> TurnOutput:
    """One turn. Raises Violation when the node breaks a property by itself."""
    enabled = features.enabled(host.core.settings)
    try:
        _PERFORMERS[act.name](host, act.what)
        _enables(host, enabled)
        told = host.end(clients.refusal_due)
    except WrongFormat as error:
        properties.readable(host.me, error.message)
    if host.plan.whole:
        clients.examine(host)
    return told


def _enables(host: ExploredNode, before: frozenset[str]) -> None:
    """Property 18 where it begins: who enables a feature knows of all peers that they know it."""
    machine, new = host.core.machine, features.enabled(host.core.settings) - before
    if new and machine.leader is not None:
        host.happened("feature enabled")
        for peer, progress in machine.peers.items():
            if new - (progress.features or frozenset()):
                properties.readable(peer, f"node {host.me} enables {features.text_of(new)}")


# -- the world


def _deliver(host: ExploredNode, what: object) -> None:
    assert isinstance(what, Delivery)
    host.begin(later=LONG if what.late else 0.0)
    if what.sender in host.diary.release.shut_out:
        return
    host.step(Received(peer=what.sender, message=what.message, instance=what.instance))


def _batch(host: ExploredNode, what: object) -> None:
    """The node gets both inputs in one turn."""
    assert isinstance(what, tuple)
    first, second = what
    assert isinstance(first, ExplorerAct)
    assert isinstance(second, ExplorerAct)
    with host.batch():
        _PERFORMERS[first.name](host, first.what)
        _PERFORMERS[second.name](host, second.what)
    host.happened("batch")


def _land(host: ExploredNode, _what: object) -> None:
    host.begin()
    host.land()


def _fail(host: ExploredNode, _what: object) -> None:
    """Messages that depend on the write are not sent."""
    host.begin()
    write = host.platter.write
    assert write is not None
    host.platter.crash()
    host.step(WriteFailed(id=write.id, why="input/output error"))
    host.happened("write failed")


def _reconnect(host: ExploredNode, what: object) -> None:
    assert isinstance(what, PeerConnection)
    host.begin()
    host.step(Disconnected(peer=what.peer, epoch=host.epochs[what.peer], refused=False))
    host.connect(what)
    host.happened("reconnected")


def _refuse(host: ExploredNode, what: object) -> None:
    """The leader's address refuses a connection, although the leader runs."""
    assert isinstance(what, PeerConnection)
    host.begin()
    host.step(Disconnected(peer=what.peer, epoch=host.epochs[what.peer], refused=True))
    host.connect(what)
    host.happened("refused connection")


# -- time


class Tick(NamedTuple):
    """Time passes. `drifts`: the difference to the other nodes."""

    seconds: float
    drifts: bool = False


def _tick(host: ExploredNode, what: object) -> None:
    assert isinstance(what, Tick)
    host.begin(later=what.seconds)
    host.drifted |= what.drifts


def _retime(host: ExploredNode, _what: object) -> None:
    """Its timeouts are half as long from now on."""
    host.begin()
    config = host.core.machine.config
    host.core.machine.reconfigure(replace(
        config,
        election_timeout=config.election_timeout / 2,
        replication_timeout=config.replication_timeout / 2,
    ))  # fmt: skip
    host.happened("retimed")


class Alarm(NamedTuple):
    """A timer fires, this many seconds after the last event."""

    kind: str
    later: float


def _fire(host: ExploredNode, what: object) -> None:
    assert isinstance(what, Alarm)
    host.begin(later=what.later)
    host.armed.discard(what.kind)
    host.step(TimerFired(kind=what.kind))
    host.happened(f"timer {what.kind}")


def _campaign(host: ExploredNode, what: object) -> None:
    """No leader is heard, the pre-votes are lost, and an operator requests a promote."""
    host.begin(later=LONG if what is None else 0.0)
    host.step(TimerFired(kind=ElectionTimer.ELECTION))
    if host.core.machine.raft.electorate.is_alone:
        return  # it sends no requests, so nothing is lost
    host.answer(host.core.machine.ready())
    host.operator_asks(PromoteAsked(ticket=PROMOTER))


def _pause(host: ExploredNode, _what: object) -> None:
    host.begin(later=LONG)


# -- people


def _put(host: ExploredNode, what: object) -> None:
    assert isinstance(what, WriteAct)
    host.begin()
    machine = host.core.machine
    if machine.reasons():
        return  # only in a batch: the input before it ended the leadership
    body = cbor2.dumps([what.name.encode(), 0, 0, []])
    machine.propose(body, sync=what.sync, ticket=what.ticket)
    host.happened("put")


class WriteAct(NamedTuple):
    """A client's transaction."""

    name: str
    sync: bool
    ticket: int


def _read(host: ExploredNode, what: object) -> None:
    assert isinstance(what, ReadAct)
    host.begin()
    host.diary.answers.floors[what.ticket] = what.floor
    host.step(ReadAsked(ticket=what.ticket, consistency=Consistency.LINEARIZABLE))


class ReadAct(NamedTuple):
    """A linearizable read. `floor`: the newest entry answered to any client before the read."""

    ticket: int
    floor: Position


def _read_by_lease(host: ExploredNode, what: object) -> None:
    assert isinstance(what, ReadAct)
    host.begin()
    host.diary.answers.floors[what.ticket] = what.floor
    host.step(ReadAsked(ticket=what.ticket, consistency=Consistency.LEASE))
    host.happened("asked by lease")


def _read_receipt(host: ExploredNode, what: object) -> None:
    assert isinstance(what, ReadAct)
    host.begin()
    ticket, place = what
    host.diary.answers.floors[ticket] = place
    host.step(ReadAsked(
        ticket=ticket, consistency=Consistency.AT_LEAST, term=place.term, index=place.index
    ))  # fmt: skip


def _roll_back(host: ExploredNode, _what: object) -> None:
    host.begin()
    host.operator_asks(RollbackAsked(ticket=OPERATOR))


def _promote(host: ExploredNode, _what: object) -> None:
    host.begin()
    host.operator_asks(PromoteAsked(ticket=PROMOTER))


def _demote(host: ExploredNode, what: object) -> None:
    assert isinstance(what, int)
    host.begin()
    host.operator_asks(DemoteAsked(ticket=OPERATOR, to=Replica(what)))


def _change(host: ExploredNode, what: object) -> None:
    assert isinstance(what, members.ChangeOrder)
    host.begin()
    host.operator_asks(ChangeAsked(ticket=OPERATOR, change=what.change, force=what.forced))


_PERFORMERS: dict[str, Callable[[ExploredNode, object], None]] = {
    "start": falls.start_node,
    "upgrade": falls.upgrade_node,
    "downgrade": falls.downgrade_node,
    "deliver": _deliver,
    "batch": _batch,
    "land": _land,
    "fail": _fail,
    "crash": falls.crash_node,
    "wipe": falls.wipe_node,
    "damage": falls.damage_node,
    "force": falls.force_node,
    "supersede": falls.supersede_node,
    "trim": clients.trim,
    "refuse": _refuse,
    "tick": _tick,
    "retime": _retime,
    "read by lease": _read_by_lease,
    "reconnect": _reconnect,
    "fire": _fire,
    "campaign": _campaign,
    "pause": _pause,
    "put": _put,
    "read": _read,
    "read receipt": _read_receipt,
    "roll back": _roll_back,
    "promote": _promote,
    "demote": _demote,
    "change": _change,
    "create": clients.create,
    "call": clients.call,
    "fold": clients.fold,
}


def _plainly(act: ExplorerAct) -> str:
    return _WORDS.get(act.name, act.name)


def _delivery(act: ExplorerAct) -> str:
    assert isinstance(act.what, Delivery)
    late = ", after a long silence" if act.what.late else ""
    return f"from {act.what.sender}: {_brief(act.what.message)}{late}"


def _alarm(act: ExplorerAct) -> str:
    assert isinstance(act.what, Alarm)
    return f"timer {act.what.kind}"


def _writing(act: ExplorerAct) -> str:
    assert isinstance(act.what, WriteAct)
    return f"client writes {act.what.name}, {'' if act.what.sync else 'a'}synchronous"


def _batching(act: ExplorerAct) -> str:
    assert isinstance(act.what, tuple)
    return "; and in the same batch ".join(each.describe() for each in act.what)


def _calling(act: ExplorerAct) -> str:
    assert isinstance(act.what, clients.CallAttempt)
    return f"client requests: {act.what.kind} {act.what.seq}, ticket {act.what.ticket}"


def _reconnecting(act: ExplorerAct) -> str:
    assert isinstance(act.what, PeerConnection)
    return f"connects again to {act.what.peer}"


def _ticking(act: ExplorerAct) -> str:
    assert isinstance(act.what, Tick)
    return f"time passes{f', {act.what.seconds:g} s by its clock' if act.what.drifts else ''}"


def _changing(act: ExplorerAct) -> str:
    assert isinstance(act.what, members.ChangeOrder)
    return act.what.describe()


def _reading(act: ExplorerAct) -> str:
    assert isinstance(act.what, ReadAct)
    return f"client reads, must see {act.what.floor.index}"


_DESCRIBERS: dict[str, Callable[[ExplorerAct], str]] = {
    "deliver": _delivery,
    "fire": _alarm,
    "put": _writing,
    "call": _calling,
    "batch": _batching,
    "read": _reading,
    "read receipt": lambda act: f"{_reading(act)}, whose receipt it has",
    "read by lease": lambda act: f"{_reading(act)}, by lease",
    "tick": _ticking,
    "reconnect": _reconnecting,
    "demote": lambda act: f"operator: demote to {act.what}",
    "change": _changing,
}
_WORDS = {
    "land": "its write is durable",
    "fail": "its write fails",
    "crash": "crashes and starts again",
    "upgrade": "is restarted with a newer release",
    "downgrade": "is restarted with an older release",
    "wipe": "dies with its disk, starts on an empty one",
    "damage": "dies, and finds its log damaged",
    "force": "is made a cluster of its own, by force",
    "supersede": "learns that it is superseded",
    "refuse": "is refused by its leader's address",
    "retime": "operator: timeouts half as long",
    "campaign": "campaigns",
    "pause": "was paused for long",
    "roll back": "operator: roll the queue back",
    "promote": "operator: promote",
    "fold": "folds",
    "trim": "trims its log",
}


def _brief(message: Message) -> str:
    """A message as a short text."""
    name = type(message).__name__
    if isinstance(message, Append):
        reach = f"{message.prev_index}..{message.last}"
        return f"{name} t{message.term} {reach} c{message.confirmed}"
    index = getattr(message, "index", None)
    return f"{name} t{message.term}" if index is None else f"{name} t{message.term} {index}"
