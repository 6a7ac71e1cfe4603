"""What the nodes' timelines say about the past: events merged by time, and who led when and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from admin import fields
from admin.fields import Answer

_GRAVE = frozenset({"split_brain", "disk_failed", "fold_failed", "two_leaders", "cut", "overruled"})
_UNEASY = frozenset(
    {"rollback", "stepped_down", "fenced", "leader_gone", "leader_silent", "promote_failed"}
    | {"transfer_failed", "hand_over_failed", "hand_over_refused"}
)
_QUIET = frozenset({"votes", "pre_vote"})
"""Events that only repeat what others say better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened on a node. `level`: E, W or I."""

    time: float
    node: str
    name: str
    level: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """One term with a leader. `took`: seconds from the first sign of trouble to the election."""

    term: int
    leader: str
    since: float
    reason: str
    took: float | None


def merged(events: Mapping[int, Iterable[Answer]], names: Mapping[int, str]) -> list[Event]:
    """The events of all nodes, oldest first."""
    found = [
        _event(each, names.get(id, str(id)), names)
        for id, told in events.items()
        for each in told
        if fields.text(each, "event") not in _QUIET
    ]
    return sorted(found, key=lambda each: each.time)


def leaderships(
    events: Mapping[int, Iterable[Answer]], names: Mapping[int, str]
) -> list[Leadership]:
    """Every term that a node says it won, newest first."""
    found: dict[int, Leadership] = {}
    for id, told in events.items():
        for each in _won(list(told), names.get(id, str(id))):
            found[each.term] = each
    return [found[term] for term in sorted(found, reverse=True)]


def _won(told: list[Answer], name: str) -> Iterable[Leadership]:
    """A node's own account. What it noted since it last led or followed tells why."""
    signs: list[Answer] = []
    for each in told:
        what = fields.text(each, "event")
        if what == "elected":
            reason, since = _reason(signs)
            at = _time(each)
            yield Leadership(
                term=fields.integer(each, "term"),
                leader=name,
                since=at,
                reason=reason,
                took=at - since if since is not None else None,
            )
            signs = []
        elif what in {"started", "follows"}:
            signs = [each]
        else:
            signs.append(each)


def _reason(signs: list[Answer]) -> tuple[str, float | None]:
    """In words, and since when."""
    for each in signs:
        what = fields.text(each, "event")
        if what == "leader_gone":
            return "the leader's process was gone", _time(each)
        if what == "leader_silent":
            return "the leader was silent", _time(each)
        if what == "promote" and "index" not in each:
            return "promoted by an operator", _time(each)
        if what == "campaign" and each.get("promoted"):
            return "the leader handed over", _time(each)
    if any(fields.text(each, "event") == "started" for each in signs):
        return "after a start", None
    return "nobody led", None


def _event(told: Answer, node: str, names: Mapping[int, str]) -> Event:
    name = fields.text(told, "event")
    level = "E" if name in _GRAVE else "W" if name in _UNEASY else "I"
    rest = {key: value for key, value in told.items() if key not in {"time", "event"}}
    words = " ".join(f"{key}={_word(key, value, names)}" for key, value in rest.items())
    return Event(time=_time(told), node=node, name=name, level=level, words=words)


def _word(key: str, value: object, names: Mapping[int, str]) -> str:
    if key in {"leader", "candidate", "to", "by"} and isinstance(value, int):
        return names.get(value, str(value))
    return str(value)


def _time(told: Answer) -> float:
    try:
        return datetime.fromisoformat(fields.text(told, "time")).timestamp()
    except ValueError:
        return 0.0
