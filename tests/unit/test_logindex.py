"""The index of the log: exact near its end, by points before that, in bounded memory."""

from random import Random

import pytest

from election.messages import Index, Term
from qsync.core.entry_sums import POINT_BYTES
from qsync.core.limbo import NOBODY
from qsync.core.logindex import LogIndex
from qsync.core.logstart import EMPTY, LogStart
from qsync.record import CHAIN_SEED, HEADER, HEADER_SIZE, Crc, EntryKind

TXN = int(EntryKind.TXN)

SIZES = (50, 200, 3000, POINT_BYTES // 2, 2 * POINT_BYTES)


def stored(index: int, term: int, origin: int, lsn: int, *, crc: int, size: int) -> bytes:
    """A transaction of so many bytes."""
    length = size - HEADER_SIZE
    return HEADER.pack(index, term, origin, lsn, TXN, 0, length, 0.0, crc) + bytes(length)


def filled(last: int, *, window: int, step: int, seed: int = 0) -> tuple[LogIndex, list[int]]:
    """An index of so many entries, all decided as they come; and the size of everything before."""
    log, draw, sizes = LogIndex(window=window, step=step), Random(seed), [0]
    for index in range(1, last + 1):
        size = draw.choice(SIZES)
        run = 1 + index // 100
        log.extend(stored(index, run, run, 1, crc=index * 7, size=size))
        sizes.append(sizes[-1] + size)
        log.trim(Index(index))
    return log, sizes


@pytest.mark.parametrize(("window", "step"), [(0, 1), (5, 4), (50, 16), (1000, 256)])
def test_what_is_known_of_old_entries_is_true_and_the_newest_are_all_known(
    window: int, step: int
) -> None:
    log, _ = filled(700, window=window, step=step)
    for index in range(701):
        term = log.term_at(index)
        if log.knows(index):
            assert log.crc_at(index) == (index * 7 if index else CHAIN_SEED)
            assert log.agrees(index, term, log.crc_at(index))
            assert not log.agrees(index, term, log.crc_at(index) ^ 1)
        else:
            # By log matching (Raft §5.3) index and term alone name an entry.
            assert log.agrees(index, term, 12345)
        assert not log.agrees(index, term + 1, index * 7)
        below = log.known_below(Index(index))
        assert below <= index
        assert log.knows(below)
        assert index - below <= step
    assert not log.agrees(701, log.term_at(700), 0)
    assert all(map(log.knows, range(max(0, 700 - window), 701)))


def test_memory_is_bounded_whatever_the_log_is_long() -> None:
    log, _ = filled(20_000, window=100, step=50)
    assert len(log) < 2 * (100 + 50) + 20_000 // 50 + 20_000  # every large entry is a point
    small = LogIndex(window=100, step=50)
    for index in range(1, 20_001):
        small.extend(stored(index, 1, 1, index, crc=index, size=50))
        small.trim(Index(index))
    assert len(small) < 20_000 // 50 + 2 * (100 + 50)


def test_what_is_not_decided_yet_is_known_however_much_it_is() -> None:
    log = LogIndex(window=5, step=4)
    for index in range(1, 501):
        log.extend(stored(index, 1, 1, index, crc=index, size=50))
        log.trim(Index(min(index, 100)))
    assert all(map(log.knows, range(95, 501)))
    log.cut(Index(100))
    assert (log.last, log.crc_at(100)) == (100, 100)
    log.extend(stored(101, 2, 2, 1, crc=5, size=50))
    assert log.crc_at(101) == 5


@pytest.mark.parametrize("seed", range(5))
def test_sizes_of_old_entries_are_never_told_too_small_and_batches_never_made_too_large(
    seed: int,
) -> None:
    log, sizes = filled(400, window=20, step=8, seed=seed)
    draw = Random(seed)
    for _ in range(2000):
        after, upto = sorted(draw.choices(range(401), k=2))
        assert log.bytes_between(after, upto) >= sizes[upto] - sizes[after]
        if not after:
            continue
        entries_max, bytes_max = draw.choice((1, 3, 100)), draw.choice((1, 5000, 10 * POINT_BYTES))
        last = log.fit(after, entries_max=entries_max, bytes_max=bytes_max)
        assert after <= last <= after + entries_max - 1
        assert last == after or sizes[last] - sizes[after - 1] <= bytes_max


def test_a_batch_that_begins_at_a_point_reaches_the_next_one() -> None:
    """So whoever reads on gets on by more than one entry at a time."""
    log, at = LogIndex(window=10, step=16), 1
    for index in range(1, 1001):
        log.extend(stored(index, 1, 1, index, crc=index, size=100))
        log.trim(Index(index))
    batches = 0
    while at <= 1000:
        at = log.fit(at, entries_max=4096, bytes_max=4000) + 1
        batches += 1
    assert batches <= 1000 // 32 + 2


def test_points_are_at_the_same_places_on_every_node() -> None:
    """Whatever was trimmed when: then a leader's point is one of its follower's, too."""
    one, _ = filled(900, window=30, step=16)
    other = LogIndex(window=30, step=16)
    draw, batch = Random(0), []
    for index in range(1, 901):
        run = 1 + index // 100
        batch.append(stored(index, run, run, 1, crc=index * 7, size=draw.choice(SIZES)))
    other.extend(b"".join(batch))
    other.trim(Index(900))
    assert [one.knows(index) for index in range(800)] == [
        other.knows(index) for index in range(800)
    ]
    assert one.term_at(5) == Term(1)


@pytest.mark.parametrize("begins", [0, 1, 7, 250, 369, 380, 381, 399, 400])
def test_a_trimmed_index_is_true_of_what_is_left(begins: int) -> None:
    log, sizes = filled(400, window=20, step=8)
    log.begin_at(beginning(log, begins))
    log.extend(stored(401, 401, 1, log.lsn_of(1) + 1, crc=9, size=SIZES[0]))
    log.trim(Index(401))
    sizes.append(sizes[-1] + SIZES[0])
    known = [index for index in range(402) if log.knows(index)]
    assert known[0] == begins
    assert set(range(max(begins, 381), 402)) <= set(known)
    assert all(log.crc_at(index) == index * 7 for index in known[1:-1])
    for after in range(begins, 402, 3):
        assert begins <= log.known_below(Index(after)) <= after
        for upto in range(after, 402, 5):
            assert log.bytes_between(after, upto) >= sizes[upto] - sizes[after]
        last = log.fit(min(after + 1, 401), entries_max=100, bytes_max=5000)
        assert last == after + 1 or sizes[last] - sizes[after] <= 5000 or after == 401


def beginning(log: LogIndex, index: int) -> LogStart:
    """The log has nothing up to there."""
    if not index:
        return EMPTY
    return LogStart(
        index=Index(index),
        term=log.term_at(index),
        crc=Crc(index * 7),
        origin=log.run_at(index).origin,
        vclock=log.vclock_at(index),
        owner=NOBODY,
        configuration=b"",
    )
