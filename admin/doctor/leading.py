"""Checks of leadership: exactly one leader that accepts writes, with a margin for faults."""

from collections.abc import Iterator

from admin.cluster import sides
from admin.doctor.facts import CLUSTER, Facts, Finding, critical, notice, warning
from qsync.member import Standing

ELECTIONS_PER_HOUR_MAX = 4.0
_HOUR_S = 3600.0
IDLE_SHARE_MAX = 0.5
"""Share of the election timeout: with such silences an election is close."""


def leader_writes(facts: Facts) -> Iterator[Finding]:
    """One node leads and accepts writes."""
    leader = facts.leader
    if facts.nodes and all(sides.is_superseded(node) for node in facts.nodes):
        return  # no node may lead here: `none_superseded` has the fix
    if leader is None:
        yield critical(
            CLUSTER,
            facts.verdict.sentence,
            _electing(facts),
        )
    elif leader.ro:
        why = "; ".join(leader.ro_texts) or str(leader.ro_reason)
        yield critical(
            leader.name,
            f"leads term {leader.term} but takes no writes: {why}",
            _LIFTS.get(str(leader.ro_reason), "see `qsync info ro_reasons` of it"),
        )


_LIFTS = {
    "synchro": "a new leader waits for a quorum to ack its PROMOTE: bring back who is missing",
    "transfer": "it hands over, and goes on itself if the other does not take over within the "
    "election timeout: wait for that",
    "demoted": "it gave its leadership up: `qsync promote NODE`",
    "config": "read_only is set: `box.cfg{read_only = false}` lifts it",
    "disk": "make room or mend the disk; another node takes over as soon as it hears of it",
}
"""The fix, by the reason why a leader is read-only."""


def _electing(facts: Facts) -> str:
    """How to get a leader: promote a node only if a majority may vote for it."""
    majority, able = _majority(facts), _able(facts)
    away = [each.name for each in facts.silent]
    if len(able) >= majority:
        return f"waiting for an election; `qsync promote {able[0]}` calls one at once"
    if not any(node.voters or not node.stranger for node in facts.nodes):
        return "found a cluster with `qsync init`, or start the members that it was founded with"
    denied = next((each for each in facts.silent if each.denied), None)
    if denied is not None:
        return denied.fix
    if len(able) + len(away) < majority:
        return f"put an old directory back: those that lost it do not vote; else {_RECOVER}"
    return f"bring back {majority - len(able)} of {', '.join(away)}, with their data"


_RECOVER = "`qsync recover DIR` of a stopped member prints what a new cluster of it would lose"


def _majority(facts: Facts) -> int:
    """Return how many voters elect a leader."""
    return facts.survey.voters // 2 + 1


def _able(facts: Facts) -> list[str]:
    """Return the nodes that answer and may vote; a node that lost its data may not."""
    return [node.name for node in facts.nodes if not node.recruit and node.part == node.role]


def majority_lost(facts: Facts) -> Iterator[Finding]:
    """No majority of the voters is missing."""
    majority, able = _majority(facts), _able(facts)
    away = [each.name for each in facts.silent if not each.denied]
    if facts.leader is None and able and len(able) < majority <= len(able) + len(away):
        yield notice(
            CLUSTER,
            f"{', '.join(away)}: whether they can come back cannot be seen from here",
            f"if they are lost for good, {_RECOVER}",
        )


def one_leader(facts: Facts) -> Iterator[Finding]:
    """At most one node leads."""
    leaders = sorted((node.term, node.name) for node in facts.nodes if node.leads)
    if len(leaders) < 2:  # noqa: PLR2004 - two are one too many
        return
    said = ", ".join(f"{name} in term {term}" for term, name in leaders)
    if leaders[-1][0] == leaders[-2][0]:
        yield critical(
            CLUSTER,
            f"two leaders of one term: {said}. This must never happen",
            "stop writing, keep all directories, and report it with `qsync log cat` of both",
        )
        return
    for term, name in leaders[:-1]:
        yield warning(
            name,
            f"still believes that it leads term {term}; {said}",
            "it is cut off and steps down by itself within four heartbeats; if not, look at "
            "`election.fencing`",
        )


def leader_agreed(facts: Facts) -> Iterator[Finding]:
    """All nodes follow the same leader in the same term."""
    leader = facts.leader
    if leader is None:
        return
    for node in facts.nodes:
        if node.leads or node.standing == Standing.REMOVED:
            continue
        if node.leader is None:
            yield warning(
                node.name,
                f"follows nobody (term {node.term}; {leader.name} leads term {leader.term})",
                f"look at the link between {node.name} and {leader.name}",
            )
        elif node.leader != leader.id:
            yield warning(
                node.name,
                f"follows {facts.name(node.leader)}, while {leader.name} leads term {leader.term}",
                f"it has not heard of the newer leader: look at its link to {leader.name}",
            )


def quorum_margin(facts: Facts) -> Iterator[Finding]:
    """At least one more voter can fail without stopping writes."""
    verdict = facts.verdict
    if facts.leader is None or verdict.margin > 0:
        return
    if verdict.margin < 0:
        yield critical(CLUSTER, verdict.sentence, "bring back the nodes that are named")
    elif facts.survey.voters > 2:  # noqa: PLR2004 - two never have a margin
        yield warning(
            CLUSTER,
            "no failure can be tolerated: losing any voter stops writes",
            "bring back the missing voters before you stop another one",
        )


def quorum_safe(facts: Facts) -> Iterator[Finding]:
    """The quorum is a majority."""
    if any(node.synchro.unsafe for node in facts.nodes):
        yield critical(
            CLUSTER,
            "the quorum is below a majority: what one side confirms the other may not have",
            "set replication.synchro_quorum to at least N / 2 + 1",
        )


def voters_odd(facts: Facts) -> Iterator[Finding]:
    """The number of voters is odd, and enough to lose one."""
    voters = facts.survey.voters
    if voters == 1:
        yield notice(CLUSTER, "there is one node: its disk is the only copy", "add two more")
    elif voters % 2 == 0:
        may = (voters - 1) // 2
        yield notice(
            CLUSTER,
            f"{voters} voters survive the loss of {may}, no more than {voters - 1} would",
            "an even number costs an ack more and gains nothing: add or remove one",
        )


def leader_heard(facts: Facts) -> Iterator[Finding]:
    """Followers hear their leader well within the election timeout."""
    for node in facts.nodes:
        timeout = facts.of(node).seconds("election.timeout")
        idle = node.leader_idle
        if node.leads or idle is None or timeout is None or idle < IDLE_SHARE_MAX * timeout:
            continue
        yield warning(
            node.name,
            f"has not heard its leader for {idle:.2g} s; after {timeout:g} s it calls an election",
            "the leader or the link is slow: look at the leader's CPU and disk; else raise "
            "election.timeout",
        )


def elections_rare(facts: Facts) -> Iterator[Finding]:
    """The leader changes rarely."""
    won = sum(node.counters.get("elections", 0) for node in facts.nodes)
    hours = max((node.uptime for node in facts.nodes), default=0.0) / _HOUR_S
    # The first election and those of a new cluster do not matter.
    if won - 1 > ELECTIONS_PER_HOUR_MAX * max(hours, 1.0):
        yield warning(
            CLUSTER,
            f"{won} elections in {hours:.2g} h: each costs a gap in writes",
            "`qsync info events` tells the reasons: a slow disk, a flapping link, "
            "election.timeout too short, or replication.timeout shorter than a round trip",
        )
