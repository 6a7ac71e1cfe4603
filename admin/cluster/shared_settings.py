"""Settings of the whole cluster: what is set, what a change would do, and making it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from admin.cluster import ask, fields, surveys
from election.quorum import Quorum
from qsync import settings
from qsync.client import operations
from qsync.config.aliases import canonical
from qsync.errors import ConfigError, NotLeader
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import InfoRequest, WriteRequest

PREFERRED: Final = "election.preferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting: the leader's present value, whether the cluster shares it, the new value."""

    key: str
    now: str
    shared: bool
    then: str | None
    """None removes the shared value: every node's own file counts again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSettings:
    """The leader's answer. `values`: those in force; `shared`: those that the cluster shares."""

    leader: NodeStatus
    values: Mapping[str, str]
    shared: Mapping[str, str]


def look(seeds: Sequence[str], *, timeout: float) -> SharedSettings:
    """Ask the leader. Raises NotLeader without one."""
    leader = surveys.survey(seeds, timeout=timeout).leader
    if leader is None:
        raise NotLeader("there is no leader, so the shared settings are unknown")
    told = replies.read_map(ask.value(leader.address, InfoRequest(1, "settings"), timeout=timeout))
    values = {}
    for key in settings.SETTINGS:
        section, _, option = key.rpartition(".")
        values[key] = fields.text(fields.mapping(told, section), option)
    shared = {str(k): str(v) for k, v in fields.mapping(told, "shared").items()}
    return SharedSettings(leader=leader, values=values, shared=shared)


def plan(found: SharedSettings, given: Mapping[str, str | None]) -> list[SettingChange]:
    """The settings that would change. Raises ConfigError for invalid names and values.

    Tarantool's names are understood; `None` as a text removes a shared value.
    """
    changes: list[SettingChange] = []
    wrong: list[str] = []
    for name, text in given.items():
        key = canonical(name)
        try:
            value = settings.parse(key, text if text is not None else found.values.get(key, ""))
            _check_quorum(found, value)
            if key == PREFERRED:
                _check_members(found, text or "")
        except ValueError as error:
            said = name if text is None else f"{name} = {text!r}"
            wrong.append(f"{said}: {error}")
            continue
        same = text == found.shared.get(key)
        if not same:
            shared = key in found.shared
            changes.append(SettingChange(key=key, now=found.values[key], shared=shared, then=text))
    if wrong:
        raise ConfigError("\n".join(wrong), hint="nothing was changed")
    return changes


def _check_quorum(found: SharedSettings, value: object) -> None:
    why = value.misfit(len(found.leader.nodes)) if isinstance(value, Quorum) else None
    if why is not None:
        raise ValueError(why)


def _check_members(found: SharedSettings, names: str) -> None:
    unknown = no_members(found.leader, names)
    if unknown:
        there = ", ".join(name for _, name, _ in found.leader.nodes)
        raise ValueError(f"no member is called {', '.join(unknown)}; there are {there}")


def no_members(leader: NodeStatus, names: str) -> list[str]:
    """Those of the names or ids, with commas between them, that no member has."""
    known = {said for id, name, _ in leader.nodes for said in (name, str(id))}
    return [name for each in names.split(",") if (name := each.strip()) and name not in known]


def consequence(found: SharedSettings, changes: Sequence[SettingChange]) -> str | None:
    """The effect of a new quorum on the next commit, in numbers."""
    text = next((each.then for each in changes if each.key == "replication.synchro_quorum"), None)
    if text is None:
        return None
    voters = len(found.leader.nodes)
    quorum = settings.parse("replication.synchro_quorum", text)
    assert isinstance(quorum, Quorum)
    needed = quorum.of(voters)
    there = 1 + sum(each.counts for each in found.leader.peers)
    words = f"{needed} of {voters} voters must have a transaction; {there} are in touch"
    pending = found.leader.synchro.queue.len
    if there < needed:
        return f"{words}: commits would wait for {needed - there} more"
    return f"{words}" + (f"; {pending} pending are counted anew" if pending else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReceipt:
    """The place of the change in the log, and how many voters had it then."""

    term: int
    index: int
    acks: int


def change(
    found: SharedSettings, changes: Sequence[SettingChange], *, timeout: float
) -> ChangeReceipt:
    """Apply all or none; returns when a quorum (the new one, if it changes) has them.

    Raises NoAnswer when that is not known in time. It opens no session first, because that
    needs the quorum, which may be the setting to change. Setting twice does no harm.
    """
    operation = operations.change_settings({each.key: each.then for each in changes})
    request = WriteRequest(1, b"", 0, 0, 0, [operation], timeout)
    hint = "`qsync config cluster` shows what counts"
    told = ask.change(found.leader.address, request, timeout=timeout, hint=hint)
    term, index, _, acks = (each for each in told[:4] if isinstance(each, int))
    return ChangeReceipt(term=term, index=index, acks=acks)
