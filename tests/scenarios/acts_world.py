"""What happens around the nodes: wires, disks, crashes, time."""

from tests.scenarios.acts import act
from tests.scenarios.stage import Stage

# ------------------------------------------------------------------------------------- wires


@act
def deliver(stage: Stage, words: list[str]) -> None:
    """deliver [A B [COUNT]]: what waits on one wire, or everything until it is quiet."""
    if words:
        count = int(words[2]) if len(words) > 2 else None
        stage.deliver((int(words[0]), int(words[1])), count)
    else:
        stage.deliver_all()


@act
def drop(stage: Stage, words: list[str]) -> None:
    """drop A B: what waits on the wire is lost."""
    stage.wires[(int(words[0]), int(words[1]))].clear()


@act
def cut(stage: Stage, words: list[str]) -> None:
    """cut A B | cut A: from now on nothing passes between them (or between A and all)."""
    for link in stage.links(words):
        stage.cut.add(link)
        stage.wires[link].clear()


@act
def heal(stage: Stage, words: list[str]) -> None:
    """heal [A [B]]: connections stand again, as new ones."""
    for link in stage.links(words) if words else sorted(stage.cut):
        if link in stage.cut:
            stage.cut.discard(link)
            stage.connect(*link)
    stage.settle()


# ---------------------------------------------------------------------------- crashes and disks


@act
def crash(stage: Stage, words: list[str]) -> None:
    """crash N: what was not written is gone, and so is everything in memory."""
    actor = stage.actors[int(words[0])]
    actor.up = False
    actor.log.crash()
    actor.spaces.crash(system=False)
    for link in stage.links(words):
        stage.wires[link].clear()
        if link[1] == actor.me:
            stage.disconnect(*link, refused=False)


@act
def restart(stage: Stage, words: list[str]) -> None:
    """restart N: from its disk; connections stand again."""
    actor = stage.actors[int(words[0])]
    actor.core, actor.up = actor.boot(), True
    for link in stage.links(words):
        if link not in stage.cut and stage.actors[link[0]].up and stage.actors[link[1]].up:
            stage.connect(*link)
    stage.settle()


@act
def disk(stage: Stage, words: list[str]) -> None:
    """disk N slow|fast: writes wait, or complete (the waiting one at once)."""
    actor = stage.actor(words[0])
    actor.slow = words[1] == "slow"
    if not actor.slow:
        actor.flush()
        actor.settle()


# -------------------------------------------------------------------------------------- time


@act
def wait(stage: Stage, words: list[str]) -> None:
    """wait SECONDS: time passes, no timer comes."""
    stage.now += float(words[0])
    for actor in stage.running:
        actor.core.clock(stage.now)
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
