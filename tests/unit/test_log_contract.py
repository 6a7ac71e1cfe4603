"""What the core relies on, asked of both logs: the one in LMDB and the one in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from election.messages import Ballot, Index, Replica, Term
from qsync import record
from qsync.record import Entry
from qsync.store.contract import NO_BALLOT, Log
from tests.examples import scaled
from tests.unit.logs import DISKS, MEMBER, Disk, some, write


@pytest.fixture(params=sorted(DISKS))
def disk(request: pytest.FixtureRequest) -> Iterator[Disk]:
    with DISKS[request.param]() as opened:
        yield opened


@pytest.fixture
def log(disk: Disk) -> Log:
    opened = disk.open()
    opened.recover()
    return opened


def open_files() -> int:
    """How many there are in this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def contents(log: Log) -> list[Entry]:
    return log.entries(Index(1), log.last)


def test_a_new_log_is_empty_and_no_member(disk: Disk) -> None:
    found = disk.open().recover()
    assert (found.last, found.confirmed, found.ballot) == (0, 0, NO_BALLOT)
    assert (found.quarantined, found.dropped_tail) == (None, 0)


def test_what_was_written_is_there_after_opening_again(disk: Disk, log: Log) -> None:
    made = some(7)
    ballot = Ballot(term=Term(9), vote=Replica(3), member=True)
    log.write(write(made[:3]))
    log.write(write(made[3:], ballot=ballot, confirmed=5))
    again = disk.open()
    found = again.recover()
    assert (found.last, found.confirmed, found.ballot) == (7, 5, ballot)
    assert contents(again) == made


def test_a_ballot_is_written_without_entries(disk: Disk, log: Log) -> None:
    ballot = Ballot(term=Term(4), vote=None, member=False)
    log.write(write(ballot=ballot))
    found = disk.open().recover()
    assert (found.ballot, found.last) == (ballot, 0)


def test_a_cut_inside_a_batch_keeps_its_beginning_and_archives_the_rest(
    disk: Disk, log: Log
) -> None:
    made = some(10)
    log.write(write(made[:6]))
    log.write(write(made[6:]))
    other = some(2, after=made[3], term=2)
    log.write(write(other, cut_above=4, ballot=replace(MEMBER, term=Term(2))))
    assert contents(log) == made[:4] + other
    again = disk.open()
    again.recover()
    assert contents(again) == made[:4] + other
    (tail,) = again.archived()
    assert (tail.number, tail.first, tail.last, tail.term, tail.time) == (1, 5, 10, 2, 7.0)
    assert (tail.reason, tail.answered) == ("another leader has another entry", 3)
    assert record.decode(tail.raw) == made[4:]


def test_a_cut_at_the_edge_of_a_batch_leaves_the_batch_alone(log: Log) -> None:
    made = some(6)
    log.write(write(made[:3]))
    log.write(write(made[3:]))
    log.write(write(cut_above=3))
    assert contents(log) == made[:3]
    assert log.archived()[0].first == 4


def test_a_log_may_be_cut_to_nothing_and_begin_again(disk: Disk, log: Log) -> None:
    log.write(write(some(3)))
    other = some(2, term=2)
    log.write(write(other, cut_above=0))
    again = disk.open()
    assert again.recover().last == 2
    assert contents(again) == other


def test_a_cut_above_the_end_archives_nothing(log: Log) -> None:
    made = some(3)
    log.write(write(made))
    log.write(write(cut_above=3))
    assert (log.last, log.archived()) == (3, [])


def test_tails_are_listed_oldest_first(log: Log) -> None:
    log.write(write(some(3)))
    log.write(write(cut_above=2))
    log.write(write(cut_above=0))
    assert [(tail.number, tail.first, tail.last) for tail in log.archived()] == [
        (1, 3, 3),
        (2, 1, 2),
    ]


def test_no_entries_are_none_at_all(log: Log) -> None:
    assert log.entries(Index(1), Index(0)) == []
    assert list(log.batches(Index(1), Index(0), bytes_max=1)) == []
    assert list(log.stored()) == []


def test_a_batch_is_one_entry_when_that_alone_is_over_the_limit(log: Log) -> None:
    made = some(3)
    log.write(write(made))
    assert [(b.first, b.last) for b in log.batches(Index(1), Index(3), bytes_max=1)] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]


