"""By which voters evidence counts that was taken from directories of stopped nodes."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.rules.catalogue import judge, load
from admin.checker.verdict import Result, Verdict
from admin.cluster.logs import identity_of
from admin.evidence.bundle import Bundle
from admin.evidence.collect import Dump
from admin.evidence.witnesses import witnesses
from election.messages import Replica
from qsync import record
from qsync.core.configuration import Configuration
from qsync.data.members import CODEC
from qsync.member import MemberRole
from qsync.record import Entry
from qsync.store.contract import Identity
from qsync.store.directory import Directory
from qsync.store.opening import Founder, found, open_log
from tests.unit.logs import some, write

CLUSTER = "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"


@pytest.fixture
def founded(tmp_path: Path) -> list[Identity]:
    """The directories `1` to `4` of a cluster of four."""
    founders = [
        Founder(replica=Replica(n), name=f"n{n}", path=tmp_path / f"{n}") for n in (1, 2, 3, 4)
    ]
    return found(CLUSTER, founders)


def changed(before: Configuration, after: Configuration, last: Entry) -> Entry:
    """The entry behind `last` that makes it the configuration in force."""
    return record.make(
        index=last.index + 1,
        term=1,
        origin=1,
        lsn=last.index + 1,
        kind=record.EntryKind.TXN,
        flags=record.CONFIG,
        time=0.0,
        body=CODEC.encode(after.members, before=before.members),
        previous=last.crc,
    )


def wrote(path: Path, entries: list[Entry], *, confirmed: int) -> None:
    """The log of a stopped node."""
    identity = identity_of(path)
    with Directory(path, wanted=identity) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.write(write(entries, confirmed=confirmed))


def dumped(out: Path, places: Sequence[object]) -> tuple[Bundle, tuple[str, ...]]:
    with witnesses(map(str, places)) as known:
        taken = Dump(out)
        return taken.collect(known, source="directories"), taken.unnamed


def verdict(bundle: Bundle) -> Verdict:
    known = {each.verdict.invariant: each.verdict for each in judge(load(bundle.path))}
    return known["quorum-before-confirm"]


def test_logs_of_some_of_the_voters_accuse_nobody(tmp_path: Path, founded: list[Identity]) -> None:
    """Entry 5 is in the logs of three of four, one of which is left out."""
    for each in founded[:3]:
        wrote(tmp_path / f"{each.replica}", some(5), confirmed=5)
    wrote(tmp_path / "4", some(4), confirmed=4)
    some_of_them, absent = dumped(tmp_path / "some", [tmp_path / "1", tmp_path / "4"])
    assert (some_of_them.manifest.voters, some_of_them.manifest.quorum) == (4, 3)
    assert absent == ("n2", "n3")
    assert verdict(some_of_them).result is Result.SKIPPED
    whole, absent = dumped(tmp_path / "whole", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert absent == ()
    assert verdict(whole).result is Result.PASS


def test_logs_of_all_voters_accuse_a_quorum_that_was_too_small(
    tmp_path: Path, founded: list[Identity]
) -> None:
    for each in founded:
        last = 5 if each.replica <= 2 else 4
        wrote(tmp_path / f"{each.replica}", some(last), confirmed=last)
    whole, _ = dumped(tmp_path / "whole", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert verdict(whole).result is Result.FAIL


@pytest.mark.parametrize(
    ("confirmed", "voters", "quorum", "absent"),
    [(5, 4, 2, ("n2", "n3")), (6, 3, 2, ("n3",))],
    ids=["unconfirmed", "confirmed"],
)
def test_a_member_that_was_removed_counts_until_that_is_confirmed(
    tmp_path: Path,
    founded: list[Identity],
    confirmed: int,
    voters: int,
    quorum: int,
    absent: tuple[str, ...],
) -> None:
    """What was confirmed meanwhile may count by either configuration."""
    before = Configuration(founded[0].founders)
    entries = some(5)
    entries.append(changed(before, before.without(Replica(2)), entries[-1]))
    wrote(tmp_path / "1", entries, confirmed=confirmed)
    wrote(tmp_path / "4", some(5), confirmed=5)
    bundle, unnamed = dumped(tmp_path / "out", [tmp_path / "1", tmp_path / "4"])
    assert (bundle.manifest.voters, bundle.manifest.quorum) == (voters, quorum)
    assert unnamed == absent


def test_a_learner_is_no_voter(tmp_path: Path, founded: list[Identity]) -> None:
    before = Configuration(founded[0].founders)
    learner = replace(before.members[3], role=MemberRole.LEARNER)
    entries = some(5)
    entries.append(changed(before, before.with_(learner), entries[-1]))
    for each in founded:
        wrote(tmp_path / f"{each.replica}", entries, confirmed=6)
    bundle, _ = dumped(tmp_path / "out", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert [each.voter for each in bundle.manifest.nodes] == [True, True, True, False]
    assert (bundle.manifest.voters, bundle.manifest.quorum) == (3, 2)


def test_copies_of_logs_do_not_say_by_whom_they_count(
    tmp_path: Path, founded: list[Identity]
) -> None:
    for each in founded[:2]:
        last = 6 - each.replica
        wrote(tmp_path / f"{each.replica}", some(last), confirmed=last)
        shutil.copytree(tmp_path / f"{each.replica}" / "log", tmp_path / f"copy{each.replica}")
    bundle, _ = dumped(tmp_path / "out", [f"{n}={tmp_path}/copy{n}" for n in (1, 2)])
    assert (bundle.manifest.voters, bundle.manifest.quorum) == (0, 0)
    assert verdict(bundle).result is Result.SKIPPED


@pytest.mark.parametrize(("damaged", "last"), [(b"body 2", 0), (b"body 5", 3)])
def test_a_damaged_log_is_taken_as_far_as_it_goes(
    tmp_path: Path, founded: list[Identity], damaged: bytes, last: int
) -> None:
    for each in founded:
        wrote(tmp_path / f"{each.replica}", some(3), confirmed=3)
        wrote(tmp_path / f"{each.replica}", some(2, after=some(3)[-1]), confirmed=5)
    file = tmp_path / "1" / "log" / "000000000001.log"
    file.write_bytes(file.read_bytes().replace(damaged, b"BODY -"))
    bundle, absent = dumped(tmp_path / "out", [tmp_path / "1", tmp_path / "2"])
    first = bundle.manifest.nodes[0]
    assert first.problem
    assert first.last == last
    assert (bundle.manifest.voters, absent) == (4, ("n3", "n4"))
