"""By which voters evidence counts that was taken from directories of stopped nodes."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.kernels.columns import LogEntries
from admin.checker.kernels.quorums import by_logs
from admin.checker.rules.catalogue import judge, load
from admin.checker.verdict import Result, Verdict
from admin.cluster.logs import identity_of
from admin.evidence.bundle import Bundle
from admin.evidence.collect import Dump
from admin.evidence.counting import counting
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.witnesses import Account, witnesses
from election.messages import Replica
from qsync import record
from qsync.core.configuration import Configuration
from qsync.data.members import CODEC
from qsync.member import Member, MemberRole
from qsync.record import Entry, Instance, instance_text
from qsync.status.record import NodeStatus
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


def with_learner(founded: Sequence[Identity]) -> list[Entry]:
    """Six entries; the last makes the fourth node a learner."""
    before = Configuration(founded[0].founders)
    learner = replace(before.members[3], role=MemberRole.LEARNER)
    entries = some(5)
    return [*entries, changed(before, before.with_(learner), entries[-1])]


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
    entries = with_learner(founded)
    for each in founded:
        wrote(tmp_path / f"{each.replica}", entries, confirmed=6)
    bundle, _ = dumped(tmp_path / "out", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert [each.voter for each in bundle.manifest.nodes] == [True, True, True, False]
    assert (bundle.manifest.voters, bundle.manifest.quorum) == (3, 2)


@pytest.mark.parametrize("last", [5, 6])
def test_the_log_of_a_learner_counts_nowhere(
    tmp_path: Path, founded: list[Identity], last: int
) -> None:
    """Entry 6 is in the logs of two voters, and the log of one of them is left out."""
    entries = with_learner(founded)
    for replica in (1, 2):
        wrote(tmp_path / f"{replica}", entries, confirmed=6)
    wrote(tmp_path / "3", entries[:5], confirmed=5)
    wrote(tmp_path / "4", entries[:last], confirmed=5)
    some_of_them, absent = dumped(tmp_path / "some", [tmp_path / f"{n}" for n in (1, 3, 4)])
    assert (some_of_them.manifest.voters, absent) == (3, ("n2",))
    assert verdict(some_of_them).result is Result.SKIPPED
    whole, _ = dumped(tmp_path / "whole", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert verdict(whole).result is Result.PASS


def test_an_entry_on_one_voter_and_a_learner_was_not_confirmed_by_a_quorum(
    tmp_path: Path, founded: list[Identity]
) -> None:
    entries = with_learner(founded)
    for each in founded:
        last = 6 if each.replica in {1, 4} else 5
        wrote(tmp_path / f"{each.replica}", entries[:last], confirmed=last)
    whole, _ = dumped(tmp_path / "whole", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert verdict(whole).result is Result.FAIL


def test_a_directory_that_was_replaced_is_no_voter(tmp_path: Path, founded: list[Identity]) -> None:
    """Three of four have entry 6; of the one that was replaced the former directory is named."""
    before = Configuration(founded[0].founders)
    replaced = replace(before.members[3], instance=Instance(77))
    entries = some(5)
    entries.append(changed(before, before.with_(replaced), entries[-1]))
    for each in founded:
        last = 6 if each.replica <= 2 else 5
        wrote(tmp_path / f"{each.replica}", entries[:last], confirmed=last)
    bundle, absent = dumped(tmp_path / "out", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    assert absent == ("n4",)
    assert [each.voter for each in bundle.manifest.nodes] == [True, True, True, False]
    assert verdict(bundle).result is Result.SKIPPED


def test_a_log_that_begins_at_a_snapshot_has_what_is_before() -> None:
    nodes = (NodeFacts(node=1, confirmed=5, last=7), NodeFacts(node=2, first=6, last=7))
    rows = [{"node": 1, "generation": 1, "index": 5, "term": 1, "crc": 11}]
    manifest = Manifest(run_id="r", source="directories", quorum=2, voters=2, nodes=nodes)
    found = by_logs(manifest, LogEntries.of_rows(rows), {(1, 1), (2, 1)})
    assert (found.facts, found.breaches) == (1, [])


def says(node: int, *, confirmed: int, quorum: int, voters: Sequence[int] = (1, 2, 3)) -> Account:
    """The account of a node that runs."""
    sample = NodeStatus(
        id=node,
        nodes=tuple((each, f"n{each}", "") for each in voters),
        voters=tuple((each, instance_text(Instance(each))) for each in voters),
    )
    uuid = instance_text(Instance(node))
    facts = NodeFacts(node=node, uuid=uuid, confirmed=confirmed)
    return Account(facts=facts, sample=sample, quorum=quorum)


def test_a_node_that_lags_counts_by_a_quorum_of_former_times() -> None:
    ahead, lags = says(1, confirmed=9, quorum=2), says(3, confirmed=4, quorum=3)
    assert counting([ahead, says(2, confirmed=8, quorum=2), lags]).quorum == 2


def test_a_quorum_that_was_raised_after_the_last_confirm_accuses_nobody() -> None:
    assert counting([says(1, confirmed=9, quorum=3), says(2, confirmed=9, quorum=3)]).quorum == 2
    assert counting([says(1, confirmed=9, quorum=1), says(2, confirmed=9, quorum=1)]).quorum == 1


def test_a_stopped_node_that_was_ahead_knows_better_than_one_that_runs() -> None:
    """The cluster had five voters when the one that runs was cut off."""
    members = tuple(Member(Replica(n), Instance(n), name=f"n{n}") for n in (1, 2, 3))
    facts = NodeFacts(node=1, uuid=instance_text(Instance(1)), confirmed=9)
    ahead = Account(facts=facts, configurations=(Configuration(members),))
    known = counting([ahead, says(3, confirmed=4, quorum=3, voters=(1, 2, 3, 4, 5))])
    assert (known.voters, known.quorum, known.absent) == (3, 2, ("n2",))


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


def test_a_damaged_log_accuses_nobody_and_what_needs_it_is_open(
    tmp_path: Path, founded: list[Identity]
) -> None:
    """Entry 5 was in the logs of three of four, one of which has lost it with its disk."""
    for each in founded:
        wrote(tmp_path / f"{each.replica}", some(3), confirmed=3)
        if each.replica != 4:
            wrote(tmp_path / f"{each.replica}", some(2, after=some(3)[-1]), confirmed=5)
    file = tmp_path / "2" / "log" / "000000000001.log"
    file.write_bytes(file.read_bytes().replace(b"body 5", b"BODY -"))
    bundle, _ = dumped(tmp_path / "out", [tmp_path / f"{n}" for n in (1, 2, 3, 4)])
    found = {each.verdict.invariant: each.verdict for each in judge(load(bundle.path))}
    broken = {name for name, each in found.items() if each.result is Result.FAIL}
    assert broken == {"log-owner"}, "these logs have no PROMOTE"
    assert found["quorum-before-confirm"].result is Result.SKIPPED
    assert found["log-chain"].result is Result.UNKNOWN
    assert "the log of n2 is damaged" in found["log-chain"].note


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
    assert bundle.manifest.gaps == {"wal": f"the log of n1 is damaged: {first.problem}"}
