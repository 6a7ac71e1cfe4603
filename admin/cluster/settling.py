"""Waits until a cluster is as it should be: it is asked again and again, up to a time limit."""

import contextlib
import time
from collections.abc import Callable, Sequence

from admin.cluster.surveys import ClusterHealth, ClusterSurvey, judge, survey
from qsync.errors import Unavailable
from qsync.status.members import IN_TOUCH

ASKED_AGAIN_S = 0.05
ANSWER_S = 0.5
"""How long each node may take to answer, before all are asked again."""
SETTLE_S = 2.0
"""How long the rest of a cluster that takes writes already may take to join."""
REST_S = 5.0
"""How long a healed cluster may take until nothing is pending."""


def wait_until(
    seeds: Sequence[str], lacking: Callable[[ClusterSurvey], str], *, timeout: float, late: str
) -> ClusterSurvey:
    """Ask until `lacking` has nothing to say of the answers.

    Raises Unavailable: `late`, and what was lacking last.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            found = survey(seeds, timeout=ANSWER_S)
        except Unavailable as error:
            why = error.message
        else:
            why = lacking(found)
            if not why:
                return found
        if time.monotonic() > deadline:
            raise Unavailable(f"{late}: {why}")
        time.sleep(ASKED_AGAIN_S)


def ill(found: ClusterSurvey) -> str:
    """What is wrong with a cluster; nothing if it is healthy."""
    verdict = judge(found)
    return "" if verdict.health is ClusterHealth.HEALTHY else verdict.sentence


def wait_writable(
    seeds: Sequence[str], *, timeout: float, settle: float = SETTLE_S
) -> ClusterSurvey:
    """Ask until a leader takes writes, and `settle` longer for the other nodes to be there too.

    Raises Unavailable with the reason.
    """
    deadline = time.monotonic() + timeout
    settled_by: float | None = None

    def lacking(found: ClusterSurvey) -> str:
        nonlocal settled_by
        can_commit = judge(found).can_commit
        if can_commit and settled_by is None:
            settled_by = min(time.monotonic() + settle, deadline)
        late = settled_by is not None and time.monotonic() > settled_by
        return "" if can_commit and late else ill(found)

    return wait_until(seeds, lacking, timeout=timeout, late=f"not writable after {timeout:g} s")


def wait_at_rest(addresses: Sequence[str]) -> None:
    """Wait, for `REST_S` at the most, until all answer and nothing is pending on any of them.

    Followers learn only with the next heartbeat that their entries are confirmed.
    """
    deadline = time.monotonic() + REST_S
    while time.monotonic() < deadline:
        with contextlib.suppress(Unavailable):
            found = survey(addresses, timeout=ANSWER_S)
            if not found.silent and not any(each.synchro.queue.len for each in found.samples):
                return
        time.sleep(ASKED_AGAIN_S)


def wait_answers(
    address: str, *, timeout: float, lives: Callable[[], bool] = lambda: True
) -> ClusterSurvey:
    """Ask a node that was just started until it answers, and a moment longer until it has joined.

    Joined: the cluster commits and its leader is in touch with all that answer. A cluster that
    cannot commit is not waited for. Raises Unavailable, at once when it does not live any more.
    """
    deadline = time.monotonic() + timeout
    settled_by: float | None = None
    while True:
        try:
            found = survey([address], timeout=ANSWER_S)
        except Unavailable as error:
            if not lives():
                raise Unavailable(f"the node at {address} ended after its start") from None
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{address} does not answer {timeout:g} s after its start",
                    details=error.details,
                ) from None
        else:
            settled_by = settled_by or min(time.monotonic() + SETTLE_S, deadline)
            silent = {each.id for each in found.silent}
            peers = () if found.leader is None else found.leader.peers
            joined = [each.status == IN_TOUCH for each in peers if each.id not in silent]
            if (judge(found).can_commit and all(joined)) or time.monotonic() > settled_by:
                return found
        time.sleep(ASKED_AGAIN_S)
