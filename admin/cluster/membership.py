"""The members by the configuration in force, and changes of it, step by step."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from admin.cluster import ask, sides, surveys
from admin.cluster.surveys import ClusterSurvey, peer_of
from qsync import features
from qsync.client import targets
from qsync.client.one_node import TIMEOUT_S
from qsync.errors import (
    ConfigError,
    ForeignCluster,
    NotLeader,
    Outcome,
    QsyncError,
    QuorumTimeout,
    ReadOnly,
    Unavailable,
    WrongVersion,
)
from qsync.member import MemberAction, MemberRole, Standing
from qsync.status.members import IN_TOUCH
from qsync.status.record import NodeStatus
from qsync.units import how_many
from qsync.wire.session import Greeting
from qsync.wire.verbs import ChangeMemberRequest

VOTER = MemberRole.VOTER.value
STRANGER = Standing.STRANGER.value
RECRUIT, SILENT, OUT = "catching-up", "silent", "out"
REFUSED_HINT = "nothing was changed; `qsync member list` shows who is a member, and in which role"
ASKED_AGAIN_S = 0.2
"""How often the promotion of a learner to voter is requested again."""


class NotCaughtUp(QsyncError):
    """The node is a learner now, and not yet the voter that it becomes by itself."""

    code = "NOT_CAUGHT_UP"
    number = 114
    outcome = Outcome.COMMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    """A place in the cluster. `named`: the member's instance; `runs`: the one that answers.

    `standing`: its own report (`voter`, `learner`, `joining`, `anonymous`, `stranger`,
    `removed`), or `catching-up` (a voter whose log was damaged), `silent` (does not answer), `out`
    (no member has this id). `version`: its release; empty while it does not answer.
    """

    id: int
    name: str
    address: str
    standing: str
    leads: bool = False
    named: str | None = None
    runs: str | None = None
    role: str | None = None
    version: str = ""

    def as_members(self) -> dict[str, object]:
        """For JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "address": self.address,
            "standing": self.standing,
            "leads": self.leads,
            "named": self.named,
            "runs": self.runs,
            "role": self.role,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedChange:
    """A change of one member, as an operator wants it.

    `role`: what it is to be, where that changes. `address`: where it is dialled then; None: where
    it is now. `force`: also where the cluster may lose its quorum for a while.
    """

    action: MemberAction
    one: ClusterMember
    role: MemberRole = MemberRole.VOTER
    address: str | None = None
    force: bool = False

    def request(self, *, timeout: float, dry_run: bool = False) -> ChangeMemberRequest:
        """The request to the leader."""
        one = self.one
        return ChangeMemberRequest(
            1,
            action=self.action.value,
            replica=one.id,
            instance=one.runs or "",
            name=one.name,
            address=self.address or one.address,
            role=self.role.value,
            force=self.force,
            dry_run=dry_run,
            timeout=timeout,
        )


def members(found: ClusterSurvey) -> list[ClusterMember]:
    """All places that any node knows, by id."""
    named = {id: (uuid, role) for id, uuid, role in sides.configuration(found.samples)}
    there = {each.id: each for each in found.samples}
    known = sides.known_places(found.samples)
    return [*_members(found, named, there, known), *_anonymous(found, known)]


def _members(
    found: ClusterSurvey,
    named: Mapping[int, tuple[str, str]],
    there: Mapping[int, NodeStatus],
    known: Mapping[int, tuple[str, str]],
) -> list[ClusterMember]:
    return [
        ClusterMember(
            id=id,
            name=name,
            address=address,
            standing=_standing(there.get(id), named=id in named),
            leads=found.leader is not None and found.leader.id == id,
            named=named[id][0] if id in named else None,
            role=named[id][1] if id in named else None,
            runs=there[id].uuid if id in there else None,
            version=there[id].version if id in there else "",
        )
        for id, (name, address) in sorted(known.items())
    ]


def _anonymous(found: ClusterSurvey, known: Mapping[int, object]) -> list[ClusterMember]:
    """Return the anonymous replicas, as the leader knows them and as they answer."""
    return [
        ClusterMember(
            id=each.id,
            name=each.name,
            address=each.address,
            standing=Standing.ANONYMOUS.value,
            runs=each.uuid,
        )
        for each in found.anonymous
        if each.id not in known
    ]


