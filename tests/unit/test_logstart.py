"""Where a log begins: the record of it says what a fold over the log up to there has learned."""

from dataclasses import replace
from random import Random

import pytest

from election.messages import Index, Position, Replica, Term
from qsync.core import trimming
from qsync.core.configuration import Configuration, all_of, configuration_of
from qsync.core.limbo import NOBODY, Owner
from qsync.core.logindex import LogIndex
from qsync.core.logstart import EMPTY, LogStart, decode
from qsync.core.reads import shows
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at, trim_log
from qsync.core.waiters import NOTHING, fate
from qsync.data.members import CODEC
from qsync.errors import Compacted, Damaged
from qsync.features import BETWEEN_PEERS
from qsync.member import Member
from qsync.node.snapshot_sender import head_for
from qsync.record import (
    CONFIG,
    WAIT_ACK,
    WAIT_SYNC,
    Entry,
    EntryKind,
    Instance,
    LimboRef,
    Lsn,
    encode,
    ref_body,
)
from qsync.store.memory import MemorySpaces
from qsync.store.snapshot import decode_head, name_of
from qsync.store.snapsource import ViewSource
from tests.disk.life import Fold

FOUNDING = all_of((Replica(1), Replica(2)))
VOTERS = [Configuration((Member(Replica(1), Instance(each)),)) for each in range(1, 6)]
SOME = LogStart(
    index=Index(7),
    term=Term(3),
    crc=EMPTY.crc,
    origin=Replica(2),
    vclock=((Replica(1), 3), (Replica(2), 4)),  # type: ignore[arg-type]  # lsns
    owner=Owner(Index(5), Replica(2), Term(3)),
    configuration=b"voters",
)

TOLD = replace(
    SOME,
    terms=((Index(1), Term(1)), (Index(6), Term(3))),
    rolled_back=((Index(2), Index(4)),),
)


def random_log(seed: int) -> tuple[ReplicatedLog, list[Entry]]:
    """A log of several leaders, with configurations that are confirmed and rolled back."""
    draw = Random(seed)
    made = ReplicatedLog(
        confirmed=Index(0), recent_bytes_max=1 << 20, tail=_no_disk, founding=FOUNDING, codec=CODEC
    )
    entries: list[Entry] = []
    term, me = 0, Replica(1)

    def append(kind: EntryKind, flags: int = 0, body: bytes = b"") -> None:
        entry = made.propose(kind=kind, flags=flags, term=term, me=me, body=body, wall=0.0)
        entries.append(entry)

    for _ in range(60):
        queue = made.limbo.queue
        what = draw.choice(("term", "txn", "txn", "async", "config", "confirm", "rollback"))
        if what == "term" or not entries:
            term, me = term + 1, Replica(draw.randint(1, 3))
            append(EntryKind.PROMOTE, WAIT_ACK, ref_body(LimboRef(Replica(0), made.log.lsn_of(0))))
            made.confirm(made.log.last)
        elif what == "txn":
            append(EntryKind.TXN, WAIT_ACK | WAIT_SYNC)
        elif what == "async":
            append(EntryKind.TXN)
        elif what == "config":
            members = draw.choice(VOTERS).members
            body = CODEC.encode(members, before=members)
            append(EntryKind.TXN, CONFIG | WAIT_ACK | WAIT_SYNC, body)
        elif what == "rollback" and queue:
            append(EntryKind.ROLLBACK, 0, ref_body(LimboRef(me, queue[0].lsn)))
            made.confirm(made.log.last)
        elif what == "confirm" and made.confirmed < made.log.last:
            made.confirm(Index(draw.randint(made.confirmed + 1, made.log.last)))
    return made, entries


def _no_disk(first: Index, last: Index) -> list[Entry]:
    raise AssertionError((first, last))


def naive(entries: list[Entry], upto: Index) -> tuple[dict[int, int], int, Configuration]:
    """The vclock, the limbo's owner and the configuration, by reading everything up to there."""
    vclock: dict[int, int] = {}
    owner, standing = 0, [(0, FOUNDING)]
    for entry in entries[:upto]:
        vclock[entry.origin] = entry.lsn
        if entry.kind == EntryKind.PROMOTE:
            owner = entry.origin
        elif entry.flags & CONFIG:
            standing.append((entry.index, Configuration(CODEC.decode(entry.body))))
        elif entry.kind == EntryKind.ROLLBACK:
            first = next(
                each.index
                for each in reversed(entries[: entry.index])
                if (each.origin, each.lsn) == _named(entry)
            )
            standing = [each for each in standing if each[0] < first]
    return vclock, owner, standing[-1][1]


