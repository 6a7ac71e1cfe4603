"""Anomalies that single reads show, without any cycle: Adya's G1a, G1b and others."""

from collections.abc import Iterator
from dataclasses import dataclass

from admin.checker.clip import clip
from admin.checker.elle.appends import Appends, ListRead, ListTransaction
from admin.checker.operation import CompletionType, Frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """An anomaly that the required isolation level prohibits; `transactions` prove it."""

    name: str
    message: str
    transactions: tuple[int, ...]


def anomalies_of_reads(appends: Appends) -> Iterator[Anomaly]:
    """All anomalies that are found without looking for cycles."""
    for each in appends.transactions:
        if each.operation.kind is CompletionType.OK:
            yield from _internal(each)
    faults = _Faults(appends)
    for read in appends.reads:
        yield from _read(appends, read, faults)
        yield from _intermediate(appends, read)
    yield from _own_orders(appends)
    yield from _dirty_updates(appends)
    yield from _lost_updates(appends)


def _internal(transaction: ListTransaction) -> Iterator[Anomaly]:
    """A transaction reads its own earlier appends, not its later ones, and reads repeatably."""
    later = {(step.key, step.value) for step in transaction.steps if step.appends}
    known: dict[Frozen, tuple[Frozen, ...]] = {}
    own: dict[Frozen, list[Frozen]] = {}
    whole: set[Frozen] = set()
    for key, step in ((step.key, step) for step in transaction.steps):
        if step.appends:
            known[key] = (*known.get(key, ()), step.value)
            own.setdefault(key, []).append(step.value)
            later.discard((key, step.value))
            continue
        wanted, values = known.get(key, ()), step.values
        read = f"key {clip(key)}: read {clip(list(values))}"
        seen = values if key in whole else values[max(0, len(values) - len(wanted)) :]
        if not set(own.get(key, ())) <= set(values):
            said = f"{read} after it had appended {clip(own[key])}"
            yield Anomaly(name="own-append-missing", message=said, transactions=(transaction.at,))
        elif seen != wanted:
            said = f"{read} where it had {clip(list(wanted))}"
            yield Anomaly(name="internal", message=said, transactions=(transaction.at,))
        known[key] = values
        whole.add(key)
        if later and any((key, value) in later for value in values):
            said = f"{read}, with what it appended only later"
            yield Anomaly(name="future-read", message=said, transactions=(transaction.at,))


class _Faults:
    """Wrong values in each list, found once for all reads of the same prefix."""

    def __init__(self, appends: Appends) -> None:
        self._appends = appends
        self._known = {key: self._wrong(key, order) for key, order in appends.order.items()}

    def of(self, read: ListRead) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """The anomaly's name, its description, and the other transactions involved."""
        if self._appends.begins(read):
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
                found.append((at, "duplicate-elements", f"read {clip(value)} twice", ()))
            elif writer is None:
                found.append((at, "garbage", f"read {clip(value)}, which nobody appended", ()))
            elif _kind(self._appends, writer) is CompletionType.FAIL:
                found.append((at, "G1a", f"read {clip(value)}, whose append failed", (writer,)))
            before.add(value)
        return found


def _read(appends: Appends, read: ListRead, faults: _Faults) -> Iterator[Anomaly]:
    key = f"key {clip(read.key)}"
    for name, said, others in faults.of(read):
        yield Anomaly(name=name, message=f"{key}: {said}", transactions=(*others, read.reader))
    if not appends.agrees(read):
        order = appends.order[read.key]
        said = f"{key}: read {clip(list(read.values))}, "
        said += f"with which {clip(list(order))} does not begin"
        both = tuple(sorted({read.reader, appends.reader[read.key]}))
        yield Anomaly(name="incompatible-order", message=said, transactions=both)


def _intermediate(appends: Appends, read: ListRead) -> Iterator[Anomaly]:
    if not read.others:
        return
    value = read.others[-1]
    writer = appends.writer.get((read.key, value))
    if writer is None or writer == read.reader:
        return
    if appends.own(writer, read.key)[-1] != value:
        said = f"key {clip(read.key)}: read up to {clip(value)}, in the middle of a transaction"
        yield Anomaly(name="G1b", message=said, transactions=(writer, read.reader))


def _own_orders(appends: Appends) -> Iterator[Anomaly]:
    """Lists in which the appends of one transaction are not in the order of its steps.

    Adya: versions of an object are in the order in which a transaction wrote them. So its earlier
    appends are in the list too, unless they were rolled back.
    """
    told: set[tuple[Frozen, int]] = set()
    for key, values in appends.whole_reads():
        parts: dict[int, list[Frozen]] = {}
        for value in dict.fromkeys(values):
            writer = appends.writer.get((key, value))
            if writer is not None:
                parts.setdefault(writer, []).append(value)
        for writer, found in parts.items():
            own = appends.own(writer, key)
            if writer not in appends.committed:
                own = [value for value in own if value in found]
            if found != own[: len(found)] and (key, writer) not in told:
                told.add((key, writer))
                said = f"key {clip(key)}: {clip(found)} was read of what one transaction "
                said += f"appended as {clip(own)}"
                yield Anomaly(name="own-order", message=said, transactions=(writer,))


def _dirty_updates(appends: Appends) -> Iterator[Anomaly]:
    """Committed appends that follow a failed one."""
    told: set[tuple[int, int]] = set()
    for key, values in appends.whole_reads() if appends.failed else ():
        aborted: tuple[int, Frozen] | None = None
        for value in values:
            writer = appends.writer.get((key, value))
            if writer is None:
                continue
            if _kind(appends, writer) is CompletionType.FAIL:
                aborted = (writer, value)
            elif aborted is not None:
                both = (aborted[0], writer)
                said = f"key {clip(key)}: {clip(value)} came after {clip(aborted[1])}, "
                said += "whose append failed"
                if both not in told:
                    told.add(both)
                    yield Anomaly(name="dirty-update", message=said, transactions=both)
                aborted = None


def _lost_updates(appends: Appends) -> Iterator[Anomaly]:
    """Several transactions that read the same version of a list and then appended to it."""
    read_before: dict[tuple[Frozen, tuple[Frozen, ...]], list[int]] = {}
    for read in appends.reads:
        if read.values == read.others and appends.own(read.reader, read.key):
            readers = read_before.setdefault((read.key, read.values), [])
            if read.reader not in readers:
                readers.append(read.reader)
    for (key, values), readers in read_before.items():
        if len(readers) > 1:
            said = f"key {clip(key)}: all of them read {clip(list(values))} and then appended to it"
            yield Anomaly(name="lost-update", message=said, transactions=tuple(readers))


def _kind(appends: Appends, at: int) -> CompletionType:
    return appends.transactions[at].operation.kind
