"""Who belongs to the cluster: newcomers, and what operators ask of the configuration."""

from dataclasses import replace

from election.messages import Replica
from qsync.core.inputs import ChangeAsked
from qsync.core.member_change import (
    AddMember,
    MemberChange,
    MoveMember,
    RemoveMember,
    ReplaceMember,
    SetRole,
)
from qsync.member import Member, MemberRole
from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.acts_basic import OPTIONS
from tests.scenarios.stage import Stage


@act
def newcomer(stage: Stage, words: list[str]) -> None:
    """newcomer N [alone] [option=value ...]: an empty directory that no configuration names.

    It is connected with all, both ways; with `alone` with nobody.
    """
    me = int(words[0])
    config = replace(stage.config, me=Replica(me), instance=stage.new_instance())
    for word in words[1:]:
        name, _, value = word.partition("=")
        config = OPTIONS[name](config, value) if name in OPTIONS else config
    stage.actors[me] = Actor(stage, config)
    for other in [each for each in stage.actors if each != me]:
        for link in ((me, other), (other, me)):
            stage.epoch[link] = 0
            stage.cut.discard(link)
            stage.connect(*link)
            if words[1:] == ["alone"]:
                stage.cut.add(link)
                stage.disconnect(*link, refused=False)
    stage.settle()


@act
def members(stage: Stage, words: list[str]) -> None:
    """members [N...]: what each node takes itself for, and who the members are in its log."""
    for actor in [stage.actor(word) for word in words] or stage.running:
        machine = actor.machine
        named = machine.raft.electorate.named
        standing = "member" if named else machine.operations.changes.standing.value
        if not machine.raft.ballot.member:
            standing = "recruit"
        followed = machine.replicated_log.configurations.followed
        stage.say(f"{actor.me}: {standing} {followed or 'no configuration'}")


@act
def member(stage: Stage, words: list[str]) -> None:
    """member N VERB R [...] [force]: an operator asks N to change the place of R.

    `add R ROLE`, `remove R`, `set-role R ROLE`, `move R ADDRESS`, `replace R`.
    """
    actor = stage.actor(words[0])
    force = words[-1] == "force"
    given = words[1:-1] if force else words[1:]
    event = ChangeAsked(
        ticket=actor.ticket(" ".join(words[1:])), change=asked(stage, given), force=force
    )
    actor.core.step(event)
    actor.settle()


@act
def plan(stage: Stage, words: list[str]) -> None:
    """plan N VERB R [...]: what that would do, in numbers."""
    actor = stage.actor(words[0])
    found = actor.machine.operations.changes.plan(asked(stage, words[1:]), force=False)
    stage.say(f"{actor.me}: " + " ".join(f"{key}={value}" for key, value in found.items()))


def asked(stage: Stage, words: list[str]) -> MemberChange:
    """What the words of a command ask for."""
    verb, replica, more = words[0], Replica(int(words[1])), words[2:]
    match verb:
        case "add":
            there = stage.actors.get(int(replica))
            instance = stage.new_instance() if there is None else there.config.instance
            return AddMember(
                member=Member(replica, instance, MemberRole(more[0]), f"n{replica}", "host:3301")
            )
        case "remove":
            return RemoveMember(replica=replica)
        case "set-role":
            return SetRole(replica=replica, role=MemberRole(more[0]))
        case "move":
            return MoveMember(replica=replica, address=more[0])
        case _:
            assert verb == "replace"
            return ReplaceMember(replica=replica)
