"""The past by the nodes' timelines: events merged by time, and the leaders with reasons."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from admin.cluster import fields
from admin.cluster.fields import Answer
from qsync.happenings import Gravity, sentence, severity_of, why_in_words

_LEVELS = {Gravity.ERROR: "E", Gravity.WARNING: "W", Gravity.INFO: "I"}
"""The events that are shown; the others only repeat them."""
_NODES = frozenset({"leader", "candidate", "to", "by", "from", "replica"})
"""Fields that hold the id of a node."""
_LISTS = frozenset({"voters", "nays"})
"""Fields that hold ids of several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEvent:
    """One thing that happened on a node. `level`: E, W or I.

    `words`: its fields, `key=value`; `sentence`: event and fields as a sentence, without the node.
    """

    time: float
    node: str
    name: str
    level: str
    words: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """One term with a leader. `took`: seconds from the first sign of trouble to the election.

    `ended`: when the leader was missed or gave up; None while it leads.
    """

    term: int
    leader: str
    since: float
    reason: str
    took: float | None
    ended: float | None = None


def merged(events: Mapping[int, Iterable[Answer]], names: Mapping[int, str]) -> list[PastEvent]:
    """The events of all nodes, oldest first."""
    found = [
        _event(each, names.get(id, str(id)), names)
        for id, timeline in events.items()
        for each in timeline
        if severity_of(fields.text(each, "event")) in _LEVELS
    ]
    return sorted(found, key=lambda each: each.time)


def leaderships(
    events: Mapping[int, Iterable[Answer]], names: Mapping[int, str]
) -> list[Leadership]:
    """Every term that a node won or led, by its own report or by others'; newest first."""
    accounts = {id: list(timeline) for id, timeline in events.items()}
    found: dict[int, Leadership] = {}
    for timeline in accounts.values():
        for each in _followed(timeline, names):
            earlier = found.get(each.term)
            found[each.term] = each if earlier is None or each.since < earlier.since else earlier
    for id, timeline in accounts.items():
        for each in _won(timeline, names.get(id, str(id))):
            found[each.term] = each
    last = _ends(event for timeline in accounts.values() for event in timeline)
    return [replace(found[term], ended=last.get(term)) for term in sorted(found, reverse=True)]


def _followed(timeline: list[Answer], names: Mapping[int, str]) -> Iterable[Leadership]:
    """The term as a follower knows it: the leader itself may be silent now."""
    for each in timeline:
        leader, term = fields.integer(each, "leader"), fields.integer(each, "term")
        if fields.text(each, "event") == "follows" and leader and term:
            yield Leadership(
                term=term,
                leader=names.get(leader, str(leader)),
                since=_time(each),
                reason="its followers say so",
                took=None,
            )


def _ends(timeline: Iterable[Answer]) -> dict[int, float]:
    """When the leader of a term was missed for the last time, unless it was seen again since."""
    ends: dict[int, float] = {}
    for each in sorted(timeline, key=_time):
        what, term = fields.text(each, "event"), fields.integer(each, "term")
        if what in {"leader_gone", "leader_silent", "stepped_down"}:
            ends[term] = _time(each)
        elif what in {"follows", "elected"}:
            ends.pop(term, None)
    return ends


def _won(timeline: list[Answer], name: str) -> Iterable[Leadership]:
    """A node's own report. Its events since it last led or followed contain the reason."""
    signs: list[Answer] = []
    for each in timeline:
        what = fields.text(each, "event")
        if what == "elected":
            reason, since = _reason(signs)
            at = _time(each)
            yield Leadership(
                term=fields.integer(each, "term"),
                leader=name,
                since=at,
                reason=reason,
                took=None if since is None else max(0.0, at - since),
            )
            signs = []
        elif what in {"started", "follows"}:
            signs = [each]
        else:
            signs.append(each)


def _reason(signs: list[Answer]) -> tuple[str, float | None]:
    """The reason in words, and since when."""
    for each in signs:
        what = fields.text(each, "event")
        if what == "leader_gone":
            return "the leader's process was gone", _time(each)
        if what == "leader_silent":
            return "the leader was silent", _time(each)
        if what == "leader_resigned":
            return "the leader resigned", _time(each)
        if what == "stepped_down":
            return f"it had stepped down: {why_in_words(fields.text(each, 'why'))}", _time(each)
        if what == "promote" and "index" not in each:
            return "promoted by an operator", _time(each)
        if what == "campaign" and each.get("promoted"):
            return "the leader handed over", _time(each)
    if any(fields.text(each, "event") == "started" for each in signs):
        return "after a start", None
    return "no leader was known", None


def _event(answer: Answer, node: str, names: Mapping[int, str]) -> PastEvent:
    name = fields.text(answer, "event")
    level = _LEVELS[severity_of(name)]
    rest = {key: value for key, value in answer.items() if key not in {"time", "event"}}
    said = {key: _word(key, value, names) for key, value in rest.items()}
    return PastEvent(
        time=_time(answer),
        node=node,
        name=name,
        level=level,
        words=" ".join(f"{key}={value}" for key, value in said.items()),
        sentence=sentence(name, {key: said[key] for key in rest if rest[key] is not None}),
    )


def _word(key: str, value: object, names: Mapping[int, str]) -> str:
    match value:
        case int() if key in _NODES:
            return _name(value, names)
        case list() if key in _LISTS:
            return ", ".join(_name(each, names) for each in value) or "nobody"
        case list():
            return ", ".join(map(str, value)) or "none"
        case dict():
            return ", ".join(f"{name}={inside}" for name, inside in value.items()) or "none"
        case _:
            return str(value)


def _name(id: object, names: Mapping[int, str]) -> str:
    return names.get(id, str(id)) if isinstance(id, int) else str(id)


def _time(answer: Answer) -> float:
    try:
        return datetime.fromisoformat(fields.text(answer, "time")).timestamp()
    except ValueError:
        return 0.0
