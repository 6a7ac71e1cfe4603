"""One round of answers of all nodes, and its verdict: can the cluster commit?"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from admin.cluster import ask, sides, troubles
from admin.cluster.troubles import listed
from admin.cluster.unreachable import (
    UnreachableNode,
    closed_to_us,
    hearsay,
    unasked,
    unreachable,
)
from qsync.client.one_node import TIMEOUT_S
from qsync.errors import ConfigError
from qsync.member import WITHOUT_VOTE
from qsync.status import health
from qsync.status.members import AnonymousStatus, PeerStatus
from qsync.status.record import NodeStatus


class ClusterHealth(StrEnum):
    """`degraded`: see `can_commit` and the sentence. `down`: no leader, or no quorum."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSurvey:
    """The answers of one round, by id.

    `apart`: nodes that answered and do not belong to this cluster: superseded, or of another one.
    """

    samples: tuple[NodeStatus, ...]
    silent: tuple[UnreachableNode, ...] = ()
    apart: tuple[NodeStatus, ...] = ()

    @property
    def voters(self) -> int:
        """The number of voters in the configuration in force; without one, of members."""
        told = sides.newest(each for each in self.samples if each.voters)
        if told is not None:
            return len(told.voters)
        return max([len(each.nodes) for each in self.samples] + [len(self)])

    @property
    def names(self) -> dict[int, str]:
        """The names by id of members, and of others that answer, such as removed nodes."""
        own = {each.id: each.name for each in self.samples}
        return own | {id: name for each in self.samples for id, name, _ in each.nodes}

    @property
    def voting(self) -> list[NodeStatus]:
        """The nodes that answer and may vote, or would if they had a configuration."""
        return [each for each in self.samples if each.standing not in WITHOUT_VOTE]

    @property
    def mute(self) -> list[NodeStatus]:
        """The nodes that answer and ack nothing, because they cannot write their logs."""
        return [each for each in self.samples if "disk" in {why.why for why in each.ro_reasons}]

    @property
    def leader(self) -> NodeStatus | None:
        """The leader of the highest term, writable or not."""
        leaders = [each for each in self.samples if each.leads]
        return max(leaders, key=lambda each: each.term, default=None)

    @property
    def anonymous(self) -> tuple[AnonymousStatus, ...]:
        """The anonymous replicas, as far as the leader knows."""
        return () if self.leader is None else self.leader.replication_anon.replicas

    def __len__(self) -> int:
        return len(self.samples) + len(self.silent)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVerdict:
    """Whether it can commit, how many more nodes may fail, and a sentence.

    `margin`: connected voters beyond the quorum; negative when they are too few.
    """

    health: ClusterHealth
    can_commit: bool
    margin: int
    leader: str | None
    term: int
    sentence: str


def survey(seeds: Sequence[str], *, timeout: float = TIMEOUT_S) -> ClusterSurvey:
    """Ask the seeds, learn of the other members and ask them too.

    The survey is of one cluster (`sides`): that of the first seed that is not superseded. Raises
    Unavailable when no node answers, AccessDenied when a node refuses to answer us, ConfigError
    when we cannot even ask: for want of a password, say.
    """
    answers = ask.statuses(seeds, timeout)
    if not any(isinstance(each, NodeStatus) for each in answers.values()):
        raise unasked(answers)
    while True:
        heard = [each for each in answers.values() if isinstance(each, NodeStatus)]
        ours, apart = sides.parted(heard)
        named = sides.instances(ours)
        samples = sides.by_id(ours, named)
        members = sides.places(ours)
        rest = [
            address
            for id, (_, address) in members.items()
            if id not in samples or samples[id].uuid != named.get(id, samples[id].uuid)
        ]
        closed = closed_to_us(ours)
        if closed or not (others := [each for each in rest if each not in answers]):
            break
        answers |= ask.statuses(others, timeout)  # it may be of the recovered cluster
    silent = [
        unreachable(id, name, address, answer=answers.get(address), closed=closed)
        for id, (name, address) in sorted(members.items())
        if id not in samples
    ]
    return ClusterSurvey(
        samples=tuple(samples[id] for id in sorted(samples)),
        silent=tuple(silent),
        apart=tuple(apart),
    )


