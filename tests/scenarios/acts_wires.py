"""The wires between the nodes."""

from tests.scenarios.acts import act
from tests.scenarios.stage import Stage


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


@act
def sever(stage: Stage, words: list[str]) -> None:
    """sever A B | sever A: as `cut`, and both sides learn that their connections are gone."""
    cut(stage, words)
    for here, there in stage.links(words):
        actor = stage.actors[here]
        if actor.up:
            actor.core.clock(stage.now)
            stage.disconnect(here, there, refused=False)
            actor.settle()
