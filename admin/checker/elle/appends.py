"""The order of each list, derived from the transactions that append to it and read it.

Each value is appended once, so a read shows the order of all versions up to the one that it read.
The dependencies follow from that order, key by key: which transaction overwrote, read, or did not
yet see another one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from admin.checker.clip import clip
from admin.checker.elle.graph import Edge, Graph, Span, add_sessions, add_time
from admin.checker.operation import NOBODY, CompletionType, Frozen, Operation, freeze

STEPS = frozenset({"txn", "append", "read", "r"})
"""The operations that are transactions, of one step or of several."""


class TransactionStep(NamedTuple):
    """One step of a transaction: it appended a value, or read a whole list."""

    appends: bool
    key: Frozen
    value: Frozen
    """The appended value; for a read, the tuple of values."""

    @property
    def values(self) -> tuple[Frozen, ...]:
        """What was read."""
        assert isinstance(self.value, tuple)
        return self.value


@dataclass(frozen=True, slots=True)
class ListTransaction:
    """An operation and its steps. `at` is its number in the history, from 0."""

    at: int
    operation: Operation
    steps: tuple[TransactionStep, ...]


class ListRead(NamedTuple):
    """A committed read: the full list, and the list without the reader's own last appends."""

    reader: int
    key: Frozen
    values: tuple[Frozen, ...]
    others: tuple[Frozen, ...]


@dataclass(slots=True)
class Appends:
    """All transactions, and what they prove together.

    `writer[key, value]` appended the value. `order[key]` is the longest list that was read, by
    `reader[key]`, without failed values. `committed` transactions took effect for certain: they
    were acknowledged, or a read saw them. `failed[key]` are the values whose append failed.
    """

    transactions: list[ListTransaction]
    writer: dict[tuple[Frozen, Frozen], int] = field(default_factory=dict)
    twice: list[tuple[Frozen, Frozen]] = field(default_factory=list)
    reads: list[ListRead] = field(default_factory=list)
    order: dict[Frozen, tuple[Frozen, ...]] = field(default_factory=dict)
    reader: dict[Frozen, int] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)
    failed: dict[Frozen, set[Frozen]] = field(default_factory=dict)

    def without_failed(self, key: Frozen, values: tuple[Frozen, ...]) -> tuple[Frozen, ...]:
        """The list without failed values, which were visible only for a time."""
        gone = self.failed.get(key)
        return values if gone is None else tuple(each for each in values if each not in gone)

    def begins(self, read: ListRead) -> bool:
        """Return whether the longest list of the key begins with exactly what was read."""
        return self.order.get(read.key, ())[: len(read.values)] == read.values

    def agrees(self, read: ListRead) -> bool:
        """Return whether it begins with the values that were read, apart from the failed ones."""
        values = self.without_failed(read.key, read.values)
        return self.order.get(read.key, ())[: len(values)] == values

    def whole_reads(self) -> Iterator[tuple[Frozen, tuple[Frozen, ...]]]:
        """Keys and lists that contain every value that was read, most of them once."""
        yield from self.order.items()
        for read in self.reads:
            if not self.begins(read):
                yield read.key, read.values

    def own(self, at: int, key: Frozen) -> list[Frozen]:
        """The values that a transaction appended to a list, in order."""
        return [s.value for s in self.transactions[at].steps if s.appends and s.key == key]

    def unread(self) -> dict[Frozen, list[int]]:
        """Return, by key, the committed transactions with an append that no transaction read."""
        found: dict[Frozen, list[int]] = {}
        known = {key: frozenset(values) for key, values in self.order.items()}
        for (key, value), writer in self.writer.items():
            if writer in self.committed and value not in known.get(key, ()):
                writers = found.setdefault(key, [])
                if writer not in writers[-1:]:
                    writers.append(writer)
        return found


def understood(operations: Sequence[Operation]) -> Appends:
    """Read all transactions.

    Raises ValueError if one has a step of another kind. Other operations in the history, such as
    setup, are skipped.
    """
    txns = operations
    if any(each.f == "txn" for each in operations):
        txns = [each for each in operations if each.f in STEPS]
    transactions = [
        ListTransaction(at, each, tuple(steps_of(each)))
        for at, each in enumerate(sorted(txns, key=lambda each: each.begun))
    ]
    found = Appends(transactions)
    for each in transactions:
        for step in each.steps:
            if step.appends:
                if (step.key, step.value) in found.writer:
                    found.twice.append((step.key, step.value))
                found.writer[step.key, step.value] = each.at
                if each.operation.kind is CompletionType.FAIL:
                    found.failed.setdefault(step.key, set()).add(step.value)
        if each.operation.kind is CompletionType.OK:
            found.committed.add(each.at)
            found.reads += _reads(each)
    _order(found)
    return found


