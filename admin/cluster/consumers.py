"""Consumers of the log: the leader's view of them, and releasing one."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from admin.cluster import ask, surveys
from qsync.client import operations
from qsync.consumer import ConsumerKind
from qsync.errors import AccessDenied, ConfigError, NotLeader, ReadOnly, Unavailable
from qsync.rights import Need, Privilege
from qsync.status.record import NodeStatus
from qsync.status.storage import ConsumerStatus
from qsync.wire import replies
from qsync.wire.verbs import RightsRequest, WriteRequest


class _HeldEverywhere(Struct, frozen=True):
    universe: tuple[str, ...] = ()


class _OwnRights(Struct, frozen=True):
    """The rights of the user who asks, as a node reports them."""

    users: bool
    user: str | None = None
    rights: _HeldEverywhere = _HeldEverywhere()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUse:
    """The consumers that hold the log, by the leader, else by the first node that answered."""

    node: NodeStatus
    consumers: tuple[ConsumerStatus, ...]


def look(seeds: Sequence[str], *, timeout: float) -> LogUse:
    """Ask the leader, because only it knows the positions of followers. Raises Unavailable."""
    found = surveys.survey(seeds, timeout=timeout)
    node = found.leader or next(iter(found.samples), None)
    if node is None:
        raise Unavailable("no node answered")
    return LogUse(node=node, consumers=node.gc.consumers)


def named(use: LogUse, name: str) -> ConsumerStatus:
    """Return the consumer of that name: its own, a member's, or a uuid. Raises ConfigError."""
    by_name = [each for each in use.consumers if name in (each.name, _member_name(each))]
    if len(by_name) != 1:
        known = ", ".join(_member_name(each) or each.name for each in use.consumers)
        raise ConfigError(f"there is no log consumer named {name!r}", hint=f"it is for {known}")
    return by_name[0]


def refusal(use: LogUse, one: ConsumerStatus) -> ReadOnly | None:
    """Return why it cannot be released; None if it can."""
    if one.kind != ConsumerKind.REPLICA:
        return None
    name = _member_name(one)
    if name == use.node.name:
        return ReadOnly(f"{name} leads: its own log is not kept for itself alone")
    for peer in use.node.peers:
        if peer.name == name and peer.status == "up" and not peer.stranger:
            return ReadOnly(
                f"{name} is connected, and receives the log", hint="stop that node first"
            )
    return None


def denial(use: LogUse, one: ConsumerStatus, *, timeout: float) -> AccessDenied | None:
    """Return why the user who asks may not release it; None if he may, or there are no users."""
    answer = ask.value(use.node.address, RightsRequest(1), timeout=timeout)
    about = msgspec.convert(replies.read_map(answer), _OwnRights)
    held = about.rights.universe
    if not about.users or Privilege.SUPER in held or Privilege.MEMBER in held:
        return None
    if one.owner == about.user and Privilege.READ in held:
        return None
    whose = f"it belongs to user {one.owner!r}, and " if one.owner not in ("", about.user) else ""
    return AccessDenied(f"{whose}user {about.user!r} lacks the right {Need(Privilege.MEMBER)}")


def in_words(use: LogUse, one: ConsumerStatus) -> str:
    """Return in numbers what releasing it would do."""
    if one.let_go:
        return "it was let go already: nothing is kept for it"
    others = [each for each in use.consumers if each.name != one.name and not each.let_go]
    next_one = max((each.size for each in others), default=0)
    freed = max(0, one.size - next_one)
    return (
        f"the log behind {one.signature} ({one.size} bytes) is not kept for it any more, of which "
        f"{freed} bytes are kept for no other consumer; then it needs a snapshot to go on"
    )


def drop(use: LogUse, one: ConsumerStatus, *, timeout: float) -> None:
    """Release a member until it has caught up again; remove any other consumer.

    Raises NotLeader, ReadOnly for a member that is connected, NoAnswer when it is not known in time
    (again does no harm).
    """
    if not use.node.leads:
        raise NotLeader("there is no leader, so nothing can be changed")
    refused = refusal(use, one)
    if refused is not None:
        raise refused
    is_member = one.kind == ConsumerKind.REPLICA
    make = operations.let_go_consumer if is_member else operations.drop_consumer
    request = WriteRequest(1, b"", 0, 0, 0, [make(one.name)], timeout)
    hint = "`qsync member gc list` shows what is so"
    ask.change(use.node.address, request, timeout=timeout, hint=hint)


def _member_name(one: ConsumerStatus) -> str:
    return one.about if one.kind == ConsumerKind.REPLICA else ""
