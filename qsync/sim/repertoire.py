"""Operations of simulated clients with one request: registers, lists, counters, a bank, notes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from qsync.core.consistency import Consistency
from qsync.data.operation_kinds import Op
from qsync.sim import spaces
from qsync.sim.client_load import ClientLoad
from qsync.sim.dice import RandomStream
from qsync.sim.floors import Floors, Tokens
from qsync.sim.operations import (
    NOWHERE,
    Ask,
    OperationRecord,
    OperationResult,
    Place,
    ReadOperation,
    Steps,
    WriteOperation,
)
from qsync.sim.spaces import BANK, COUNTERS, LISTS, NAMES, NOTES, REGISTERS

_UNIQUE = 1_000_000
GIVE_UP: list[list[object]] = [[Op.GIVE_UP]]
_LOOKS = (REGISTERS, REGISTERS, REGISTERS, LISTS, LISTS, COUNTERS, NOTES)

Begun = tuple[OperationRecord, Steps]
Drawer = Callable[["OperationGenerator"], Begun]


@dataclass(slots=True, kw_only=True)
class OperationGenerator:
    """The state of a client when it chooses its next operation.

    `known`: registers that it has read.
    """

    number: int
    dice: RandomStream
    load: ClientLoad
    tunings: Sequence[tuple[str, str | None]]
    """Settings of the cluster that may be changed."""
    floors: Floors
    tokens: Tokens
    """Everybody's."""
    known: dict[int, Sequence[object] | None] = field(default_factory=dict)
    used: int = 0

    def unique(self) -> int:
        """A unique value."""
        self.used += 1
        return self.number * _UNIQUE + self.used

    def key(self) -> int:
        """Any."""
        return self.dice.randrange(self.load.keys)

    def pause(self) -> float:
        """The pause until the next operation; in some runs long enough to lose the session."""
        if self.dice.chance(self.load.naps):
            return self.load.nap
        return self.dice.about(self.load.think)

    def transfer(self) -> tuple[Place, Place, int]:
        """An account of one space, one of the other space, and an amount."""
        there, back = self.dice.sample(BANK, 2)
        return (there, self.key()), (back, self.key()), self.dice.randint(1, 9)


def once(ask: Ask) -> Steps:
    """A single request, whose argument is its value in the history."""
    yield ask


# -- before and after everything


def create_spaces(keys: int) -> Begun:
    """The spaces, the accounts and the counters."""
    return OperationRecord(name="create", f="create"), once(WriteOperation(ops=spaces.create(keys)))


def reset(keys: int) -> Begun:
    """Reset the accounts and the counters, for clients without knowledge of earlier ones.

    It may be repeated while no other client writes.
    """
    return OperationRecord(name="create", f="create"), once(WriteOperation(ops=spaces.reset(keys)))


def last_look(space: int, key: int) -> Begun:
    """At the end: one row, however long it takes."""
    return _look(space, key, ReadOperation(places=((space, key),), insists=True))


def last_audit(keys: int) -> Begun:
    """At the end: the whole bank."""
    return _sums(ReadOperation(places=spaces.accounts(keys), insists=True))


# -- writing


def write(mind: OperationGenerator) -> Begun:
    """Write a register unconditionally."""
    key, value = mind.key(), mind.unique()
    ask = WriteOperation(ops=[spaces.put(REGISTERS, key, value)])
    return _register("write", key, value), once(ask)


def _conditional(mind: OperationGenerator) -> Begun:
    key, value = mind.key(), mind.unique()
    condition = spaces.require_existence(REGISTERS, key, exists=mind.dice.random() < 0.7)
    ask = WriteOperation(ops=[condition, spaces.put(REGISTERS, key, value)])
    return _register("write", key, value, name="conditional"), once(ask)


def _cas(mind: OperationGenerator) -> Begun:
    key, value = mind.key(), mind.unique()
    known = mind.known.get(key)
    condition = spaces.require(REGISTERS, key, known)
    ask = WriteOperation(ops=[condition, spaces.put(REGISTERS, key, value)])
    old = spaces.shown(REGISTERS, known)
    return _register("cas", key, [old, value]), once(ask)


def _append(mind: OperationGenerator) -> Begun:
    key, value = mind.key(), mind.unique()
    operation = OperationRecord(name="append", f="append", space="lists", key=key, value=value)
    return operation, once(WriteOperation(ops=[spaces.append(key, value)]))


def _transfer(mind: OperationGenerator) -> Begun:
    source, target, amount = mind.transfer()
    value = [spaces.account(*source), spaces.account(*target), amount]
    operation = OperationRecord(name="transfer", f="transfer", space="bank", value=value)
    ops = [spaces.increase(*source, -amount), spaces.increase(*target, amount)]
    return operation, once(WriteOperation(ops=ops))


def _add(mind: OperationGenerator) -> Begun:
    key, amount = mind.key(), mind.dice.randint(-5, 9)
    operation = OperationRecord(name="add", f="add", space="counters", key=key, value=amount)
    return operation, once(WriteOperation(ops=[spaces.increase(COUNTERS, key, amount)]))


