"""A leader may confirm by the ack of a disk that is gone (membership.md M5 c)."""

from admin.checker.kernels.disks import ACKS, QUORUM
from admin.checker.rules.catalogue import BY_ID
from admin.evidence.manifest import Manifest
from tests.oracle import acks, quorum
from tests.unit.happened import happened

MANIFEST = Manifest(run_id="r", source="test", quorum=2, voters=3)
ACKED_AND_LOST = (
    ("durable", 1, 1, 1),
    ("durable", 2, 1, 1),
    ("ack", 2, 1, 1),
    ("started", 2, 2, 0),
)


def test_an_entry_is_confirmed_by_the_ack_of_a_disk_that_is_replaced_meanwhile() -> None:
    run = happened(MANIFEST, *ACKED_AND_LOST, ("confirmed", 1, 1, 1))
    for found in (BY_ID[QUORUM].find(run), quorum.quorums(run)):
        assert (found.facts, found.breaches) == (1, [])


def test_two_disks_of_one_node_count_once() -> None:
    run = happened(
        MANIFEST,
        *(each for each in ACKED_AND_LOST if each[1] == 2),
        ("durable", 2, 2, 1),
        ("confirmed", 1, 1, 1),
    )
    for found in (BY_ID[QUORUM].find(run), quorum.quorums(run)):
        (breach,) = found.breaches
        assert "[2]" in breach.message


def test_a_new_disk_cannot_ack_what_the_lost_one_had() -> None:
    run = happened(MANIFEST, *ACKED_AND_LOST, ("ack", 2, 2, 1))
    for found in (BY_ID[ACKS].find(run), acks.find(run)):
        assert found.facts == 2
        assert [(each.node, each.index) for each in found.breaches] == [(2, 1)]
