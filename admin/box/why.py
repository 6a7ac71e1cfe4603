"""Explains why a node is read-only, a transaction waits, and what promote would do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from admin.cluster import surveys
from admin.cluster.surveys import ClusterSurvey
from qsync.status.limbo import MissingAck, OldestPending
from qsync.status.record import BoxInfo, NodeStatus
from qsync.units import how_many

SCHEMA = "qsync/why/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyAnswer:
    """An answer: one sentence, the facts behind it, and what can be done."""

    question: str
    sentence: str
    facts: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)

    def as_members(self) -> dict[str, object]:
        """Return the answer as JSON members."""
        return {
            "schema": SCHEMA,
            "question": self.question,
            "sentence": self.sentence,
            "facts": list(self.facts),
            "next": list(self.next),
            "numbers": dict(self.numbers),
        }


def read_only(info: BoxInfo) -> WhyAnswer:
    """Explain why the node takes no writes, with every reason."""
    numbers: dict[str, object] = {
        "node": info.name,
        "term": info.election.term,
        "leader": info.election.leader,
        "quorum": info.synchro.quorum,
    }
    if not info.ro:
        return WhyAnswer(
            question=f"why is {info.name} read-only",
            sentence=f"{info.name} is not read-only: it leads term {info.election.term}.",
            numbers=numbers,
        )
    first = info.ro_reasons[0].text if info.ro_reasons else info.ro_reason or "it does not say"
    return WhyAnswer(
        question=f"why is {info.name} read-only",
        sentence=f"{info.name} is read-only ({info.ro_reason}): {first}.",
        facts=tuple(f"{each.why}: {each.text}" for each in info.ro_reasons),
        next=tuple(dict.fromkeys(_lifts(each.lifts, info) for each in info.ro_reasons)),
        numbers=numbers,
    )


def _lifts(text: str, info: BoxInfo) -> str:
    leader = info.election.leader_name
    return text.replace("the leader", f"the leader, {leader}") if leader else text


def waiting(leader: BoxInfo | None, found: ClusterSurvey) -> WhyAnswer:
    """Explain why the oldest pending transaction waits: missing acks, and since when."""
    question = "why is this transaction waiting"
    if leader is None:
        return _waiting_without_leader(question, found)
    queue = leader.synchro.queue
    oldest = queue.waiting
    if oldest is None:
        return WhyAnswer(
            question=question,
            sentence=f"Nothing waits: the limbo of {leader.name} is empty.",
            numbers={"len": 0, "owner": queue.owner, "term": queue.term},
        )
    if oldest.acks is None:  # it led when it was asked, and does so no more
        return _waiting_without_leader(question, found)
    acks = oldest.acks
    needed = max(0, oldest.quorum - acks)
    lacking = ", ".join(each.label for each in oldest.missing) or "nobody"
    sentence = (
        f"The oldest of {queue.len} (term {oldest.term}, lsn {oldest.lsn}) has waited "
        f"{oldest.age:.3g} s of {leader.synchro.timeout:g} s: {acks} of {oldest.quorum} acks, "
        f"{needed} more needed from {lacking}."
    )
    return WhyAnswer(
        question=question,
        sentence=sentence,
        facts=(
            f"acked by {', '.join(str(name) for name in oldest.acked_by) or 'nobody'}",
            *(_lack(each, found) for each in oldest.missing),
        ),
        next=_unblock(oldest, leader),
        numbers={
            "len": queue.len,
            "size": queue.size,
            "age": oldest.age,
            "timeout": leader.synchro.timeout,
            "acks": acks,
            "quorum": oldest.quorum,
            "needed": needed,
            "index": oldest.index,
            "term": oldest.term,
            "lsn": oldest.lsn,
        },
    )


def _waiting_without_leader(question: str, found: ClusterSurvey) -> WhyAnswer:
    pending = {
        each.name: each.synchro.queue.len for each in found.samples if each.synchro.queue.len
    }
    held = ", ".join(f"{name} holds {count}" for name, count in pending.items())
    majority = found.voters // 2 + 1
    answering = len(found.samples)
    if answering < majority:
        names = ", ".join(each.name for each in found.silent)
        step = f"bring back {majority - answering} of {names}"
    else:
        step = "wait for the election, or `qsync promote` one of those that answer"
    return WhyAnswer(
        question=question,
        sentence=(
            f"Nobody leads, so nothing can be confirmed: {answering} of {found.voters} voters "
            f"answer, {majority} make a majority; {held or 'nothing is pending'}."
        ),
        next=(step,),
        numbers={"answering": answering, "voters": found.voters, "pending": pending},
    )


def _lack(each: MissingAck, found: ClusterSurvey) -> str:
    idle = "" if each.idle is None else f", last heard {each.idle:.3g} s ago"
    # The leader knows how far it came; only the node itself knows what holds it up.
    why = surveys.trouble_of(found, each.id) or each.why
    return f"{each.label} lacks it by {how_many(each.behind, 'entry')}: {why}{idle}"


def _unblock(oldest: OldestPending, leader: BoxInfo) -> tuple[str, ...]:
    away = [each.label for each in oldest.missing if not each.connected]
    steps = [f"start or reconnect {' or '.join(away)}"] if away else []
    if leader.synchro.policy == "rollback":
        left = max(0.0, leader.synchro.timeout - oldest.age)
        steps.append(f"else it is rolled back in {left:.3g} s (replication_synchro_timeout)")
    else:
        steps.append("`box.ctl.rollback_synchro_queue()` gives it up, with all behind it")
    return tuple(steps)


def changes_nothing(plan: Mapping[str, object]) -> bool:
    """Return whether a command would change nothing. `plan`: the numbers of a dry run."""
    if plan.get("refused"):
        return False
    same = plan.get("term") == plan.get("term_after") and not plan.get("confirms", 0)
    return same or plan.get("leads") is False


def promotion(
    what: str, node: NodeStatus, found: ClusterSurvey, plan: Mapping[str, object]
) -> WhyAnswer:
    """Explain what promote, demote or clear_synchro_queue would do, and who can lead."""
    refused = plan.get("refused")
    term, after = plan.get("term"), plan.get("term_after")
    pending, confirms = plan.get("pending", 0), plan.get("confirms", 0)
    effect = (
        f"term {term} -> {after}; {pending} pending, {confirms} of them confirmed first, "
        f"{plan.get('rolls_back', 0)} rolled back"
    )
    if refused:
        sentence = f"{what} of {node.name} would be refused: {refused}."
    elif changes_nothing(plan) and plan.get("leads") is False:
        sentence = f"{what} of {node.name} would change nothing: it does not lead."
    elif len(found.samples) < found.voters // 2 + 1:
        sentence = f"{what} of {node.name} would fail: no majority answers; with one: {effect}."
    elif changes_nothing(plan):
        sentence = f"{what} of {node.name} would change nothing: {effect}."
    else:
        sentence = f"{what} of {node.name} would do this: {effect}."
    leader = found.leader
    if leader is not None and leader.name != node.name and what != "demote" and not refused:
        sentence += f" {leader.name} stops writing, brings {node.name} up, and hands over."
    return WhyAnswer(
        question=f"what would {what} of {node.name} do",
        sentence=sentence,
        facts=tuple(_tests(found)),
        next=tuple(_steps(what, node, found, refused=bool(refused))),
        numbers=dict(plan),
    )


def _tests(found: ClusterSurvey) -> Iterable[str]:
    """Return every member with the reasons why it cannot lead."""
    last = max((each.last for each in found.samples), default=0)
    for each in found.samples:
        against = []
        if each.mode == "voter":
            against.append("election mode is voter")
        if each.recruit:
            against.append("it has not caught up since its directory was empty")
        if each.status == "split_brain":
            against.append("split brain")
        if each.status == "superseded":
            against.append("superseded")
        if each.last < last:
            against.append(f"{how_many(last - each.last, 'entry')} behind the longest log")
        verdict = "; ".join(against) if against else "eligible"
        yield f"{each.name} (term {each.term}, last {each.last}): {verdict}"
    for silent in found.silent:
        yield f"{silent.name or silent.address}: does not answer"


def _steps(what: str, node: NodeStatus, found: ClusterSurvey, *, refused: bool) -> Iterable[str]:
    majority = found.voters // 2 + 1
    if len(found.samples) < majority:
        names = ", ".join(each.name for each in found.silent)
        yield f"bring back {majority - len(found.samples)} of {names}: no majority answers"
    if not refused:
        return
    if what == "demote":
        leader = found.leader
        yield f"demote {leader.name}, which leads" if leader is not None else "no leader"
        return
    able = [
        each.name
        for each in found.samples
        if each.name != node.name and each.mode != "voter" and not each.recruit
    ]
    if able:
        yield f"promote {' or '.join(able)} instead"