def _named(entry: Entry) -> tuple[int, int]:
    body = entry.body
    return int.from_bytes(body[2:10]), int.from_bytes(body[11:19])


@pytest.mark.parametrize("seed", range(20))
def test_the_record_is_what_a_fold_over_the_log_up_to_there_says(seed: int) -> None:
    replicated_log, entries = random_log(seed)
    inside = 0
    for upto in range(1, replicated_log.confirmed + 1):
        start = start_at(replicated_log, Index(upto))
        if start.index < upto:
            stretch = replicated_log.limbo.stretch_at(upto)
            assert stretch is not None
            assert start.index == stretch.first - 1
            inside += 1
        if not start.index:
            assert start == EMPTY
            continue
        entry = entries[start.index - 1]
        vclock, owner, configuration = naive(entries, start.index)
        place = (start.index, start.term, start.crc, start.origin, start.lsn)
        assert place == (entry.index, entry.term, entry.crc, entry.origin, entry.lsn)
        assert dict(start.vclock) == vclock
        assert start.owner.owner == owner
        assert configuration_of(start.configuration, CODEC) == configuration
        assert decode(start.encode()) == start
    assert inside or not any(each.kind == EntryKind.ROLLBACK for each in entries)


def test_a_whole_log_begins_nowhere() -> None:
    assert decode(EMPTY.encode()) == EMPTY
    assert configuration_of(EMPTY.configuration, CODEC) is None
    assert EMPTY.lsn == 0
    assert EMPTY.owner == NOBODY


@pytest.mark.parametrize("start", [SOME, TOLD], ids=["alone", "with what was before"])
def test_every_changed_byte_is_damage(start: LogStart) -> None:
    text = start.encode()
    for at in range(len(text)):
        with pytest.raises(Damaged):
            decode(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        with pytest.raises(Damaged):
            decode(text[:at])
    with pytest.raises(Damaged):
        decode(text + b"\0")


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(replace(SOME, index=Index(8)), id="the vclock has another sum"),
        pytest.param(replace(SOME, origin=Replica(3)), id="an origin without a lsn"),
        pytest.param(replace(SOME, term=Term(2)), id="an owner of a later term"),
        pytest.param(replace(SOME, term=Term(0), owner=NOBODY), id="no term"),
        pytest.param(replace(SOME, owner=Owner(Index(8), Replica(2), Term(3))), id="owner behind"),
        pytest.param(replace(SOME, vclock=SOME.vclock[::-1]), id="origins out of order"),
        pytest.param(replace(EMPTY, configuration=b"voters"), id="voters before the first entry"),
        pytest.param(replace(TOLD, terms=TOLD.terms[::-1]), id="terms out of order"),
        pytest.param(replace(TOLD, terms=TOLD.terms[:1]), id="another last term"),
        pytest.param(replace(TOLD, terms=((Index(8), Term(3)),)), id="a term behind the entry"),
        pytest.param(replace(TOLD, rolled_back=((Index(5), Index(4)),)), id="no stretch"),
        pytest.param(replace(TOLD, rolled_back=((Index(5), Index(8)),)), id="a stretch behind it"),
        pytest.param(replace(TOLD, forgotten=Index(7)), id="nothing is told"),
        pytest.param(
            replace(TOLD, terms=((Index(6), Term(3)),)), id="terms are told of less than it says"
        ),
    ],
)
def test_a_record_that_contradicts_itself_is_damage(wrong: LogStart) -> None:
    with pytest.raises(Damaged, match="contradicts itself"):
        decode(wrong.encode())


# -- a log that begins there


