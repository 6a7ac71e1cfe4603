"""One vocabulary of what can be broken: nothing in it is made by nobody."""

from admin.campaign.drawing import FAULTS
from admin.drills.verbs.catalogue import VERBS
from qsync.faultpoints import POINTS
from qsync.faults import ABOUT, Fault
from qsync.sim.swarm import NAMES


def test_every_fault_is_explained_and_made_by_somebody() -> None:
    drills = {fault for verb in VERBS.values() for fault in verb.spec.faults}
    campaign = {fault for made in FAULTS.values() for fault in made}
    assert drills | campaign | set(POINTS) | set(NAMES) == set(Fault)
    assert ABOUT.keys() == set(Fault)
