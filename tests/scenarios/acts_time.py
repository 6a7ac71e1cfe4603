"""Time: it passes for everybody at once, with or without the timers that come due."""

from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.stage import Stage


@act
def wait(stage: Stage, words: list[str]) -> None:
    """wait SECONDS: time passes, no timer comes; clients whose time is over are told."""
    stage.now += float(words[0])
    for actor in stage.running:
        actor.core.clock(stage.now)
        actor.desk.requests.expire()
        actor.settle()


@act
def batch(stage: Stage, words: list[str]) -> None:
    """batch N begin|end: all that happens to N in between is one batch of its loop."""
    actor = stage.actor(words[0])
    if words[1] == "begin":
        stage.batching.add(int(actor.me))
    else:
        stage.batching.remove(int(actor.me))
        actor.settle()


@act
def timer(stage: Stage, words: list[str]) -> None:
    """timer N KIND: that timer of node N comes."""
    stage.timer(stage.actor(words[0]), words[1])


@act
def beat(stage: Stage, words: list[str]) -> None:
    """beat N: a heartbeat and the deferred CONFIRM of leader N, delivered."""
    for kind in ("confirm", "heartbeat"):
        stage.timer(stage.actor(words[0]), kind)
    stage.deliver_all()


@act
def run(stage: Stage, words: list[str]) -> None:
    """run SECONDS: time passes with all timers in order; everything is delivered at once.

    Where the dice would choose, the nodes choose moments spread evenly, the lower number earlier.
    """
    end = stage.now + float(words[0])
    while True:
        due = min((_due(actor) for actor in stage.running if actor.timers), default=None)
        if due is None or due[0] > end:
            break
        stage.now = max(stage.now, due[0])
        stage.timer(stage.actors[due[1]], due[2])
        stage.deliver_all()
        _tell_the_late(stage)
    stage.now = end
    _tell_the_late(stage)


def _due(actor: Actor) -> tuple[float, int, str]:
    """When the next timer of a node comes, whose it is, and of which kind."""
    share = actor.me / (len(actor.stage.actors) + 1)
    times = {kind: a + share * (b - a) for kind, (a, b) in actor.timers.items()}
    kind = min(times, key=lambda each: (times[each], each))
    return times[kind], int(actor.me), kind


def _tell_the_late(stage: Stage) -> None:
    for actor in stage.running:
        actor.core.clock(stage.now)
        actor.desk.requests.expire()
        actor.settle()
