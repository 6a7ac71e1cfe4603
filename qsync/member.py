"""Members of a cluster: replica id, the directory behind it, role, name and address."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from election.messages import VOTERS_MAX, Replica
from qsync.record import Instance

MEMBERS_MAX: Final = VOTERS_MAX
"""The maximum number of members of a cluster, learners included: replica ids are 1..31."""


class MemberRole(StrEnum):
    """The role of a member."""

    VOTER = "voter"
    """It votes, it may lead, and what it acks counts."""
    LEARNER = "learner"
    """It receives everything and counts nowhere: no vote, no ack, no campaign."""
    JOINING = "joining"
    """A learner that the leader makes a voter as soon as it has caught up."""


class Standing(StrEnum):
    """The status of a node in its cluster, as far as it knows."""

    VOTER = "voter"
    LEARNER = "learner"
    JOINING = "joining"
    ANONYMOUS = "anonymous"
    """It follows without being a member, as it is meant to."""
    STRANGER = "stranger"
    """No configuration that it knows names its directory, or none that it knows as confirmed."""
    REMOVED = "removed"
    """It was a member, and knows as confirmed that it is none any more (membership.md M4 f)."""


WITHOUT_VOTE: Final = frozenset(
    {Standing.LEARNER, Standing.JOINING, Standing.ANONYMOUS, Standing.REMOVED}
)
"""Who is so has none by its own log; a stranger may be a voter whose disk was lost."""


class MemberAction(StrEnum):
    """A change of who is a member, or where."""

    ADD = "add"
    REMOVE = "remove"
    SET_ROLE = "set_role"
    MOVE = "move"
    """Its address."""
    REPLACE = "replace"
    """Its directory, for a disk that was lost (membership.md M5)."""


@dataclass(frozen=True, slots=True)
class Member:
    """One row of `_cluster`.

    The pair of `replica` and `instance` is who it is (membership.md M1 d). `address`: where it is
    dialled, `host:port`. Name and address are empty in rows that former releases wrote.
    """

    replica: Replica
    instance: Instance
    role: MemberRole = MemberRole.VOTER
    name: str = ""
    address: str = ""

    @property
    def votes(self) -> bool:
        """Whether it is a voter."""
        return self.role is MemberRole.VOTER


Members = tuple[Member, ...]
"""In the order of their ids."""
