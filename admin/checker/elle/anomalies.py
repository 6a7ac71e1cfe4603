"""What single reads give away, without any cycle: Adya's G1a and G1b and what else is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

from admin.checker.elle.appends import Appends, Read, Step, Transaction
from admin.checker.operation import Frozen, Kind
from admin.checker.shown import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """Something that no database of the wanted kind would show; `transactions` prove it."""

    name: str
    message: str
    transactions: tuple[int, ...]


def anomalies_of_reads(appends: Appends) -> Iterator[Anomaly]:
    """Everything that can be seen without looking at cycles."""
    for each in appends.transactions:
        if each.operation.kind is Kind.OK:
            yield from _internal(each)
    faults = _Faults(appends)
    for read in appends.reads:
        yield from _read(appends, read, faults)
        yield from _intermediate(appends, read)
    yield from _dirty_updates(appends)
    yield from _lost_updates(appends)


def _internal(transaction: Transaction) -> Iterator[Anomaly]:
    """A transaction sees what it did, the same list twice, and nothing that it does later."""
    later = {(step.key, step.value) for step in transaction.steps if step.appends}
    known: dict[Frozen, tuple[Frozen, ...]] = {}
    whole: set[Frozen] = set()
    for step in transaction.steps:
        if step.appends:
            known[step.key] = (*known.get(step.key, ()), step.value)
            later.discard((step.key, step.value))
            continue
        wanted, values = known.get(step.key, ()), step.values
        seen = values if step.key in whole else values[len(values) - len(wanted) :]
        if seen != wanted or len(values) < len(wanted):
            said = f"key {shown(step.key)}: read {shown(list(values))} "
            said += f"where it had {shown(list(wanted))}"
            yield Anomaly(name="internal", message=said, transactions=(transaction.at,))
        known[step.key] = values
        whole.add(step.key)
        if later and any((step.key, value) in later for value in values):
            said = f"key {shown(step.key)}: read {shown(list(values))}, "
            said += "with what it appended only later"
            yield Anomaly(name="future-read", message=said, transactions=(transaction.at,))


class _Faults:
    """What is wrong with the values of each list, found once for all reads of its beginning."""

    def __init__(self, appends: Appends) -> None:
        self._appends = appends
        self._known = {key: self._wrong(key, order) for key, order in appends.order.items()}

    def of(self, read: Read) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Name, words, and who else is concerned."""
        if self._appends.agrees(read):
            for at, name, said, others in self._known.get(read.key, ()):
                if at < len(read.values):
                    yield name, said, others
        else:
            for _, name, said, others in self._wrong(read.key, read.values):
                yield name, said, others

    def _wrong(
        self, key: Frozen, values: tuple[Frozen, ...]
    ) -> list[tuple[int, str, str, tuple[int, ...]]]:
        found: list[tuple[int, str, str, tuple[int, ...]]] = []
        before: set[Frozen] = set()
        for at, value in enumerate(values):
            writer = self._appends.writer.get((key, value))
            if value in before:
                found.append((at, "duplicate-elements", f"read {shown(value)} twice", ()))
            elif writer is None:
                found.append((at, "garbage", f"read {shown(value)}, which nobody appended", ()))
            elif _kind(self._appends, writer) is Kind.FAIL:
                found.append((at, "G1a", f"read {shown(value)}, whose append failed", (writer,)))
            before.add(value)
        return found


def _read(appends: Appends, read: Read, faults: _Faults) -> Iterator[Anomaly]:
    key = f"key {shown(read.key)}"
    for name, said, others in faults.of(read):
        yield Anomaly(name=name, message=f"{key}: {said}", transactions=(*others, read.reader))
    if not appends.agrees(read):
        order = appends.order[read.key]
        said = f"{key}: read {shown(list(read.values))}, "
        said += f"with which {shown(list(order))} does not begin"
        both = tuple(sorted({read.reader, appends.reader[read.key]}))
        yield Anomaly(name="incompatible-order", message=said, transactions=both)


def _intermediate(appends: Appends, read: Read) -> Iterator[Anomaly]:
    if not read.others:
        return
    value = read.others[-1]
    writer = appends.writer.get((read.key, value))
    if writer is None or writer == read.reader:
        return
    last = [s.value for s in appends.transactions[writer].steps if _on(s, read.key)][-1]
    if last != value:
        said = f"key {shown(read.key)}: read up to {shown(value)}, in the middle of a transaction"
        yield Anomaly(name="G1b", message=said, transactions=(writer, read.reader))


def _dirty_updates(appends: Appends) -> Iterator[Anomaly]:
    """What was committed on top of what failed."""
    for key, order in appends.order.items():
        aborted: tuple[int, Frozen] | None = None
        for value in order:
            writer = appends.writer.get((key, value))
            if writer is None:
                continue
            if _kind(appends, writer) is Kind.FAIL:
                aborted = (writer, value)
            elif aborted is not None:
                said = f"key {shown(key)}: {shown(value)} came after {shown(aborted[1])}, "
                said += "whose append failed"
                yield Anomaly(name="dirty-update", message=said, transactions=(aborted[0], writer))
                aborted = None


def _lost_updates(appends: Appends) -> Iterator[Anomaly]:
    """Several that appended to a list after they all had read the same version of it."""
    read_before: dict[tuple[Frozen, tuple[Frozen, ...]], list[int]] = {}
    for read in appends.reads:
        steps = appends.transactions[read.reader].steps
        if read.values == read.others and any(_on(step, read.key) for step in steps):
            readers = read_before.setdefault((read.key, read.values), [])
            if read.reader not in readers:
                readers.append(read.reader)
    for (key, values), readers in read_before.items():
        if len(readers) > 1:
            said = (
                f"key {shown(key)}: all of them read {shown(list(values))} and then appended to it"
            )
            yield Anomaly(name="lost-update", message=said, transactions=tuple(readers))


def _on(step: Step, key: Frozen) -> bool:
    return step.appends and step.key == key


def _kind(appends: Appends, at: int) -> Kind:
    return appends.transactions[at].operation.kind