def test_starting_over_keeps_term_and_vote_but_not_membership(disk: Disk, log: Log) -> None:
    ballot = Ballot(term=Term(9), vote=Replica(3), member=True)
    log.write(write(some(3), ballot=ballot, confirmed=2))
    log.start_over(why="damaged")
    again = disk.open()
    found = again.recover()
    assert (found.last, found.confirmed) == (0, 0)
    assert found.ballot == replace(ballot, member=False)
    again.write(write(some(1)))
    assert again.last == 1


# ------------------------------------------------------------------ any sequence, a naive model


@dataclass
class Model:
    """The five-line log."""

    entries: list[Entry] = field(default_factory=list)
    ballot: Ballot = NO_BALLOT
    confirmed: int = 0
    tails: list[list[Entry]] = field(default_factory=list)


appends = st.integers(0, 6)
writes = st.tuples(st.just("write"), appends, st.booleans(), st.floats(0, 1))
steps = st.lists(st.one_of(writes, st.just(("reopen", 0, False, 0.0))), max_size=14)


@pytest.mark.parametrize("disk_kind", sorted(DISKS))
@settings(max_examples=scaled(40))
@given(steps=steps, data=st.data())
def test_any_sequence_of_writes_cuts_and_reopenings_is_as_in_the_model(
    disk_kind: str, steps: list[tuple[str, int, bool, float]], data: st.DataObject
) -> None:
    model = Model()
    with DISKS[disk_kind]() as disk:
        log = disk.open()
        log.recover()
        for number, (what, count, cuts, where) in enumerate(steps):
            if what == "reopen":
                log = disk.open()
                found = log.recover()
                assert (found.ballot, found.confirmed) == (model.ballot, model.confirmed)
                assert found.quarantined is None
            else:
                at = int(len(model.entries) * where) if cuts else None
                _apply(model, log, term=number + 1, count=count, cut_above=at)
            _same(model, log, data)


def _apply(model: Model, log: Log, *, term: int, count: int, cut_above: int | None) -> None:
    if cut_above is not None:
        if model.entries[cut_above:]:
            model.tails.append(model.entries[cut_above:])
        del model.entries[cut_above:]
    added = some(count, after=model.entries[-1] if model.entries else None, term=term)
    model.entries += added
    model.ballot = Ballot(term=Term(term), vote=None, member=True)
    model.confirmed = len(model.entries) // 2
    log.write(write(added, cut_above=cut_above, ballot=model.ballot, confirmed=model.confirmed))


def _same(model: Model, log: Log, data: st.DataObject) -> None:
    assert log.last == len(model.entries)
    headers = [header for raw in log.stored() for header in record.headers(raw)]
    assert [header[0] for header in headers] == [entry.index for entry in model.entries]
    assert [header[8] for header in headers] == [entry.crc for entry in model.entries]
    assert [record.decode(tail.raw) for tail in log.archived()] == model.tails
    if model.entries:
        first = Index(data.draw(st.integers(1, log.last)))
        last = Index(data.draw(st.integers(first, log.last)))
        wanted = model.entries[first - 1 : last]
        assert log.entries(first, last) == wanted
        limit = data.draw(st.integers(1, 400))
        batches = list(log.batches(first, last, bytes_max=limit))
        assert [e for batch in batches for e in record.decode(batch.raw)] == wanted
        for batch in batches:
            assert len(batch.raw) <= limit or batch.first == batch.last
            assert record.decode(batch.raw)[0].index == batch.first
            assert record.decode(batch.raw)[-1].index == batch.last


def test_whole_records_are_read_from_the_one_that_holds_an_entry(log: Log) -> None:
    made = some(9)
    for at in range(0, 9, 3):
        log.write(write(made[at : at + 3]))
    assert log.read(Index(5), bytes_max=1) == record.encode(made[3:6])
    assert log.read(Index(5), bytes_max=1 << 20) == record.encode(made[3:])
    assert log.read(Index(1), bytes_max=1 << 20) == record.encode(made)
    assert log.read(Index(9), bytes_max=1 << 20) == record.encode(made[6:])
    assert log.read(Index(10), bytes_max=1 << 20) == b""


def test_a_reader_that_stops_early_holds_no_file(log: Log) -> None:
    """A leader sends one batch after another from the disk: each would hold a file for ever."""
    made = some(9)
    for at in range(0, 9, 3):
        log.write(write(made[at : at + 3]))
    contents(log)
    before = open_files()
    for _ in range(5):
        assert log.entries(Index(1), Index(1)) == made[:1]
        assert record.decode(log.read(Index(4), bytes_max=1)) == made[3:6]
        assert next(iter(log.batches(Index(1), Index(9), bytes_max=1))).last == 1
        assert record.decode(next(iter(log.stored()))) == made[:3]
    assert open_files() == before