def _standing(sample: NodeStatus | None, *, named: bool) -> str:
    if sample is None:
        return SILENT if named else OUT
    return RECRUIT if sample.standing == VOTER and sample.recruit else sample.standing


Say = Callable[[str], None]
"""Takes a line about the progress of a long operation."""


def newcomer(
    found: ClusterSurvey, address: str, *, timeout: float, progress: Say | None = None
) -> ClusterMember:
    """The node at an address, which may not be a member yet, or may just be starting.

    Raises ForeignCluster for a node of another cluster, ConfigError for another member's id and for
    what is not an address, WrongVersion for a release that cannot read the log, Unavailable when
    none answers in time.
    """
    address = targets.normal(address)
    there = _first_answer(address, timeout=timeout, progress=progress)
    ours = found.samples[0].replicaset.uuid
    if there.cluster != ours:
        raise ForeignCluster(f"{address} is of cluster {there.cluster}, not of {ours}")
    used = () if found.leader is None else found.leader.upgrade.features
    why = features.misfit(used, there.name, features.told_in(there.features))
    if why is not None:
        raise WrongVersion(why, hint=f"upgrade {there.name}; nothing was changed")
    known = next((each for each in members(found) if each.id == there.replica), None)
    if known is not None and known.named is not None and known.named != there.instance:
        raise ConfigError(
            f"replica id {there.replica} is taken: {known.name} at {known.address} has it",
            hint=f"for a lost disk: qsync member replace {known.name}",
        )
    return ClusterMember(
        id=there.replica,
        name=there.name,
        address=address,
        standing=STRANGER if known is None or known.role is None else known.standing,
        named=None if known is None else known.named,
        runs=there.instance,
        role=None if known is None else known.role,
    )


def check_free(found: ClusterSurvey, one: ClusterMember, address: str) -> None:
    """Check that no other member is dialled at an address. Raises ConfigError."""
    for other in members(found):
        if other.role is not None and other.address == address and other.id != one.id:
            raise ConfigError(
                f"{other.name} is dialled at {address}, so {one.name} is not",
                hint="nothing was changed; `qsync member list` shows who is where",
            )


def check_moved(
    found: ClusterSurvey,
    one: ClusterMember,
    address: str,
    *,
    timeout: float,
    progress: Say | None = None,
) -> None:
    """Check that it answers at its address. Raises Unavailable, ConfigError if another does."""
    try:
        there = _first_answer(address, timeout=timeout, progress=progress)
    except Unavailable as error:
        error.hint = f"start {one.name} there first; --force if only its peers can reach it"
        raise
    if (there.cluster, there.replica) != (found.samples[0].replicaset.uuid, one.id):
        raise ConfigError(
            f"{there.name} of cluster {there.cluster} answers at {address}, and not {one.name}",
            hint="nothing was changed",
        )