def facts(replicated_log: ReplicatedLog, above: Index) -> tuple[object, ...]:
    """Everything that is asked of a log, from the entry at `above` on."""
    log, limbo = replicated_log.log, replicated_log.limbo
    places = range(max(1, above), log.last + 1)
    return (
        log.position,
        log.vclock(),
        [log.next_lsn(log.position.term, Replica(each)) for each in (1, 2, 3)],
        [(log.term_at(at), log.lsn_at(at), log.run_at(at).origin) for at in places],
        [log.vclock_at(at) for at in places],
        [(at, log.crc_at(at)) for at in places if log.knows(at)],
        [limbo.stretch_at(at) for at in places],
        [limbo.clip(Index(at)) for at in places],
        limbo.owner,
        list(limbo.queue),
        replicated_log.confirmed,
        replicated_log.configurations.in_force,
        [each for each in replicated_log.configurations.standing() if each[0] > above],
        [replicated_log.configurations.body_at(limbo.clip(Index(at))) for at in places],
        [log.index_of(log.run_at(at).origin, log.lsn_at(at)) for at in places],
    )


def receipts(replicated_log: ReplicatedLog) -> list[object]:
    """What is known of each place of which anybody may have a receipt: is it shown, and its fate.

    Places behind the confirmed index are not asked for: there nothing was trimmed.
    """
    log = replicated_log.log
    places = [
        Position(Term(term), Index(index))
        for index in range(1, replicated_log.confirmed + 1)
        for term in range(1, log.position.term + 2)
    ]
    return [
        (shows(replicated_log, each), fate(replicated_log, each.index, each.term, NOTHING))
        for each in places
    ]


def recovered(entries: list[Entry], confirmed: Index, start: LogStart) -> ReplicatedLog:
    """As after a restart: what is behind `start` is on the disk."""
    found = ReplicatedLog(
        confirmed=confirmed,
        recent_bytes_max=1 << 20,
        tail=lambda first, last: entries[first - 1 : last],
        founding=None if start.index else FOUNDING,
        codec=CODEC,
        start=start,
    )
    found.recover([encode(entries[start.index :])])
    return found


def cut_to(replicated_log: ReplicatedLog, above: Index) -> ReplicatedLog:
    """The tail above is another leader's."""
    if above < replicated_log.log.last:
        replicated_log.cut(above, "for a test")
    return replicated_log


@pytest.mark.parametrize("seed", range(20))
def test_a_log_that_begins_behind_an_entry_decides_as_the_whole_one(seed: int) -> None:
    made, entries = random_log(seed)
    whole = recovered(entries, made.confirmed, EMPTY)
    ends = made.confirmed
    while made.limbo.stretch_at(ends) is not None:
        ends = Index(ends + 1)  # a record of no say, behind what is confirmed
    for upto in range(made.confirmed + 1):
        start = start_at(whole, Index(upto))
        behind = recovered(entries, made.confirmed, start)
        assert facts(behind, start.index) == facts(whole, start.index)
        assert receipts(behind) == receipts(whole)
        trimmed = recovered(entries, made.confirmed, EMPTY)
        trim_log(trimmed, start)
        assert facts(trimmed, start.index) == facts(whole, start.index)
        for each in (behind, trimmed):
            cut_to(each, ends)
            assert facts(each, start.index) == facts(
                cut_to(recovered(entries, made.confirmed, EMPTY), ends), start.index
            )


@pytest.mark.parametrize("seed", range(5))
def test_a_trimmed_log_is_trimmed_again(seed: int) -> None:
    made, entries = random_log(seed)
    whole = recovered(entries, made.confirmed, EMPTY)
    trimmed = recovered(entries, made.confirmed, EMPTY)
    for upto in range(0, made.confirmed + 1, 3):
        start = start_at(trimmed, Index(max(upto, trimmed.log.start.index)))
        assert start == start_at(whole, Index(max(upto, start.index)))
        trim_log(trimmed, start)
        assert facts(trimmed, start.index) == facts(whole, start.index)


