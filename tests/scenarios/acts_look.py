"""What transcripts may look at: logs with their fates, acks, archives, a node in one line."""

import math

from election.messages import Index
from qsync.node.limbo_status import Neighbours, synchro
from qsync.record import Entry, EntryKind, decode
from qsync.vclock import describe, signature
from tests.scenarios import words as said
from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.stage import Stage

NEIGHBOURS = Neighbours(name=str, broken=lambda _: None, uptime=math.inf)
"""Everybody is called by its number, and nothing is known of connections."""


@act
def log(stage: Stage, words: list[str]) -> None:
    """log [N...]: entries and fates: ? pending, + confirmed, - rolled back, ~ visible."""
    for me in [int(word) for word in words] or sorted(stage.actors):
        actor = stage.actors[me]
        last = actor.machine.replicated_log.log.last
        found = actor.machine.entries(Index(1), last)
        stage.say(f"{me}: " + " | ".join(_marked(actor, entry) for entry in found))


def _marked(actor: Actor, entry: Entry) -> str:
    replicated_log = actor.machine.replicated_log
    text = said.describe(entry, actor.core.state.schemas.head)
    if entry.kind not in (EntryKind.TXN, EntryKind.PROMOTE):
        return text
    if replicated_log.limbo.stretch_at(entry.index):
        return "-" + text
    if entry.index <= replicated_log.confirmed:
        return "+" + text
    return (
        "~" if entry.index <= replicated_log.limbo.visible(replicated_log.log.last) else "?"
    ) + text


@act
def acks(stage: Stage, words: list[str]) -> None:
    """acks N: how far everybody is, as leader N knows it (the limbo's vclock, in lsn)."""
    machine = stage.actors[int(words[0])].machine
    leader = machine.leader
    assert leader is not None
    reached = {machine.config.me: machine.replicated_log.written}
    reached |= {each.peer: each.match for each in leader.followers.values()}
    base = leader.promoted_at
    stage.say(str([max(0, int(reached[each]) - base) for each in sorted(reached)]))
    assert machine.replicated_log.log.last >= base


@act
def show(stage: Stage, words: list[str]) -> None:
    """show N: the node in one line."""
    stage.say(repr(stage.actors[int(words[0])].machine))


@act
def archive(stage: Stage, words: list[str]) -> None:
    """archive N: the tails cut off node N, and how much of them had been answered."""
    actor = stage.actors[int(words[0])]
    for tail in actor.log.archived():
        entries = " | ".join(said.describe(entry) for entry in decode(tail.raw))
        answered = f"; {tail.answered} of them answered already" if tail.answered else ""
        stage.say(f"{actor.me}: cut {entries}{answered}")


@act
def queue(stage: Stage, words: list[str]) -> None:
    """queue N...: the limbo as the status of each node shows it."""
    for word in words:
        actor = stage.actor(word)
        queue = synchro(actor.machine, NEIGHBOURS).queue
        text = f"len={queue.len} size={queue.size} owner={queue.owner} age={queue.age:g}"
        text += f" unconfirmed={queue.unconfirmed}"
        if queue.waiting is not None:
            acked, missing = queue.waiting.acked_by, [each.label for each in queue.missing]
            text += f" oldest={queue.waiting.index}"
            text += f" acked_by=[{', '.join(map(str, acked))}] missing=[{', '.join(missing)}]"
        stage.say(f"{actor.me}: {text}")


@act
def lag(stage: Stage, words: list[str]) -> None:
    """lag N: how many entries each follower lacks, as leader N knows, and when it was heard."""
    machine = stage.actor(words[0]).machine
    assert machine.leader is not None
    for each in machine.leader.followers.values():
        behind = machine.replicated_log.log.last - each.match
        idle = machine.replicated_log.now - each.heard_at
        stage.say(f"{machine.config.me}: node {each.peer} lag={behind} idle={idle:g} s")


@act
def vclock(stage: Stage, words: list[str]) -> None:
    """vclock N...: the last lsn of every leader in the log of each, and their sum."""
    for word in words:
        found = stage.actor(word).machine.replicated_log.log.vclock()
        stage.say(f"{word}: vclock {describe(found)} signature {signature(found)}")
