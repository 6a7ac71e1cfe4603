"""A log that begins behind an entry, by trimming or by a snapshot: in segments and in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from election.messages import Ballot, Index, Replica, Term
from qsync import record
from qsync.core.logstart import EMPTY, LogStart
from qsync.errors import Compacted, Damaged, StoreError
from qsync.record import Entry
from qsync.store.contract import NO_BALLOT, Log
from qsync.store.memory import MemoryLog
from tests.examples import scaled
from tests.unit.logs import DISKS, MEMBER, Disk, lmdb_log, some, start_behind, write

TRIMMED = sorted(set(DISKS) - {"lmdb"})


@pytest.fixture(params=TRIMMED)
def disk(request: pytest.FixtureRequest) -> Iterator[Disk]:
    with DISKS[request.param]() as opened:
        yield opened


@pytest.fixture
def log(disk: Disk) -> Log:
    opened = disk.open()
    opened.recover()
    return opened


def contents(log: Log) -> list[Entry]:
    return log.entries(Index(log.start.index + 1), log.last)


def stored(log: Log) -> list[Entry]:
    return [entry for raw in log.stored() for entry in record.decode(raw)]


def lives(disk: Disk, log: Log) -> Iterator[Log]:
    """The log as it is, and when it is opened again."""
    yield log
    yield disk.open()


def test_a_trimmed_log_begins_behind_what_was_trimmed(disk: Disk, log: Log) -> None:
    made = some(12)
    for at in range(0, 12, 3):
        log.write(write(made[at : at + 3], confirmed=9))
    start = start_behind(made[6])
    log.trim(start)
    for each in lives(disk, log):
        if each is not log:
            found = each.recover()
            assert (found.start, found.last, found.confirmed) == (start, 12, 9)
            assert (found.quarantined, found.ballot) == (None, MEMBER)
        assert each.start == start
        assert contents(each) == stored(each) == made[7:]
        assert each.entries(Index(9), Index(10)) == made[8:10]
        assert record.decode(each.read(Index(8), bytes_max=1))[-1] == made[8]
        with pytest.raises(Compacted) as refused:
            each.entries(Index(7), Index(9))
        assert refused.value.details == {"first": 8}


def test_a_log_may_be_trimmed_to_its_end_and_goes_on(disk: Disk, log: Log) -> None:
    made = some(5)
    log.write(write(made[:3], confirmed=3))
    log.trim(start_behind(made[2]))
    assert stored(log) == []
    again = disk.open()
    assert (again.recover().last, stored(again)) == (3, [])
    again.write(write(made[3:], confirmed=3))
    again.write(write(cut_above=3, confirmed=3))
    other = some(2, after=made[2], term=2)
    again.write(write(other, confirmed=4))
    assert contents(again) == other
    (tail,) = again.archived()
    assert record.decode(tail.raw) == made[3:]


def test_what_is_confirmed_is_never_below_what_was_trimmed(disk: Disk, log: Log) -> None:
    """Rows are folded when they are decided, which the log may not have noted yet."""
    made = some(6)
    log.write(write(made, confirmed=1))
    log.trim(start_behind(made[3]))
    assert disk.open().recover().confirmed == 4


def test_trimming_goes_forward_only(log: Log) -> None:
    made = some(9)
    log.write(write(made, confirmed=9))
    log.trim(start_behind(made[4]))
    log.trim(start_behind(made[2]))
    assert (log.start, contents(log)) == (start_behind(made[4]), made[5:])


def test_a_log_is_not_trimmed_behind_an_entry_that_it_does_not_have(log: Log) -> None:
    made = some(4)
    log.write(write(made, confirmed=4))
    with pytest.raises(AssertionError):
        log.trim(start_behind(some(3, term=2)[2]))
    assert log.start == EMPTY


def test_cut_tails_stay_when_what_held_them_is_trimmed(disk: Disk, log: Log) -> None:
    made = some(3)
    log.write(write(made, confirmed=1))
    tails = []
    for term in range(2, 40):
        tails.append(made[1:])
        made = made[:1] + some(6, after=made[0], term=term)
        log.write(write(made[1:], cut_above=1, confirmed=1))
    log.trim(start_behind(made[5]))
    for each in lives(disk, log):
        each.recover()
        assert [record.decode(tail.raw) for tail in each.archived()] == tails
        assert [tail.number for tail in each.archived()] == list(range(1, 39))
    each.write(write(cut_above=6, confirmed=6))
    last = each.archived()[-1]
    assert (last.number, record.decode(last.raw)) == (39, made[6:])


def test_a_log_begins_at_a_snapshot_and_archives_what_nobody_knew_as_confirmed(
    disk: Disk, log: Log
) -> None:
    ballot = Ballot(term=Term(4), vote=Replica(3), member=True)
    made = some(6)
    log.write(write(made, ballot=ballot, confirmed=2))
    other = some(12, term=3)
    start = start_behind(other[9])
    log.begin_at(start)
    assert (log.start, log.last, stored(log)) == (start, 10, [])
    again = disk.open()
    found = again.recover()
    assert (found.start, found.last, found.confirmed, found.ballot) == (start, 10, 10, ballot)
    (tail,) = again.archived()
    assert (tail.first, record.decode(tail.raw)) == (3, made[2:])
    assert tail.reason == "the log begins behind entry 10 of term 3 now"
    again.write(write(other[10:], ballot=ballot, confirmed=10))
    assert contents(again) == other[10:]
    again.begin_at(start_behind(some(30, term=5)[29]))
    assert [each.number for each in again.archived()] == [1, 2]


def test_a_log_that_begins_behind_more_than_it_has_is_damaged() -> None:
    log = MemoryLog()
    log.recover()
    made = some(6)
    log.write(write(made, confirmed=6))
    log.trim(start_behind(made[3]))
    log.lose_tail(above=Index(3))
    assert log.recover().quarantined == "the log ends at 4; 6 was durable"


def test_a_damaged_log_is_neither_trimmed_nor_begun_anew() -> None:
    log = MemoryLog()
    log.recover()
    made = some(6)
    log.write(write(made, confirmed=6))
    log.damage(Index(5))
    log.recover()
    with pytest.raises(Damaged):
        log.trim(start_behind(made[1]))
    with pytest.raises(Damaged):
        log.begin_at(start_behind(made[1]))


def test_starting_over_forgets_where_the_log_began(disk: Disk, log: Log) -> None:
    made = some(6)
    log.write(write(made, confirmed=6))
    log.trim(start_behind(made[3]))
    log.start_over(why="rows are lost")
    found = disk.open().recover()
    assert (found.start, found.last, found.ballot) == (EMPTY, 0, replace(MEMBER, member=False))


def test_the_form_in_lmdb_is_not_trimmed(tmp_path: Path) -> None:
    log = lmdb_log(tmp_path)
    log.recover()
    made = some(3)
    log.write(write(made))
    assert log.start == EMPTY
    for refused in (log.trim, log.begin_at):
        with pytest.raises(StoreError, match="LMDB"):
            refused(start_behind(made[0]))
    log.close()


# ------------------------------------------------------------------ any sequence, a naive model


@dataclass
class Model:
    """The whole log, and from where on it must still be there."""

    entries: list[Entry] = field(default_factory=list)
    start: LogStart = EMPTY
    confirmed: int = 0
    ballot: Ballot = NO_BALLOT
    tails: list[list[Entry]] = field(default_factory=list)

    @property
    def begins(self) -> int:
        return self.start.index


moves = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "cut", "trim", "begin", "reopen"]), st.floats(0, 1)
    ),
    max_size=20,
)


@pytest.mark.parametrize("disk_kind", TRIMMED)
@settings(max_examples=scaled(60))
@given(moves=moves)
def test_any_sequence_with_trims_and_new_beginnings_is_as_in_the_model(
    disk_kind: str, moves: list[tuple[str, float]]
) -> None:
    model = Model()
    with DISKS[disk_kind]() as disk:
        log = disk.open()
        log.recover()
        for term, (what, where) in enumerate(moves, 1):
            if what == "reopen":
                log = disk.open()
                found = log.recover()
                assert (found.quarantined, found.start) == (None, model.start)
                assert (found.ballot, found.confirmed) == (model.ballot, model.confirmed)
            else:
                _move(model, log, what, where, term)
            assert (log.last, log.start) == (len(model.entries), model.start)
            assert stored(log) == contents(log) == model.entries[model.begins :]
            assert [record.decode(tail.raw) for tail in log.archived()] == model.tails


def _move(model: Model, log: Log, what: str, where: float, term: int) -> None:
    last = len(model.entries)
    if what in {"write", "cut"}:
        above = None
        if what == "cut":
            above = model.confirmed + int((last - model.confirmed) * where)
            model.tails += [model.entries[above:]] if above < last else []
            del model.entries[above:]
        after = model.entries[-1] if model.entries else None
        added = some(1 + int(40 * where), after=after, term=term)
        model.entries += added
        model.confirmed = (model.confirmed + len(model.entries)) // 2
        model.ballot = Ballot(term=Term(term), vote=None, member=True)
        log.write(write(added, cut_above=above, ballot=model.ballot, confirmed=model.confirmed))
    elif what == "trim" and model.confirmed:
        entry = model.entries[max(1, int(model.confirmed * where)) - 1]
        if entry.index > model.begins:
            model.start = start_behind(entry)
        log.trim(start_behind(entry))
    elif what == "begin":
        other = some(model.confirmed + 1 + int(50 * where), term=term)
        if len(model.entries) > model.confirmed:
            model.tails.append(model.entries[model.confirmed :])
        model.entries, model.confirmed = other, len(other)
        model.start = start_behind(other[-1])
        log.begin_at(model.start)