def _order(found: Appends) -> None:
    """The longest list of each key, and the appends that some read returned."""
    for read in found.reads:
        values = found.without_failed(read.key, read.values)
        if len(values) > len(found.order.get(read.key, ())):
            found.order[read.key] = values
            found.reader[read.key] = read.reader
    for key, values in found.whole_reads():
        for value in values:
            writer = found.writer.get((key, value))
            if (
                writer is not None
                and found.transactions[writer].operation.kind is CompletionType.INFO
            ):
                found.committed.add(writer)


def steps_of(operation: Operation) -> Iterator[TransactionStep]:
    """The steps of a transaction; a single append or read is one too."""
    if operation.f == "append":
        yield TransactionStep(
            appends=True, key=freeze(operation.key), value=freeze(operation.value)
        )
    elif operation.f in STEPS - {"txn"}:
        yield TransactionStep(
            appends=False, key=freeze(operation.key), value=_values(operation.value)
        )
    elif operation.f == "txn" and isinstance(operation.value, list | tuple):
        for each in operation.value:
            yield _step(each)
    else:
        raise ValueError(
            f"no transaction of appends and reads: {operation.f} {clip(operation.value)}"
        )


def _step(step: object) -> TransactionStep:
    match step:
        case ["append", key, value]:
            return TransactionStep(appends=True, key=freeze(key), value=freeze(value))
        case ["r", key, value]:
            return TransactionStep(appends=False, key=freeze(key), value=_values(value))
        case _:
            raise ValueError(f"a step is [append, key, value] or [r, key, list], not {clip(step)}")


def _values(value: object) -> tuple[Frozen, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise TypeError(f"a read of a list is a list, not {clip(value)}")
    if {int, str}.issuperset(map(type, value)):
        return tuple(value)
    return tuple([freeze(each) for each in value])


def _reads(transaction: ListTransaction) -> Iterator[ListRead]:
    own: dict[Frozen, set[Frozen]] = {}
    for step in transaction.steps:
        if step.appends:
            own.setdefault(step.key, set()).add(step.value)
            continue
        mine, size = own.get(step.key, ()), len(step.values)
        while size and step.values[size - 1] in mine:
            size -= 1
        yield ListRead(transaction.at, step.key, step.values, step.values[:size])


def dependencies(appends: Appends, asked: Iterable[tuple[int, int, int]] = ()) -> Graph:
    """Every edge between committed transactions, with reasons for the requested ones."""
    graph = Graph(len(appends.transactions), frozenset(asked))
    unread = appends.unread()
    for key, order in appends.order.items():
        _add_writes(graph, appends, key, order, unread.get(key, []))
    for read in appends.reads:
        _add_read(graph, appends, read, unread.get(read.key, []))
    spans: list[Span] = []
    sessions: dict[object, list[Span]] = {}
    for each in appends.transactions:
        if each.at in appends.committed:
            spans.append((each.at, each.operation.begun, each.operation.ended))
            if each.operation.process != NOBODY:
                sessions.setdefault(each.operation.whose, []).append(spans[-1])
    add_sessions(graph, sessions.values())
    add_time(graph, spans)
    return graph


def _add_writes(
    graph: Graph,
    appends: Appends,
    key: Frozen,
    order: tuple[Frozen, ...],
    unread: list[int],
) -> None:
    before: tuple[int, Frozen] | None = None
    for value in order:
        writer = appends.writer.get((key, value))
        if writer is None or writer not in appends.committed:
            continue
        if before is not None:
            graph.add(before[0], writer, Edge.WW, _AFTER, key, value, before[1])
        before = (writer, value)
    if before is not None:
        # No transaction read them, so they come after every value that was read.
        for writer in unread:
            graph.add(before[0], writer, Edge.WW, _AFTER_ALL, key, before[1])


def _add_read(graph: Graph, appends: Appends, read: ListRead, unread: list[int]) -> None:
    order = appends.order.get(read.key, ())
    reader, key, _, others = read
    others = appends.without_failed(key, others)
    size = len(others)
    if order[:size] != others:
        return
    if size:
        writer = appends.writer.get((key, others[-1]))
        if writer is not None and writer in appends.committed:
            graph.add(writer, reader, Edge.WR, _READ, key, others[-1])
    for at in range(size, len(order)):
        writer = appends.writer.get((key, order[at]))
        if writer is not None and writer in appends.committed:
            graph.add(reader, writer, Edge.RW, _WITHOUT, key, others, order[at])
            return
    for writer in unread:
        graph.add(reader, writer, Edge.RW, _WITHOUT_ALL, key, others)


_AFTER = "key {}: {} comes after {}"
_AFTER_ALL = "key {}: appended after {}, which was read without it"
_READ = "key {}: {} was read"
_WITHOUT = "key {}: {} was read, without {}"
_WITHOUT_ALL = "key {}: {} was read, and not what it appended"
