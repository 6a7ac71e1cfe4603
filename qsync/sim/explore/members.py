"""Operators of explored clusters that change the membership."""

from dataclasses import replace
from typing import NamedTuple, assert_never

from election.messages import Replica
from qsync.core.machine import Machine
from qsync.core.member_change import (
    AddMember,
    MemberChange,
    MoveMember,
    RemoveMember,
    ReplaceMember,
    SetRole,
    next_step,
)
from qsync.core.progress import Membership
from qsync.data.members import CODEC
from qsync.member import Member, MemberRole, Members
from qsync.record import ONE_INSTANCE, Instance
from qsync.sim.explore.ids import NodeId


class IdCodec:
    """See `qsync.core.configuration.Codec`: ids stay apart from other numbers."""

    def encode(self, members: Members, *, before: Members) -> bytes:
        """As shipped."""
        return CODEC.encode(members, before=before)

    def decode(self, body: bytes) -> Members:
        """As shipped, except for the type of the ids."""
        members = CODEC.decode(body)
        return tuple([replace(each, replica=_id(each.replica)) for each in members])


class ChangeOrder(NamedTuple):
    """A request of an operator to a leader. `forced`: even if it may cost the quorum."""

    change: MemberChange
    forced: bool = False

    def describe(self) -> str:
        """For a line of the trace."""
        replica, change = self.change.replica, self.change
        match change:
            case AddMember():
                what = f"add {replica} as a {change.member.role}"
            case RemoveMember():
                what = f"remove {replica}"
            case SetRole():
                what = f"make {replica} a {change.role}"
            case MoveMember():
                what = f"move {replica} to {change.address}"
            case ReplaceMember():
                what = f"replace {replica} by its new directory"
            case _:
                assert_never(change)
        return f"operator: {what}"


def adding(
    replica: int, role: MemberRole = MemberRole.VOTER, instance: Instance = ONE_INSTANCE
) -> AddMember:
    """A node becomes a member, on its first directory unless another one is named."""
    return AddMember(member=Member(_id(replica), instance, role=role))


def removing(replica: int) -> RemoveMember:
    """Remove a member."""
    return RemoveMember(replica=_id(replica))


def becoming(replica: int, role: MemberRole) -> SetRole:
    """Make a member a voter or a learner."""
    return SetRole(replica=_id(replica), role=role)


def replacing(machine: Machine) -> list[ChangeOrder]:
    """A leader may be asked to replace every member with a new directory."""
    return [
        ChangeOrder(ReplaceMember(replica=each.peer))
        for each in machine.peers.values()
        if each.connected and each.membership is Membership.STRANGER
    ]


def possible(machine: Machine, wanted: tuple[MemberChange, ...]) -> list[ChangeOrder]:
    """The requested changes that the leader would begin now, without those already in force."""
    configuration = machine.replicated_log.configurations.followed
    if configuration is None:
        return []
    return [
        ChangeOrder(change, forced=True)
        for change in wanted
        if machine.operations.changes.refusal(change, force=True) is None
        and next_step(configuration, change, None) is not None
    ]


def _id(number: int) -> Replica:
    return Replica(NodeId(number))