def judge(found: ClusterSurvey) -> ClusterVerdict:
    """The verdict on one round of answers."""
    if not found.samples:
        return _nobody_answers(found)
    leader = found.leader
    if leader is None:
        return _nobody_leads(found)
    quorum = leader.synchro.quorum or found.voters // 2 + 1
    votes = {id for id, _ in leader.voters} or {peer.id for peer in leader.peers}
    away = [peer for peer in leader.peers if not peer.counts and peer.id in votes]
    away_ids = {peer.id for peer in away} | {each.id for each in found.silent if not each.denied}
    away_ids |= {each.id for each in found.mute}
    if leader.voters:  # a node that is not a voter at present is not missing in a quorum
        away_ids &= {id for id, _ in leader.voters}
    in_touch = found.voters - len(away_ids)
    margin = in_touch - quorum
    able = not leader.ro and margin >= 0
    # Connections show which nodes could ack; only the limbo shows whether they do.
    stuck = leader.stuck is not None
    sound = not (away_ids or stuck or troubles.troubled(found.samples))
    health = ClusterHealth.HEALTHY if sound else ClusterHealth.DEGRADED
    if not able:
        health = ClusterHealth.DOWN
    return ClusterVerdict(
        health=health,
        can_commit=able and not stuck,
        margin=margin,
        leader=leader.name,
        term=leader.term,
        sentence=_sentence(found, leader, away, margin=margin, quorum=quorum, health=health),
    )


def node_address(found: ClusterSurvey, name: str) -> str:
    """Return the address of a node by name or id. Raises ConfigError that lists them."""
    return _node(found, name)[1]


def node_id(found: ClusterSurvey, name: str) -> int:
    """Return the id of a node by name or address. Raises ConfigError that lists them."""
    return _node(found, name)[0]


def _node(found: ClusterSurvey, name: str) -> tuple[int, str]:
    members = sorted(sides.known_places(found.samples).items())
    for id, (each, address) in members:
        if name in {each, str(id), address}:
            return id, address
    known = ", ".join(each for _, (each, _) in members)
    raise ConfigError(f"there is no node {name!r}; there are {known}")


def leader_address(found: ClusterSurvey) -> str | None:
    """Return the address of the leader, even if only others named it."""
    if found.leader is not None:
        return found.leader.address
    newest = max(found.samples, key=lambda each: each.term)
    return newest.leader_address


def stall(found: ClusterSurvey) -> str | None:
    """Since when nothing is confirmed, which nodes are missing, and what is wrong with them."""
    leader = found.leader
    if leader is None or leader.stuck is None:
        return None
    missing = leader.synchro.queue.missing
    whom = ", ".join(_with_cause(found, each.id, each.label) for each in missing)
    return f"nothing has been confirmed for {leader.stuck:.3g} s: waits for {whom or 'the quorum'}"


def trouble_of(found: ClusterSurvey, id: int) -> str | None:
    """Why a node may not ack, as far as it reports it."""
    node = next((each for each in found.samples if each.id == id), None)
    return None if node is None else health.wrong(node, "disk", "writer")


def _with_cause(found: ClusterSurvey, id: int, name: str) -> str:
    trouble = trouble_of(found, id)
    return f"{name} ({trouble})" if trouble else name


def peer_of(found: ClusterSurvey, id: int) -> PeerStatus | None:
    """The leader's view of a node."""
    peers = found.leader.peers if found.leader is not None else ()
    return next((peer for peer in peers if peer.id == id), None)


