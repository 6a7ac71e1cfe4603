"""Who is a member, by the configuration in force, and a lost disk's place for a new directory."""

from collections.abc import Mapping
from dataclasses import dataclass

from admin.cluster import leadership
from admin.cluster.surveys import ClusterSurvey, peer_of
from qsync.errors import NotLeader
from qsync.status.record import NodeStatus
from qsync.wire.verbs import ReplaceMemberRequest

VOTER, RECRUIT, STRANGER, SILENT, OUT = "voter", "recruit", "stranger", "silent", "out"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    """A place in the cluster. `named`: the instance that votes; `runs`: the one that is there.

    `standing`: `voter`, `recruit` (a voter that has not caught up), `stranger` (another directory
    than the one that is named), `silent` (does not answer), `out` (no voter has this id now).
    """

    id: int
    name: str
    address: str
    standing: str
    leads: bool = False
    named: str | None = None
    runs: str | None = None

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
        }


def members(found: ClusterSurvey) -> list[ClusterMember]:
    """All places that anybody knows of, by id."""
    voters = dict(_voters(found))
    there = {each.id: each for each in found.samples}
    known = {id: (name, address) for each in found.samples for id, name, address in each.nodes}
    return [
        ClusterMember(
            id=id,
            name=name,
            address=address,
            standing=_standing(there.get(id), named=voters.get(id)),
            leads=found.leader is not None and found.leader.id == id,
            named=voters.get(id),
            runs=there[id].uuid if id in there else None,
        )
        for id, (name, address) in sorted(known.items())
    ]


def _voters(found: ClusterSurvey) -> tuple[tuple[int, str], ...]:
    """By the leader; without one, by whoever has the longest log."""
    if found.leader is not None:
        return found.leader.voters
    return max(found.samples, key=lambda each: (each.term, each.last)).voters


def _standing(sample: NodeStatus | None, *, named: str | None) -> str:
    if sample is None:
        return SILENT if named is not None else OUT
    if sample.stranger:
        return STRANGER
    return RECRUIT if sample.recruit else VOTER


def would(found: ClusterSurvey, member: ClusterMember) -> dict[str, object]:
    """What `replace` would do, in numbers; `refused` says why it would not."""
    leader = found.leader
    voters = len(_voters(found))
    peer = peer_of(found, member.id)
    numbers: dict[str, object] = {
        "node": member.name,
        "standing": member.standing,
        "voters": voters,
        "changes": 0,
        "lacks": None if peer is None else peer.lag,
        "refused": None,
    }
    if leader is None:
        return numbers | {"refused": "nobody leads, and only a leader changes the configuration"}
    if member.id == leader.id:
        return numbers | {"refused": "it leads: promote another node first"}
    if member.standing in {SILENT, OUT}:
        return numbers | {"refused": "it does not answer: start it on its new directory first"}
    if member.standing != STRANGER:
        return numbers
    changes = 1 if member.named is None else 2
    return numbers | {"changes": changes, "out": member.named, "in": member.runs}


def in_words(numbers: Mapping[str, object]) -> str:
    """These numbers as a sentence."""
    if numbers.get("refused"):
        return f"refused: {numbers['refused']}"
    if not numbers.get("changes"):
        return f"nothing: it is a {numbers['standing']} already"
    voters = numbers["voters"]
    assert isinstance(voters, int)
    out = numbers.get("out")
    steps = f"{voters} -> {voters - 1} -> {voters}" if out else f"{voters} -> {voters + 1}"
    first = f"the directory {str(out)[:8]} goes out, " if out else ""
    lacks = numbers.get("lacks")
    wait = f"; it lacks {lacks} entries, and waits for them first" if lacks else ""
    return (
        f"{first}{str(numbers['in'])[:8]} comes in: {numbers['changes']} changes of the "
        f"configuration, voters {steps}{wait}"
    )


def replace(found: ClusterSurvey, member: ClusterMember, *, timeout: float) -> None:
    """Give the place to the directory that runs there; returns when that is decided.

    Raises NotLeader when nobody leads, and NoAnswer when it cannot be said in time.
    """
    if found.leader is None:
        raise NotLeader("nobody leads, and only a leader changes the configuration")
    request = ReplaceMemberRequest(1, member.id, timeout)
    leadership.perform(found.leader.address, request, timeout=timeout)
