"""A second opinion on levels of isolation: every order, every interleaving, every version order.

Nothing here knows of cycles or of names of anomalies. Serializability asks for an order of all
transactions, snapshot isolation for an order of all starts and commits, the two levels below it
(Adya's PL-1 and PL-2) for an order of the versions of each list.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from admin.checker.elle import IsolationLevel
from admin.checker.operation import CompletionType, Operation

Lists = dict[str, tuple[int, ...]]
Before = Callable[["Txn", "Txn"], bool]


@dataclass(frozen=True)
class Read:
    """What a transaction read of a list after it had appended `own`, before it appended `later`."""

    reader: int
    key: str
    values: tuple[int, ...]
    own: tuple[int, ...]
    later: frozenset[int]

    @property
    def others(self) -> tuple[int, ...]:
        """Without its own appends at the end."""
        size = len(self.values)
        while size and self.values[size - 1] in self.own:
            size -= 1
        return self.values[:size]


@dataclass(frozen=True)
class Txn:
    """A transaction: steps are `("append", key, value)` or `("r", key, values)`."""

    at: int
    operation: Operation

    @cached_property
    def steps(self) -> list[tuple[str, str, object]]:
        assert isinstance(self.operation.value, list)
        return [
            (f, key, tuple(value) if f == "r" else value) for f, key, value in self.operation.value
        ]

    @cached_property
    def appends(self) -> dict[str, tuple[int, ...]]:
        """By key, in order."""
        found: dict[str, tuple[int, ...]] = {}
        for f, key, value in self.steps:
            if f == "append":
                assert isinstance(value, int)
                found[key] = (*found.get(key, ()), value)
        return found

    def reads(self) -> Iterator[Read]:
        own: Lists = {}
        for f, key, value in self.steps:
            if f == "append":
                assert isinstance(value, int)
                own[key] = (*own.get(key, ()), value)
                continue
            assert isinstance(value, tuple)
            mine = own.get(key, ())
            later = frozenset(self.appends.get(key, ())[len(mine) :])
            yield Read(self.at, key, value, mine, later)

    def after(self, lists: Mapping[str, tuple[int, ...]]) -> Lists | None:
        """The lists when it has run on these alone, if it reads what it said it did."""
        now = dict(lists)
        answered = self.operation.kind is CompletionType.OK
        for f, key, value in self.steps:
            if f == "append":
                assert isinstance(value, int)
                now[key] = (*now.get(key, ()), value)
            elif answered and now.get(key, ()) != value:
                return None
        return now


def allowed(operations: Sequence[Operation], level: IsolationLevel) -> bool:
    """Whether a database of a level can have given these answers."""
    txns = [
        Txn(at, each) for at, each in enumerate(operations) if each.kind is not CompletionType.FAIL
    ]
    failed = [Txn(-1, each) for each in operations if each.kind is CompletionType.FAIL]
    match level:
        case IsolationLevel.READ_UNCOMMITTED:
            unknown = [each for each in txns if each.operation.kind is CompletionType.INFO]
            sure = [each for each in txns if each.operation.kind is CompletionType.OK]
            return _uncommitted(sure, [*failed, *unknown])
        case IsolationLevel.READ_COMMITTED:
            return any(_committed(some) for some in _choices(txns))
        case IsolationLevel.SNAPSHOT_ISOLATION:
            return _snapshots(txns, _never)
        case IsolationLevel.STRONG_SESSION_SNAPSHOT_ISOLATION:
            return _snapshots(txns, _session)
        case IsolationLevel.STRONG_SNAPSHOT_ISOLATION:
            return _snapshots(txns, _time)
        case IsolationLevel.SERIALIZABLE:
            return _serial(txns, _never)
        case IsolationLevel.STRONG_SESSION_SERIALIZABLE:
            return _serial(txns, _session)
        case IsolationLevel.STRICT_SERIALIZABLE:
            return _serial(txns, _time)


def all_read(operations: Sequence[Operation]) -> bool:
    """Whether everything that was appended for certain was read: then nothing is hidden."""
    txns = [Txn(at, each) for at, each in enumerate(operations) if each.kind is CompletionType.OK]
    seen = {(r.key, value) for each in txns for r in each.reads() for value in r.values}
    return all(
        (key, value) in seen for t in txns for key, values in t.appends.items() for value in values
    )


def _never(_earlier: Txn, _later: Txn) -> bool:
    return False


def _time(earlier: Txn, later: Txn) -> bool:
    ended = earlier.operation.ended
    return ended is not None and ended < later.operation.begun


def _session(earlier: Txn, later: Txn) -> bool:
    return earlier.operation.process == later.operation.process and _time(earlier, later)


def _choices(txns: Sequence[Txn]) -> Iterator[list[Txn]]:
    """Those that were answered, with any of those that nobody heard of again."""
    unknown = [each for each in txns if each.operation.kind is CompletionType.INFO]
    for size in range(len(unknown) + 1):
        for some in itertools.combinations(unknown, size):
            yield [e for e in txns if e.operation.kind is CompletionType.OK or e in some]


def _serial(txns: Sequence[Txn], before: Before) -> bool:
    """Some order of transactions, one after another, explains every answer."""

    def goes_on(left: list[Txn], lists: Lists) -> bool:
        if all(each.operation.kind is CompletionType.INFO for each in left):
            return True
        for each in left:
            if any(before(other, each) for other in left):
                continue
            now = each.after(lists)
            if now is not None and goes_on([e for e in left if e is not each], now):
                return True
        return False

    return goes_on(list(txns), {})


def _snapshots(txns: Sequence[Txn], before: Before) -> bool:
    """Some order of starts and commits does: reads see the start, the first committer wins."""
    tried: set[tuple[object, ...]] = set()

    def goes_on(left: list[Txn], running: dict[int, Lists], lists: Lists) -> bool:
        if all(each.operation.kind is CompletionType.INFO for each in left):
            return True
        place = (
            tuple(e.at for e in left),
            frozenset((at, frozenset(seen.items())) for at, seen in running.items()),
            frozenset(lists.items()),
        )
        if place in tried:
            return False
        tried.add(place)
        for each in left:
            if each.at in running:
                seen = running[each.at]
                if all(seen.get(key, ()) == lists.get(key, ()) for key in each.appends):
                    now = lists | {
                        key: (*lists.get(key, ()), *values) for key, values in each.appends.items()
                    }
                    others = {at: known for at, known in running.items() if at != each.at}
                    if goes_on([e for e in left if e is not each], others, now):
                        return True
                continue
            if any(before(other, each) for other in left) or each.after(lists) is None:
                continue
            if goes_on(left, running | {each.at: lists}, lists):
                return True
        return False

    return goes_on(list(txns), {}, {})


def _uncommitted(txns: Sequence[Txn], gone: Sequence[Txn]) -> bool:
    """PL-1: there are version orders with which no two wrote over each other in turn."""
    reads = [read for each in txns for read in each.reads()]
    written = {
        (key, v) for e in (*txns, *gone) for key, values in e.appends.items() for v in values
    }
    kept = {(key, v) for e in txns for key, values in e.appends.items() for v in values}
    for read in reads:
        if not _possible(read) or not {(read.key, v) for v in read.values} <= written:
            return False
        for own in (each.appends.get(read.key, ()) for each in gone):
            there = [v for v in read.values if v in own]
            if there != [v for v in own if v in there]:
                return False
    lists = [(r.key, tuple(v for v in r.values if (r.key, v) in kept)) for r in reads]
    return any(_acyclic(_written_over(txns, found)) for found in _versions(txns, lists))


def _committed(txns: Sequence[Txn]) -> bool:
    """PL-2: and reads are of what these committed, in the end; nor do cycles go through reads."""
    reads = [r for e in txns if e.operation.kind is CompletionType.OK for r in e.reads()]
    writer = {(key, v): e for e in txns for key, values in e.appends.items() for v in values}
    arrows: set[tuple[int, int]] = set()
    for read in reads:
        if not _possible(read) or not all((read.key, v) in writer for v in read.values):
            return False
        if read.others:
            last = read.others[-1]
            wrote = writer[read.key, last]
            if wrote.at != read.reader and wrote.appends[read.key][-1] != last:
                return False
            arrows.add((wrote.at, read.reader))
    lists = [(read.key, read.values) for read in reads]
    return any(_acyclic(arrows | _written_over(txns, found)) for found in _versions(txns, lists))


def _possible(read: Read) -> bool:
    """Nothing twice, nothing that its transaction did not do yet, everything that it did."""
    values = set(read.values)
    return len(values) == len(read.values) and not values & read.later and values >= set(read.own)


def _versions(
    txns: Sequence[Txn], lists: Collection[tuple[str, tuple[int, ...]]]
) -> Iterator[Lists]:
    """Every order of the versions of every list that begins with all that was read of it."""
    keys = sorted({key for each in txns for key in each.appends} | {key for key, _ in lists})
    each_: list[list[tuple[int, ...]]] = []
    for key in keys:
        own = [each.appends[key] for each in txns if key in each.appends]
        read = [values for name, values in lists if name == key]
        each_.append(list(_merged(own, (), read)))
    for chosen in itertools.product(*each_):
        yield dict(zip(keys, chosen, strict=True))


def _merged(
    parts: list[tuple[int, ...]], done: tuple[int, ...], read: Collection[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    if not all(done[: len(r)] == r[: len(done)] for r in read):
        return
    if not parts:
        if all(len(r) <= len(done) for r in read):
            yield done
        return
    for at, part in enumerate(parts):
        rest = [*parts[:at], *([part[1:]] if len(part) > 1 else []), *parts[at + 1 :]]
        yield from _merged(rest, (*done, part[0]), read)


def _written_over(txns: Sequence[Txn], versions: Lists) -> set[tuple[int, int]]:
    writer = {(key, v): e.at for e in txns for key, values in e.appends.items() for v in values}
    return {
        (writer[key, one], writer[key, other])
        for key, values in versions.items()
        for one, other in itertools.pairwise(values)
    }


def _acyclic(arrows: Collection[tuple[int, int]]) -> bool:
    left = {(a, b) for a, b in arrows if a != b}
    while left:
        ends = {b for _, b in left}
        fewer = {(a, b) for a, b in left if a in ends}
        if fewer == left:
            return False
        left = fewer
    return True
