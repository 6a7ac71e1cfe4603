"""The cluster, its leaders, its clients at their simplest, and what an operator may ask."""

from collections.abc import Callable
from dataclasses import replace

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import parse
from election.roles import ElectionMode
from qsync import features
from qsync.core.config import CoreConfig
from qsync.core.inputs import DemoteAsked, PromoteAsked, RollbackAsked
from qsync.data.request import Request
from qsync.options.core_options import EnableFeatures
from tests.scenarios import words as said
from tests.scenarios.acts import act
from tests.scenarios.stage import Stage

OPTIONS: dict[str, Callable[[CoreConfig, str], CoreConfig]] = {
    "quorum": lambda config, word: replace(config, synchro_quorum=parse(word)),
    "policy": lambda config, word: replace(config, synchro_policy=word),
    "timeout": lambda config, word: replace(config, synchro_timeout=float(word)),
    "election_timeout": lambda config, word: replace(config, election_timeout=float(word)),
    "replication_timeout": lambda config, word: replace(config, replication_timeout=float(word)),
    "mode": lambda config, word: replace(config, mode=ElectionMode(word)),
    "fencing": lambda config, word: replace(config, fencing=Fencing(word)),
    "read_only": lambda config, word: replace(config, read_only=word == "true"),
    "batch": lambda config, word: replace(config, append_entries_max=int(word)),
    "append_bytes": lambda config, word: replace(config, append_bytes_max=int(word)),
    "queue_entries": lambda config, word: replace(config, queue_entries_max=int(word)),
    "queue_bytes": lambda config, word: replace(config, queue_bytes_max=int(word)),
    "preferred": lambda config, word: replace(config, preferred=tuple(word.split(","))),
    "preferred_delay": lambda config, word: replace(config, preferred_delay=float(word)),
    "replace": lambda config, word: replace(config, replace=word),
    "features": lambda config, word: replace(config, features=features.parse(word)),
    "enable_features": lambda config, word: replace(config, enable_features=EnableFeatures(word)),
}
"""What `cluster` takes as `option=value`."""


@act
def cluster(stage: Stage, words: list[str]) -> None:
    """cluster N [option=value ...]: nodes that know each other, without a leader."""
    voters = tuple(Replica(each) for each in range(1, int(words[0]) + 1))
    stage.config = replace(stage.config, voters=voters)
    for word in words[1:]:
        name, _, value = word.partition("=")
        stage.config = OPTIONS[name](stage.config, value)
    for each in voters:
        stage.enter(each)
    for a in voters:
        for b in voters:
            if a != b:
                stage.connect(a, b)
    stage.settle()
    stage.said = []


@act
def elect(stage: Stage, words: list[str]) -> None:
    """elect N: N is promoted, everything delivered; who does not lead any more is given up."""
    me = int(words[0])
    leader = stage.actors[me].machine.raft.leader
    gone = leader and (
        (me, leader) in stage.cut
        or not stage.actors[leader].up
        or stage.actors[leader].machine.leader is None
    )
    if gone:
        stage.now += 2 * stage.config.election_timeout
    promote(stage, words)
    if gone:
        stage.timer(stage.actor(words[0]), "promotion")
    stage.deliver_all()


@act
def promote(stage: Stage, words: list[str]) -> None:
    """promote N: the operator asks; nothing is delivered yet."""
    actor = stage.actor(words[0])
    actor.core.step(PromoteAsked(ticket=actor.ticket("promote")))
    actor.settle()


@act
def demote(stage: Stage, words: list[str]) -> None:
    """demote N [TO]: the operator asks N to stop leading, in favour of TO or of the best other."""
    actor = stage.actor(words[0])
    to = Replica(int(words[1])) if len(words) > 1 else None
    actor.core.step(DemoteAsked(ticket=actor.ticket("demote"), to=to))
    actor.settle()


@act
def rollback(stage: Stage, words: list[str]) -> None:
    """rollback N: the operator rolls the queue of N back."""
    actor = stage.actor(words[0])
    actor.core.step(RollbackAsked(ticket=actor.ticket("rollback")))
    actor.settle()


@act
def put(stage: Stage, words: list[str]) -> None:
    """put N NAME... [async]: clients of node N, one transaction each; one batch.

    A NAME is `x` or `x=5`: a tuple of the space `sync`, or of the space `async`.
    """
    actor = stage.actor(words[0])
    in_async = words[-1] == "async"
    space = said.ASYNC if in_async else said.SYNC
    for name in words[1:-1] if in_async else words[1:]:
        reasons = actor.machine.reasons()
        if reasons:
            stage.say(f"{actor.me}: {name} refused: " + "; ".join(r.text for r in reasons))
        else:
            request = Request(ops=[said.operation(f"{name}@{space}")])
            actor.core.submit(actor.ticket(name), request)
    actor.settle()


@act
def many(stage: Stage, words: list[str]) -> None:
    """many N COUNT: so many clients of node N put k1, k2, ...; one batch, and one line says how."""
    actor = stage.actor(words[0])
    for number in range(1, int(words[1]) + 1):
        actor.core.submit(None, Request(ops=[said.operation(f"k{number}")]))
    actor.settle()
    stage.say(
        f"{actor.me}: {words[1]} transactions, last index {actor.machine.replicated_log.log.last}"
    )