@pytest.mark.pure
def test_only_so_many_terms_and_stretches_are_told_and_no_more_is_said_to_be_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trimming, "TERMS_MAX", 4)
    monkeypatch.setattr(trimming, "ROLLED_BACK_MAX", 2)
    forgot = 0
    for seed in range(10):
        made, entries = random_log(seed)
        whole, trimmed = (recovered(entries, made.confirmed, EMPTY) for _ in range(2))
        for upto in range(1, made.confirmed + 1, 5):
            start = start_at(trimmed, Index(max(upto, trimmed.log.start.index)))
            trim_log(trimmed, start)
            assert len(start.terms) <= 4
            assert len(start.rolled_back) <= 2
            assert decode(start.encode()) == start
            forgot += start.forgotten
        unknown = trimmed.log.start.unknown_upto
        for index in range(1, made.confirmed + 1):
            asked = Index(index)
            place = Position(whole.log.term_at(index), asked)
            if index > unknown:
                assert shows(trimmed, place) == shows(whole, place)
                assert trimmed.log.has(index, place.term)
                assert not trimmed.log.has(index, place.term + 1)
            else:
                assert fate(trimmed, asked, place.term, NOTHING) is None
    assert forgot


def test_what_is_kept_of_older_entries_is_of_use_before_and_after_a_trim() -> None:
    """One file is written before the other: a stop in between leaves a later one beside it."""
    made, entries = random_log(3)
    whole = recovered(entries, made.confirmed, EMPTY)
    starts = [start_at(whole, Index(upto)) for upto in range(1, made.confirmed + 1)]
    for start in starts:
        for later in starts:
            told = start.alone().told_by(later)
            assert told == (start if later.index >= start.index else start.alone())
    last = starts[-1]
    other = replace(SOME, index=Index(last.index + 1), vclock=((Replica(1), Lsn(last.index + 1)),))
    assert last.alone().told_by(replace(other, origin=Replica(1))) == last.alone()


def test_a_snapshot_is_sent_with_older_terms_to_who_can_read_them() -> None:
    made, entries = random_log(3)
    whole = recovered(entries, made.confirmed, EMPTY)
    start = start_at(whole, made.confirmed)
    assert len(start.terms) > 1
    spaces = MemorySpaces()
    spaces.fold(Fold(folded=start.index, puts=[(b"key", b"row")], deletes=[]))
    source = ViewSource(spaces.view(), start)
    plain, told = (head_for(source, whole, known) for known in (frozenset(), BETWEEN_PEERS))
    assert plain == head_for(source, whole, None) == source.text
    assert decode_head(plain).start == start.alone()
    assert decode_head(told).start == start
    assert name_of(plain) == name_of(told)
    trim_log(whole, start)
    trimmed = start_at(whole, start.index)
    assert decode_head(head_for(source, whole, BETWEEN_PEERS)).start == trimmed == start


def test_a_record_of_an_entry_alone_is_written_as_it_always_was() -> None:
    """Releases that told of no other entry read it, and theirs is read."""
    text = SOME.encode()
    assert text[4:6] == b"\0\1"
    assert decode(text) == SOME
    assert [SOME.term_at(each) for each in (6, 7)] == [None, 3]
    told = replace(SOME, terms=((Index(2), Term(1)), (Index(6), Term(3))), forgotten=Index(3))
    assert told.encode()[4:6] == b"\0\2"
    assert [told.term_at(each) for each in (3, 4, 5, 6, 7)] == [None, 1, 1, 3, 3]


def test_what_is_before_the_log_is_taken_to_be_there_unless_its_term_is_newer() -> None:
    log = LogIndex(SOME)
    assert log.position == Position(Term(3), Index(7))
    assert log.has(7, 3)
    assert not log.has(7, 2)
    assert log.has(6, 3)
    assert log.has(6, 1)
    assert not log.has(6, 4)
    assert not log.has(8, 3)
    assert log.agrees(7, 3, SOME.crc)
    assert not log.agrees(7, 3, SOME.crc ^ 1)
    assert (log.last, log.lsn_of(1), log.lsn_of(2), log.lsn_of(3)) == (7, 3, 4, 0)
    assert log.next_lsn(3, Replica(2)) == log.next_lsn(4, Replica(2)) == 5
    assert log.index_of(1, 3) == 0


def test_entries_before_the_log_cannot_be_had() -> None:
    made, entries = random_log(3)
    trimmed = recovered(entries, made.confirmed, EMPTY)
    start = start_at(trimmed, made.confirmed)
    trim_log(trimmed, start)
    assert start.index > 1
    for first in (Index(1), start.index):
        with pytest.raises(Compacted, match=f"the log begins at {start.index + 1}"):
            trimmed.entries(first, start.index)
    with pytest.raises(AssertionError):
        trim_log(trimmed, replace(start, index=Index(trimmed.log.last + 1)))
