"""What transcripts may look at: logs with their fates, acks, archives, a node in one line."""

from election.messages import Index
from qsync.record import Entry, Kind, decode
from tests.scenarios import words as said
from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.stage import Stage


@act
def log(stage: Stage, words: list[str]) -> None:
    """log [N...]: entries and fates: ? pending, + confirmed, - rolled back, ~ visible."""
    for me in [int(word) for word in words] or sorted(stage.actors):
        actor = stage.actors[me]
        last = actor.machine.ledger.log.last
        found = actor.machine.entries(Index(1), last)
        stage.say(f"{me}: " + " | ".join(_marked(actor, entry) for entry in found))


def _marked(actor: Actor, entry: Entry) -> str:
    ledger = actor.machine.ledger
    text = said.describe(entry, actor.core.state.schemas.head)
    if entry.kind not in (Kind.TXN, Kind.PROMOTE):
        return text
    if ledger.limbo.stretch_at(entry.index):
        return "-" + text
    if entry.index <= ledger.confirmed:
        return "+" + text
    return ("~" if entry.index <= ledger.limbo.visible(ledger.log.last) else "?") + text


@act
def acks(stage: Stage, words: list[str]) -> None:
    """acks N: how far everybody is, as leader N knows it (the limbo's vclock, in lsn)."""
    machine = stage.actors[int(words[0])].machine
    leader = machine.leader
    assert leader is not None
    reached = {machine.config.me: machine.ledger.written}
    reached |= {each.peer: each.match for each in leader.followers.values()}
    base = leader.promoted_at
    stage.say(str([max(0, int(reached[each]) - base) for each in sorted(reached)]))
    assert machine.ledger.log.last >= base


@act
def show(stage: Stage, words: list[str]) -> None:
    """show N: the node in one line."""
    stage.say(repr(stage.actors[int(words[0])].machine))


@act
def archive(stage: Stage, words: list[str]) -> None:
    """archive N: the tails cut off node N."""
    actor = stage.actors[int(words[0])]
    for tail in actor.log.archived():
        entries = " | ".join(said.describe(entry) for entry in decode(tail.raw))
        stage.say(f"{actor.me}: cut {entries}")
