"""Where a log begins: the record of it says what a fold over the log up to there has learned."""

from dataclasses import replace
from random import Random

import pytest

from election.messages import Index, Position, Replica, Term
from qsync.core.configuration import Configuration, all_of, configuration_of
from qsync.core.limbo import NOBODY, Owner
from qsync.core.logindex import LogIndex
from qsync.core.logstart import EMPTY, LogStart, decode
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at, trim_log
from qsync.data.members import CODEC
from qsync.errors import Compacted, Damaged
from qsync.member import Member
from qsync.record import (
    CONFIG,
    WAIT_ACK,
    WAIT_SYNC,
    Entry,
    EntryKind,
    Instance,
    LimboRef,
    encode,
    ref_body,
)

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


def test_every_changed_byte_is_damage() -> None:
    text = SOME.encode()
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
