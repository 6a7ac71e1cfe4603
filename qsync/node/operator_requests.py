"""Requests of operators as inputs of the machine; each waits under a ticket."""

from collections.abc import Callable

from election.messages import Replica as Peer
from qsync.config.kinds import NAME, Address
from qsync.core.inputs import ChangeAsked, DemoteAsked, Input, PromoteAsked, RollbackAsked
from qsync.core.member_change import (
    AddMember,
    MemberChange,
    MoveMember,
    RemoveMember,
    ReplaceMember,
    SetRole,
)
from qsync.core.ready import Ticket
from qsync.errors import ConfigError
from qsync.member import Member, MemberAction, MemberRole
from qsync.record import NO_INSTANCE, read_instance
from qsync.wire import verbs


def promote(ticket: Ticket) -> Input:
    """Make this node lead; also `clear_synchro_queue`, which does the same."""
    return PromoteAsked(ticket=ticket)


def roll_back(ticket: Ticket) -> Input:
    """Roll back everything pending."""
    return RollbackAsked(ticket=ticket)


def demote(request: verbs.DemoteRequest) -> Callable[[Ticket], Input]:
    """Stop leading, in favour of another node."""
    to = Peer(request.to) if request.to else None
    return lambda ticket: DemoteAsked(ticket=ticket, to=to)


def change(
    request: verbs.ChangeMemberRequest, check: Callable[[verbs.ChangeMemberRequest], None]
) -> Callable[[Ticket], Input]:
    """Make a change of the members. Raises ConfigError for a wrong value, and what `check` does."""

    def make_input(ticket: Ticket) -> Input:
        check(request)
        return ChangeAsked(ticket=ticket, change=member_change(request), force=request.force)

    return make_input


def member_change(request: verbs.ChangeMemberRequest) -> MemberChange:
    """Return the change in the core's terms. Raises ConfigError that names what is wrong."""
    replica = Peer(request.replica)
    try:
        match MemberAction(request.action):
            case MemberAction.ADD:
                return AddMember(member=_newcomer(request))
            case MemberAction.REMOVE:
                return RemoveMember(replica=replica)
            case MemberAction.SET_ROLE:
                return SetRole(replica=replica, role=MemberRole(request.role))
            case MemberAction.MOVE:
                return MoveMember(replica=replica, address=_dialled(request.address))
            case MemberAction.REPLACE:
                return ReplaceMember(replica=replica)
    except ValueError as error:
        raise ConfigError(f"{request.action} of member {replica}: {error}") from None


def _newcomer(request: verbs.ChangeMemberRequest) -> Member:
    instance = read_instance(request.instance)
    if instance == NO_INSTANCE:
        raise ValueError(f"{request.instance!r} is no uuid of a directory")
    NAME.parse(request.name)
    address = _dialled(request.address)
    role = MemberRole(request.role)
    return Member(Peer(request.replica), instance, role, request.name, address)


def _dialled(text: str) -> str:
    """The address of a member for others. Raises ValueError."""
    address = Address.parse(text)
    if not address.port or address.everywhere:
        raise ValueError(f"this address cannot be dialled: {address}")
    return str(address)
