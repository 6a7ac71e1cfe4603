"""Transactions that read, pause, and write: refused if their read set changed meanwhile."""

from qsync.data.operation_kinds import ReadKind
from qsync.sim import spaces
from qsync.sim.operations import (
    FollowOperation,
    OperationRecord,
    OperationResult,
    Place,
    ReadOperation,
    Steps,
    TransactionOperation,
    WriteOperation,
)
from qsync.sim.repertoire import QUESTIONS, Begun, Drawer, OperationGenerator, once
from qsync.sim.spaces import LISTS, REGISTERS

STEPS_MAX = 4
_CHANGES_MAX, _ENTRIES_BACK = 8, 30
_APPENDS = ("append", "try")
_STEPS = ("get", "pages", "append", "try", "undo")


class ReadSet:
    """The read set of a transaction so far, as a client library keeps it."""

    def __init__(self) -> None:
        self.reads: list[list[object]] = []
        self.places: list[list[object]] = []
        self.snapshot = 0
        self.looks = 0

    def saw(self, place: Place, result: OperationResult) -> None:
        """The whole read set is checked against the oldest index."""
        read = spaces.was_read(*place)
        if read not in self.reads:
            self.reads.append(read)
        self.looks += 1
        where: list[object] = [ReadKind.LOG_POSITION, result.at, result.term]
        if where not in self.places:
            self.places.append(where)
        self.snapshot = min(self.snapshot or result.at, result.at)

    def commit(self, ops: list[list[object]]) -> WriteOperation:
        """Commit, if the read set has not changed."""
        return WriteOperation(ops=ops, reads=[*self.places, *self.reads], snapshot=self.snapshot)


def draw(mind: OperationGenerator) -> Begun:
    """Some operation, by the weights of the run."""
    names = [name for name, _ in mind.load.weights]
    weights = [weight for _, weight in mind.load.weights]
    return DRAWERS[mind.dice.choices(names, weights)[0]](mind)


def _txn(mind: OperationGenerator) -> Begun:
    """Reads of lists and appends to them, in any order."""
    asked: list[list[object]] = []
    for _ in range(mind.dice.randint(1, STEPS_MAX)):
        key = mind.key()
        if mind.dice.random() < 0.5:
            asked.append(["r", key, None])
        else:
            asked.append(["append", key, mind.unique()])
    operation = OperationRecord(name="txn", f="txn", space="lists", value=asked)
    return operation, _txn_steps(operation, asked)


def _txn_steps(operation: OperationRecord, asked: list[list[object]]) -> Steps:
    seen = ReadSet()
    own: dict[int, list[int]] = {}
    ops: list[list[object]] = []
    done: list[list[object]] = []
    result = OperationResult(type="ok")
    for f, key, value in asked:
        assert isinstance(key, int)
        if f == "append":
            assert isinstance(value, int)
            own.setdefault(key, []).append(value)
            ops.append(spaces.append(key, value))
            done.append([f, key, value])
            continue
        result = yield ReadOperation(places=((LISTS, key),))
        if not result.ok:
            return
        seen.saw((LISTS, key), result)
        held = spaces.shown(LISTS, result.rows[0])
        assert held is None or isinstance(held, list)
        done.append([f, key, [*(held or ()), *own.get(key, ())]])
    if ops or seen.looks > 1:
        result = yield seen.commit(ops)
    if result.ok:
        operation.value = done


def _swap(mind: OperationGenerator) -> Begun:
    """A compare-and-set that reads first and is validated by the leader."""
    key, value = mind.key(), mind.unique()
    operation = OperationRecord(
        name="swap", f="cas", space="registers", key=key, value=[None, value]
    )

    def steps() -> Steps:
        result = yield ReadOperation(places=((REGISTERS, key),))
        if result.ok:
            seen = ReadSet()
            seen.saw((REGISTERS, key), result)
            operation.value = [spaces.shown(REGISTERS, result.rows[0]), value]
            yield seen.commit([spaces.put(REGISTERS, key, value)])

    return operation, steps()


def _move(mind: OperationGenerator) -> Begun:
    """A transfer that reads both balances and writes the new ones."""
    source, target, amount = mind.transfer()
    value = [spaces.account(*source), spaces.account(*target), amount]
    operation = OperationRecord(name="move", f="transfer", space="bank", value=value)
    changes = ((source, -amount), (target, amount))

    def steps() -> Steps:
        seen, ops = ReadSet(), []
        for place, change in changes:
            result = yield ReadOperation(places=(place,))
            if not result.ok:
                return
            seen.saw(place, result)
            held = spaces.shown(place[0], result.rows[0])
            assert isinstance(held, int)
            ops.append(spaces.put(*place, held + change))
        yield seen.commit(ops)

    return operation, steps()


def _count(mind: OperationGenerator) -> Begun:
    """All balances one by one, in a transaction that writes nothing."""
    operation = OperationRecord(name="count", f="read", space="bank")
    keys = mind.load.keys

    def steps() -> Steps:
        seen, found = ReadSet(), dict[str, object]()
        for place in spaces.accounts(keys):
            result = yield ReadOperation(places=(place,))
            if not result.ok:
                return
            seen.saw(place, result)
            found[spaces.account(*place)] = spaces.shown(place[0], result.rows[0])
        result = yield seen.commit([])
        if result.ok:
            operation.value = found

    return operation, steps()


def _interactive(mind: OperationGenerator) -> Begun:
    """Steps of a transaction of the client that ships; it writes at the end."""
    whats = [mind.dice.choice(_STEPS) for _ in range(mind.dice.randint(0, STEPS_MAX - 1))]
    steps = [(what, mind.key(), mind.unique()) for what in (*whats, "append")]
    operation = OperationRecord(
        name="interactive",
        f="txn",
        space="lists",
        value=[["append", key, value] for what, key, value in steps if what in _APPENDS],
    )

    def taken() -> Steps:
        told = yield TransactionOperation(keys=mind.load.keys, steps=steps)
        if told.ok:
            operation.value = list(told.done)

    return operation, taken()


def _follow(mind: OperationGenerator) -> Begun:
    """Changes of the lists, after a place not long before one that the client knows of."""
    after = max(0, mind.floors.choose().index - mind.dice.randint(0, _ENTRIES_BACK))
    count = mind.dice.randint(1, _CHANGES_MAX)
    operation = OperationRecord(name="follow", f="follow", space="", value=after)
    return operation, once(FollowOperation(keys=mind.load.keys, after=after, changes=count))


DRAWERS: dict[str, Drawer] = {
    **QUESTIONS,
    "txn": _txn,
    "swap": _swap,
    "move": _move,
    "count": _count,
    "interactive": _interactive,
    "follow": _follow,
}
"""All client operations, by name."""