def _note(mind: OperationGenerator) -> Begun:
    """Write to the asynchronous space; sometimes with a commit that waits for the quorum."""
    key, value = mind.key(), mind.unique()
    operation = OperationRecord(name="note", f="write", space="notes", key=key, value=value)
    sync = mind.dice.choice((None, None, True))
    return operation, once(WriteOperation(ops=[spaces.put(NOTES, key, value)], sync=sync))


def _mixed(mind: OperationGenerator) -> Begun:
    """Into an asynchronous and a synchronous space in one transaction: it is synchronous."""
    key, value = mind.key(), mind.unique()
    ops = [spaces.put(NOTES, key, value), spaces.put(REGISTERS, key, value)]
    return _register("write", key, value, name="mixed"), once(WriteOperation(ops=ops))


def _schema(mind: OperationGenerator) -> Begun:
    """A write whose transaction also changes the schema, without an effect on other clients."""
    key, value = mind.key(), mind.unique()
    changes = mind.dice.choice(spaces.CHANGES)(key, value)
    ask = WriteOperation(ops=[*changes, spaces.put(REGISTERS, key, value)])
    return _register("write", key, value, name="schema"), once(ask)


def _stranger(mind: OperationGenerator) -> Begun:
    """Retry another client's write; or request its outcome, which prevents the write."""
    if not mind.tokens.known:
        return _read(mind)
    ask = mind.dice.choice(list(mind.tokens.known))
    if mind.dice.random() < 0.5:
        ask = WriteOperation(ops=GIVE_UP, token=ask.token)
    return OperationRecord(name="stranger", f="resolve"), once(ask)


def repeated(mind: OperationGenerator) -> Begun:
    """All writes that somebody knows of once more, or only their outcomes; then one of its own."""
    key, value = mind.key(), mind.unique()
    known = list(mind.tokens.known)

    def steps() -> Steps:
        for ask in known:
            give_up = mind.dice.random() < 0.5
            yield WriteOperation(ops=GIVE_UP, token=ask.token) if give_up else ask
        yield WriteOperation(ops=[spaces.put(REGISTERS, key, value)])

    return _register("write", key, value, name="repeated"), steps()


def _register(f: str, key: int, value: object, *, name: str = "") -> OperationRecord:
    return OperationRecord(name=name or f, f=f, space="registers", key=key, value=value)


# -- reading


def _read(mind: OperationGenerator) -> Begun:
    space, key = mind.dice.choice(_LOOKS), mind.key()
    consistency = mind.dice.choice(tuple(Consistency))
    known = mind.known if space == REGISTERS and consistency is not Consistency.LOCAL else None
    return _look(space, key, _asked(mind, ((space, key),), consistency), known)


def _asked(
    mind: OperationGenerator, places: tuple[Place, ...], consistency: Consistency
) -> ReadOperation:
    """With a minimum position, if the read has one."""
    claims = consistency is Consistency.AT_LEAST
    floor = mind.floors.choose() if claims else NOWHERE
    return ReadOperation(places=places, consistency=consistency, floor=floor)


def _look(
    space: int,
    key: int,
    ask: ReadOperation,
    known: dict[int, Sequence[object] | None] | None = None,
) -> Begun:
    operation = OperationRecord(name="read", f="read", space=NAMES[space], key=key)

    def steps() -> Steps:
        told = yield ask
        if told.ok:
            (row,) = told.rows
            operation.value = spaces.shown(space, row)
            if known is not None:
                known[key] = row

    return operation, steps()


def _audit(mind: OperationGenerator) -> Begun:
    consistency = mind.dice.choice(tuple(Consistency))
    places = spaces.accounts(mind.load.keys)
    return _sums(_asked(mind, places, consistency))


def _sums(ask: ReadOperation) -> Begun:
    operation = OperationRecord(name="audit", f="read", space="bank")

    def steps() -> Steps:
        told = yield ask
        if told.ok:
            operation.value = balances(told)

    def balances(told: OperationResult) -> dict[str, object]:
        return {
            spaces.account(*place): spaces.shown(place[0], row)
            for place, row in zip(ask.places, told.rows, strict=True)
        }

    return operation, steps()


# -- settings


def _tune(mind: OperationGenerator) -> Begun:
    """An operator changes shared settings."""
    key, value = mind.dice.choice(mind.tunings)
    operation = OperationRecord(name="tune", f="tune", value=[key, value])
    return operation, once(WriteOperation(ops=[[Op.CHANGE_SETTINGS, {key: value}]]))


QUESTIONS: dict[str, Drawer] = {
    "write": write,
    "conditional": _conditional,
    "cas": _cas,
    "append": _append,
    "transfer": _transfer,
    "add": _add,
    "note": _note,
    "mixed": _mixed,
    "read": _read,
    "audit": _audit,
    "tune": _tune,
    "schema": _schema,
    "stranger": _stranger,
}
"""Operations of one request."""