def _nobody_answers(found: ClusterSurvey) -> ClusterVerdict:
    whys = ", ".join(f"{each.address}: {each.why}" for each in found.silent)
    sentence = f"Down, as far as can be seen from here: no node answers ({whys})."
    denied = any(each.denied for each in found.silent)
    if denied:
        sentence = f"Degraded: whether it commits is not to be seen, no node lets us ask ({whys})."
    return ClusterVerdict(
        health=ClusterHealth.DEGRADED if denied else ClusterHealth.DOWN,
        can_commit=False,
        margin=-(len(found) // 2 + 1),
        leader=None,
        term=0,
        sentence=sentence,
    )


def _nobody_leads(found: ClusterSurvey) -> ClusterVerdict:
    majority = found.voters // 2 + 1
    term = max(each.term for each in found.samples)
    answering = len(found.voting)
    answer = f"{answering} of {found.voters} voters answer"
    empty = [each.name for each in found.voting if each.recruit]
    heard = hearsay(found.samples, found.silent)
    denied = [each.name for each in found.silent if each.denied]
    health = ClusterHealth.DOWN
    if heard is not None:
        health = ClusterHealth.DEGRADED
        sentence = f"Degraded: {heard}."
    elif all(sides.is_superseded(each) for each in found.samples):
        sentence = f"Down: {sides.sentence_of_all(found.samples)}."
    elif all(each.stranger and not each.voters for each in found.samples):
        sentence = (
            f"Down: {answer}, all of them strangers: nobody has founded a cluster in their "
            "directories."
        )
    elif answering < majority <= answering + len(denied):
        health = ClusterHealth.DEGRADED
        sentence = (
            f"Degraded: no leader among those that answer, {answering} of {found.voters} voters; "
            f"{listed(denied)} may have one, and this is not to be seen from here: they do not let "
            "us ask."
        )
    elif answering < majority:
        need = majority - answering
        names = listed(each.name for each in found.silent)
        sentence = f"Down: no leader and no majority: {answer}; bring back {need} of {names}."
    elif answering - len(empty) < majority and any(each.last for each in found.samples):
        sentence = (
            f"Down: no leader in term {term}: {answer}, but the data of {', '.join(empty)} is "
            "gone, and who has not caught up does not vote; bring back a member that has its own."
        )
    else:
        named = next((each.leader_name for each in found.samples if each.leader_name), None)
        why = (
            f"{named} is followed but does not answer here" if named else "waiting for an election"
        )
        sentence = f"Down: nobody who answers leads term {term}: {answer}; {why}."
    return ClusterVerdict(
        health=health,
        can_commit=False,
        margin=answering - majority,
        leader=None,
        term=term,
        sentence=sentence,
    )


def _sentence(
    found: ClusterSurvey,
    leader: NodeStatus,
    away: Sequence[PeerStatus],
    *,
    margin: int,
    quorum: int,
    health: ClusterHealth,
) -> str:
    voters = found.voters
    in_touch = quorum + margin
    votes = f"{in_touch} of {voters} voters (quorum {quorum})"
    if leader.ro:
        why = leader.ro_reason or "no reason given"
        return f"Down: {leader.name} leads term {leader.term} but is read-only: {why}."
    if health is ClusterHealth.DOWN:
        gone = [*(p.name for p in away), *(s.name for s in found.silent)]
        missing = listed(dict.fromkeys(gone + [each.name for each in found.mute]))
        wanted = f"{-margin} of {missing} must come back before commits go on"
        return f"Down: {leader.name} leads term {leader.term} with {votes}; {wanted}."
    if leader.stuck is not None:
        return f"Degraded: {stall(found)}; {leader.name} leads term {leader.term} with {votes}."
    head = f"{leader.name} leads term {leader.term} and commits with {votes}"
    breaks = f"{margin} more can fail" if margin else "losing any one of them stops writes"
    if voters == 1:
        breaks = "there is no replica to lose it to"
    if leader.synchro.unsafe:
        breaks += "; the quorum is below a majority, so confirmed writes can be lost"
    if health is ClusterHealth.HEALTHY:
        return f"Healthy: {head}; {breaks}."
    silent = {each.name for each in found.silent if not each.denied}
    return f"Degraded: {troubles.words(found.samples, silent, away)}; {head}; {breaks}."
