"""The effect of a configuration change: the leader's numbers, and a sentence."""

from collections.abc import Mapping
from dataclasses import replace

from admin.cluster import ask, fields
from admin.cluster.membership import OUT, SILENT, STRANGER, VOTER, WantedChange
from admin.cluster.surveys import ClusterSurvey
from qsync.member import MemberAction, MemberRole
from qsync.units import how_many
from qsync.wire import replies

_NUMBERS = ("voters", "voters_after", "quorum", "quorum_after", "heard", "lag")


def would(found: ClusterSurvey, wanted: WantedChange) -> dict[str, object]:
    """The numbers before and after; `refused` is the reason of a refusal.

    `heard`: how many of the voters after it the leader hears now. `lag`: entries that the node
    lacks. `changes`: how many entries of the log it takes.
    """
    action, one = wanted.action, wanted.one
    numbers: dict[str, object] = {
        "node": one.name,
        "action": action.value,
        "standing": one.standing,
        "changes": _changes(wanted),
        "refused": None,
        **dict.fromkeys(_NUMBERS),
    }
    if action is MemberAction.MOVE:
        numbers |= {"from": one.address, "to": wanted.address}
    if action is MemberAction.REPLACE and one.standing == STRANGER:
        numbers |= {"out": one.named, "in": one.runs}
    if found.leader is None:
        return numbers | {
            "refused": "there is no leader, and only a leader changes the configuration"
        }
    step = wanted
    if action is MemberAction.ADD and one.role == MemberRole.JOINING:
        step = replace(wanted, action=MemberAction.SET_ROLE)  # only its role is left to change
    told = _asked(found.leader.address, step)
    numbers |= {name: told.get(name) for name in (*_NUMBERS, "refused")}
    if action is MemberAction.ADD and wanted.role is MemberRole.VOTER and not wanted.force:
        # It is a learner until it has the log, so missing entries are no reason to refuse.
        first = _asked(found.leader.address, replace(wanted, role=MemberRole.JOINING))
        numbers["refused"] = first.get("refused")
    if not numbers["changes"] and action is not MemberAction.REPLACE:
        numbers["refused"] = None
    return numbers


def _asked(leader: str, wanted: WantedChange) -> Mapping[str, object]:
    return replies.read_map(ask.value(leader, wanted.request(timeout=0.0, dry_run=True)))


def in_words(numbers: Mapping[str, object]) -> str:
    """These numbers as a sentence."""
    if numbers["refused"]:
        return f"refused: {numbers['refused']}"
    if not numbers["changes"]:
        return f"nothing: it is a {numbers['standing']} already"
    if numbers["action"] == MemberAction.MOVE:
        return f"dialled at {numbers['to']} instead of {numbers['from']}"
    before, after = numbers["voters"], numbers["voters_after"]
    count = how_many(fields.integer(numbers, "changes"), "change")
    if numbers.get("in"):
        words = (
            f"{str(numbers['out'])[:8]} goes out, {str(numbers['in'])[:8]} comes in: {count} of "
            f"the configuration, voters {before} -> {after} -> {before}"
        )
    else:
        words = (
            f"{count} of the configuration, voters {before} -> {after}; "
            f"{numbers['quorum_after']} of them must have a transaction ({numbers['quorum']} now), "
            f"{numbers['heard']} are heard"
        )
    lag = fields.integer(numbers, "lag") if numbers["lag"] else 0
    return words + (f"; it lacks {how_many(lag, 'entry')}, and waits for them first" if lag else "")


def _changes(wanted: WantedChange) -> int:
    one, role = wanted.one, wanted.role
    match wanted.action:
        case MemberAction.ADD:
            return (one.role is None) + (role is MemberRole.VOTER and one.role != VOTER)
        case MemberAction.SET_ROLE:
            return int(one.role != role.value)
        case MemberAction.REPLACE:
            if one.standing not in {STRANGER, SILENT, OUT}:
                return 0
            return 1 if one.named is None else 2
        case _:
            return 1