def _first_answer(address: str, *, timeout: float, progress: Say | None) -> Greeting:
    """Its greeting, which needs no rights: a new node without users refuses all requests.

    It may take a while to start, so `progress` hears once what is waited for, and why.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            return ask.greeting(address, timeout=min(timeout, TIMEOUT_S))
        except Unavailable as error:
            if time.monotonic() + ASKED_AGAIN_S > deadline:
                raise
            if progress is not None:
                progress(f"{error.message}; waiting for it up to {timeout:.3g} s")
                progress = None
            time.sleep(ASKED_AGAIN_S)


def perform(found: ClusterSurvey, wanted: WantedChange, *, timeout: float, progress: Say) -> None:
    """Perform a change, in several requests where one does not do; returns when it is decided."""
    if wanted.action is MemberAction.ADD:
        _add(found, wanted, timeout=timeout, progress=progress)
    elif (
        wanted.action is MemberAction.SET_ROLE
        and wanted.role is MemberRole.VOTER
        and not wanted.force
    ):
        _make_voter(found, wanted, deadline=time.monotonic() + timeout, progress=progress)
    else:
        change(found, wanted, timeout=timeout)


def _add(found: ClusterSurvey, wanted: WantedChange, *, timeout: float, progress: Say) -> None:
    """Make a node a member.

    It is a learner first, and a voter when it has the log: a voter that lacks it would be part
    of a quorum that does not exist yet (membership.md M4 a). Raises NotCaughtUp when it did not
    catch up in time; it stays a learner then. Raises ConfigError for a member of another role.
    """
    one, role = wanted.one, wanted.role
    if one.role is not None and not _becomes(one.role, role):
        raise ConfigError(
            f"{one.name} is a member already: {one.role}",
            hint=f"to change that: qsync member set-role {one.name} {role}",
        )
    deadline = time.monotonic() + timeout
    in_steps = role is MemberRole.VOTER and not wanted.force
    if one.role is None:
        first = replace(wanted, role=MemberRole.JOINING) if in_steps else wanted
        change(found, first, timeout=timeout)
        progress(f"{one.name} is a member; it receives the log")
    elif wanted.force and one.role == MemberRole.JOINING:
        change(found, replace(wanted, action=MemberAction.SET_ROLE), timeout=timeout)
    if in_steps:
        _wait_until_voter(found, one, deadline=deadline, progress=progress)


def _becomes(role: str, wanted: MemberRole) -> bool:
    """A member of this role has the wanted one, or will have it without another request."""
    return role == wanted or (role == MemberRole.JOINING and wanted is MemberRole.VOTER)


def _wait_until_voter(
    found: ClusterSurvey, one: ClusterMember, *, deadline: float, progress: Say
) -> None:
    """The leader makes it a voter when it has caught up."""
    seeds, said = [each.address for each in found.samples], ""
    while True:
        now = surveys.survey(seeds)
        if now.leader is not None and one.id in {id for id, _ in now.leader.voters}:
            return
        broken = _broken_link(now, one)
        line = broken or _lacking(now, one)
        if time.monotonic() > deadline:
            raise NotCaughtUp(
                f"{one.name} has not caught up yet: {line}"
                if broken
                else f"{line}, and has not caught up yet",
                hint="it becomes a voter by itself when it has; `qsync member list` shows it, and "
                f"`qsync member remove {one.name}` takes it out again",
            )
        if line != said:
            progress(line)
            said = line
        time.sleep(ASKED_AGAIN_S)


def _lacking(found: ClusterSurvey, one: ClusterMember) -> str:
    """How much of the log a node lacks, as the leader knows."""
    peer = peer_of(found, one.id)
    if peer is None or peer.lag is None:
        return f"{one.name} is not connected"
    return f"{one.name} lacks {how_many(peer.lag, 'entry')}"


def _broken_link(found: ClusterSurvey, one: ClusterMember) -> str:
    """Why the leader and a node do not reach each other; empty if they do, or nobody says."""
    if found.leader is None:
        return ""
    ends = {found.leader.id: one.id, one.id: found.leader.id}
    for node in found.samples:
        for peer in node.peers:
            if ends.get(node.id) == peer.id and peer.status != IN_TOUCH and peer.message:
                return f"{node.name} does not reach {peer.name}: {peer.message}"
    return ""


def _make_voter(
    found: ClusterSurvey, wanted: WantedChange, *, deadline: float, progress: Say
) -> None:
    """Make a learner a voter as soon as possible; repeats until the deadline (monotonic clock)."""
    one, said = wanted.one, None
    while True:
        left = max(deadline - time.monotonic(), ASKED_AGAIN_S)
        try:
            change(found, wanted, timeout=left)
        except ReadOnly as error:
            broken = _broken_link(found, one)
            line = f"{error.message}; {broken}" if broken else error.message
            if time.monotonic() + ASKED_AGAIN_S > deadline:
                raise QuorumTimeout(
                    f"{one.name} stays a learner: {line}",
                    hint=f"qsync member set-role {one.name} voter, when it has caught up",
                ) from None
            if line != said:
                said = line
                progress(line)
            time.sleep(ASKED_AGAIN_S)
            found = surveys.survey([each.address for each in found.samples])
        else:
            return


def change(found: ClusterSurvey, wanted: WantedChange, *, timeout: float) -> None:
    """One change of the configuration; returns when it is decided.

    Raises NotLeader without a leader, ReadOnly with the reason when the leader refuses, and
    NoAnswer when the outcome is not known in time.
    """
    if found.leader is None:
        raise NotLeader("there is no leader, and only a leader changes the configuration")
    try:
        ask.change(found.leader.address, wanted.request(timeout=timeout), timeout=timeout)
    except ReadOnly as error:
        error.hint = REFUSED_HINT  # it is the change that is refused, not writes
        raise
