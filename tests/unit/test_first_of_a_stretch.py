"""One wrong entry makes all later ones wrong: it is reported once, with the range."""

from admin.checker.kernels.disks import QUORUM
from admin.checker.kernels.logs.between import MATCHING
from admin.checker.rules.catalogue import BY_ID
from admin.checker.rules.run import RunTables, build
from admin.checker.rules.texts import stretches
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row
from tests.unit.happened import happened

MANIFEST = Manifest(run_id="r", source="test", quorum=2, voters=3)


def logs(*parted: range) -> RunTables:
    """Two logs of forty entries, with other checksums at some places of the second one."""
    rows: list[Row] = [
        {
            "node": node,
            "generation": 1,
            "index": index,
            "term": 1,
            "kind": "TXN",
            "origin": 1,
            "lsn": index,
            "flags": 0,
            "crc": index + 1000 * (node == 2 and any(index in each for each in parted)),
        }
        for node in (1, 2)
        for index in range(1, 41)
    ]
    return build(MANIFEST, {"wal": rows})


def test_a_swapped_entry_is_one_violation_however_long_the_log_goes_on() -> None:
    (found,) = BY_ID[MATCHING].find(logs(range(20, 41))).breaches
    assert (found.index, found.term) == (20, 1)
    assert found.message == (
        "nodes 1 and 2 have different entries at 20 of term 1, and so on up to 40"
    )


def test_logs_that_differ_at_two_places_are_two_violations() -> None:
    found = BY_ID[MATCHING].find(logs(range(5, 8), range(20, 21))).breaches
    assert [each.index for each in found] == [5, 20]
    assert found[1].message == "nodes 1 and 2 have different entries at 20 of term 1"


def test_confirms_behind_one_without_a_quorum_are_not_told_again() -> None:
    said = [("durable", 1, 1, index) for index in range(1, 11)]
    said += [("durable", 2, 1, index) for index in (1, 2, 3, 8, 9, 10)]
    said += [("confirmed", 1, 1, index) for index in range(1, 11)]
    found = BY_ID[QUORUM].find(happened(MANIFEST, *said))
    assert found.facts == 10
    assert [each.index for each in found.breaches] == [4]


def test_stretches_are_numbers_that_follow_one_another() -> None:
    assert stretches([]) == []
    assert stretches([7, 1, 2, 3, 9, 8]) == [(1, 3), (7, 9)]
