"""What transcripts about elections do and look at: votes, ballots, reasons, other settings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

from election import describe
from qsync.core.machine import Machine
from qsync.node.broadcast import box_election, box_status, box_synchro
from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.acts_basic import OPTIONS
from tests.scenarios.stage import Stage


def chosen(stage: Stage, words: list[str]) -> list[Actor]:
    """The nodes that a command names, or all that run."""
    return [stage.actor(word) for word in words] or stage.running


@act
def state(stage: Stage, words: list[str]) -> None:
    """state [N...]: role, term, vote, leader and log, as each node sees them."""
    for actor in chosen(stage, words):
        actor.machine.raft.set_last_position(actor.machine.replicated_log.log.position)
        stage.say(describe.state(actor.machine.raft))


@act
def durable(stage: Stage, words: list[str]) -> None:
    """durable [N...]: the term and vote that are on each disk."""
    for actor in chosen(stage, words):
        stage.say(f"{actor.me}: {describe.ballot(actor.machine.disk.ballot)}")


@act
def votes(stage: Stage, words: list[str]) -> None:
    """votes N [TERM]: who asked for votes, who said what and why not, as far as N knows."""
    term = int(words[1]) if len(words) > 1 else None
    for tally in stage.actor(words[0]).machine.raft.history:
        if term in (None, tally.term):
            stage.say(f"{words[0]}: {describe.votes(tally)}")


@act
def why(stage: Stage, words: list[str]) -> None:
    """why [N...]: every reason for which a node takes no writes, and what lifts it."""
    for actor in chosen(stage, words):
        reasons = actor.machine.reasons()
        for each in reasons:
            stage.say(f"{actor.me}: {each.why}: {each.text}; to do: {each.lifts}")
        if not reasons:
            stage.say(f"{actor.me}: takes writes")


@act
def would(stage: Stage, words: list[str]) -> None:
    """would N WHAT: what promote, demote or clear_synchro_queue on N would do now."""
    plan = stage.actor(words[0]).machine.operations.dry_run(words[1])
    told = (f"{name}={value}" for name, value in plan.items() if value not in (None, 0, words[1]))
    stage.say(f"{words[0]} would {words[1]}: {' '.join(told)}")


@act
def timers(stage: Stage, words: list[str]) -> None:
    """timers N [KIND...]: in how many seconds the timers of N are due."""
    actor = stage.actor(words[0])
    for kind, (earliest, latest) in sorted(actor.timers.items()):
        if kind in words[1:] or not words[1:]:
            first, last = earliest - stage.now, latest - stage.now
            span = f"{first:g}" if first == last else f"{first:g} to {last:g}"
            stage.say(f"{actor.me}: {kind} in {span} s")


@act
def configure(stage: Stage, words: list[str]) -> None:
    """configure N|all OPTION=VALUE ...: a running node follows other settings from now on."""
    for actor in stage.running if words[0] == "all" else [stage.actor(words[0])]:
        config = actor.config
        try:
            for word in words[1:]:
                name, _, value = word.partition("=")
                config = OPTIONS[name](config, value)
        except ValueError as error:
            stage.say(f"{actor.me}: refused: {error}")
            continue
        actor.config = config
        actor.core.clock(stage.now)
        actor.machine.reconfigure(config)
        actor.settle()


@act
def pause(stage: Stage, words: list[str]) -> None:
    """pause N: its process hangs; what is sent to it waits in its sockets, its timers are late."""
    stage.actor(words[0]).paused = True


@act
def resume(stage: Stage, words: list[str]) -> None:
    """resume N: it goes on, and looks at the clock before anything else."""
    stage.actors[int(words[0])].paused = False
    stage.actor(words[0]).settle()


@act
def gone(stage: Stage, words: list[str]) -> None:
    """gone N: everybody finds that nothing listens at the address of N any more; N is down."""
    assert not stage.actors[int(words[0])].up, f"crash {words[0]} first"
    for actor in stage.running:
        stage.disconnect(int(actor.me), int(words[0]), refused=True)
        actor.settle()


@act
def refuse(stage: Stage, words: list[str]) -> None:
    """refuse N [A...]: the address of N refuses A (or everybody), though N runs."""
    asking = words[1:] or [str(each.me) for each in stage.running if str(each.me) != words[0]]
    for me in asking:
        stage.disconnect(int(me), int(words[0]), refused=True)
        stage.actor(me).settle()


SEEN: WeakKeyDictionary[Stage, dict[tuple[str, str], dict[str, object]]] = WeakKeyDictionary()
"""What the watchers of each node were told last."""


@act
def watch(stage: Stage, words: list[str]) -> None:
    """watch N KEY: what a watcher of that broadcast key is told now; nothing when it is not new."""
    key = (words[0], words[1])
    value = BROADCAST[words[1]](stage.actor(words[0]).machine)
    seen = SEEN.setdefault(stage, {})
    if seen.get(key) != value:
        seen[key] = value
        shown = " ".join(f"{name}={each}" for name, each in value.items())
        stage.say(f"{words[0]}: {words[1]} {shown}")


BROADCAST: Mapping[str, Callable[[Machine], dict[str, object]]] = {
    "box.election": box_election,
    "box.status": lambda machine: box_status(machine, machine.reasons()),
    "box.synchro": box_synchro,
}


OPTIONS["window"] = lambda config, word: replace(config, append_window_bytes=int(word))
