"""The words of a drill file: verbs of steps, probes, measures, and what each takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Takes(StrEnum):
    """What stands behind a verb."""

    NODES = "nodes"
    NOTHING = "nothing"
    DURATION = "duration"
    PROBE = "probe"


class OptionKind(StrEnum):
    """What an option holds."""

    DURATION = "duration"
    NUMBER = "number"
    CHANCE = "chance"
    SIZE = "size"
    FLAG = "flag"
    TARGET = "target"
    WAY = "way"
    SIGNAL = "signal"
    LOSS = "loss"


class Undo(StrEnum):
    """What puts a fault right again; this is what stands in the journal."""

    START = "start"
    RESUME = "resume"
    MEND = "mend"
    ROOM = "room"
    DISARM = "disarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepVerb:
    """One kind of step. `undo`: how its harm ends; None for what does none."""

    about: str
    takes: Takes = Takes.NODES
    options: Mapping[str, OptionKind] = field(default_factory=dict)
    undo: Undo | None = None
    downs: bool = False
    """The node does not take part while it lasts."""
    links: bool = False
    """It needs a lab whose links go through the proxy."""
    points: bool = False
    """It needs nodes that let their fault points be armed."""
    simulated: bool = True
    """The simulator has it, too."""


_ACROSS = {"with": OptionKind.TARGET, "way": OptionKind.WAY}

VERBS: Mapping[str, StepVerb] = {
    "wait": StepVerb(about="let the clients work", takes=Takes.DURATION),
    "until": StepVerb(
        about="wait for a fact", takes=Takes.PROBE, options={"within": OptionKind.DURATION}
    ),
    "kill": StepVerb(
        about="send a signal: KILL, TERM or INT",
        options={"signal": OptionKind.SIGNAL},
        undo=Undo.START,
        downs=True,
    ),
    "pause": StepVerb(about="stop the process with SIGSTOP", undo=Undo.RESUME, downs=True),
    "resume": StepVerb(about="let it go on with SIGCONT"),
    "start": StepVerb(about="start the process again"),
    "wipe": StepVerb(about="delete the data of a stopped node"),
    "tear": StepVerb(about="cut the file of a stopped node's log short"),
    "flip": StepVerb(about="flip one bit in the last batch of a stopped node's log"),
    "cut": StepVerb(
        about="nothing passes between these nodes and the others (or `with`)",
        options={**_ACROSS, "refuse": OptionKind.FLAG},
        undo=Undo.MEND,
        links=True,
    ),
    "slow": StepVerb(
        about="hold back what passes: delay, jitter, rate in bytes a second, chance of a stall",
        options={
            **_ACROSS,
            "delay": OptionKind.DURATION,
            "jitter": OptionKind.DURATION,
            "rate": OptionKind.SIZE,
            "stall": OptionKind.CHANCE,
        },
        undo=Undo.MEND,
        links=True,
    ),
    "flap": StepVerb(
        about="cut and whole in turn, each for `every`",
        options={**_ACROSS, "every": OptionKind.DURATION},
        undo=Undo.MEND,
        links=True,
    ),
    "ring": StepVerb(
        about="everybody reaches only neighbours", takes=Takes.NOTHING, undo=Undo.MEND, links=True
    ),
    "bridge": StepVerb(
        about="two halves that only this node reaches both of", undo=Undo.MEND, links=True
    ),
    "reset": StepVerb(about="break the connections once", options=_ACROSS, links=True),
    "mend": StepVerb(about="all links are whole again", takes=Takes.NOTHING, links=True),
    "fill": StepVerb(
        about="no file may grow, as on a full disk (RLIMIT_FSIZE of the live process)",
        undo=Undo.ROOM,
    ),
    "free": StepVerb(about="files may grow again"),
    "starve": StepVerb(
        about="stop and continue the process in turn, `on` and `off`",
        options={"on": OptionKind.DURATION, "off": OptionKind.DURATION},
        undo=Undo.RESUME,
    ),
    "feed": StepVerb(about="end of `starve`"),
    "stall_fsync": StepVerb(
        about="every commit of its log takes `delay` longer",
        options={"delay": OptionKind.DURATION, "times": OptionKind.NUMBER},
        undo=Undo.DISARM,
        points=True,
    ),
    "fail_fsync": StepVerb(
        about="commits of its log fail, so many `times`, or until `disarm`",
        options={"times": OptionKind.NUMBER},
        undo=Undo.DISARM,
        points=True,
    ),
    "jump_clock": StepVerb(
        about="its wall clock is `ahead` or `behind` from now on",
        options={"ahead": OptionKind.DURATION, "behind": OptionKind.DURATION},
        undo=Undo.DISARM,
        points=True,
    ),
    "lose": StepVerb(
        about="messages to peers with a later confirm or rollback (`what`) are not sent",
        options={"what": OptionKind.LOSS, "times": OptionKind.NUMBER},
        undo=Undo.DISARM,
        points=True,
    ),
    "disarm": StepVerb(about="end of all four", points=True),
    "promote": StepVerb(about="make it the leader; all of several at once"),
    "demote": StepVerb(about="make it step down"),
    "heal": StepVerb(about="undo every fault so far", takes=Takes.NOTHING),
}

WAYS = ("both", "out", "in")
SIGNALS = ("KILL", "TERM", "INT")
LOSSES = ("confirm", "rollback")


class MeasureUnit(StrEnum):
    """What a probe or a measure is counted in."""

    TRUTH = "true or false"
    SECONDS = "seconds"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Something to ask. `node`: it is asked about a node."""

    about: str
    scale: MeasureUnit = MeasureUnit.TRUTH
    node: bool = False
    simulated: bool = False


PROBES: Mapping[str, Probe] = {
    "leader_exists": Probe(
        about="a node says that it leads (`not`: another than this one)", simulated=True
    ),
    "writable": Probe(about="a leader takes writes (`not`: another than this one)", simulated=True),
    "healthy": Probe(
        about="all nodes are in touch with a leader that takes writes", simulated=True
    ),
    "answers": Probe(about="the node answers", simulated=True, node=True),
    "leads": Probe(about="the node leads and takes writes", simulated=True, node=True),
    "read_only": Probe(about="the node answers and takes no writes", simulated=True, node=True),
    "caught_up": Probe(
        about="the node has on disk what the leader had confirmed, and votes",
        simulated=True,
        node=True,
    ),
    "struck": Probe(about="an armed fault point of the node has struck", simulated=True, node=True),
    "acked_again": Probe(
        about="a write was acknowledged that began after this step", simulated=True
    ),
    "nodes_reachable": Probe(about="nodes that answer", scale=MeasureUnit.COUNT),
    "terms": Probe(about="terms that had a leader since the drill began", scale=MeasureUnit.COUNT),
    "limbo_len": Probe(about="pending transactions", scale=MeasureUnit.COUNT),
    "limbo_age": Probe(about="age of the oldest pending transaction", scale=MeasureUnit.SECONDS),
    "commit_p99": Probe(about="of the latest acknowledged writes", scale=MeasureUnit.SECONDS),
    "write_gap": Probe(about="time since the last acknowledged write", scale=MeasureUnit.SECONDS),
    "external": Probe(about="the command given as `run` ends with 0"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that every run has."""

    about: str
    scale: MeasureUnit


_TIME, _COUNT = MeasureUnit.SECONDS, MeasureUnit.COUNT
MEASURES: Mapping[str, Measure] = {
    "rto": Measure(
        about="from the fault to the next acknowledged write, over the longest gap", scale=_TIME
    ),
    "gap": Measure(about="the longest time without an acknowledged write", scale=_TIME),
    "gaps_total": Measure(about="all gaps of more than 0.1 s together", scale=_TIME),
    "detection": Measure(about="of the rto: until somebody stood for election", scale=_TIME),
    "election": Measure(about="of the rto: from there until it was won", scale=_TIME),
    "take_over": Measure(about="of the rto: from there until writes were taken", scale=_TIME),
    "client": Measure(about="of the rto: from there to the acknowledgement", scale=_TIME),
    "rpo_lost_acked": Measure(about="acknowledged writes that are gone", scale=_COUNT),
    "unknown": Measure(about="outcomes that were unknown at the moment", scale=_COUNT),
    "unresolved": Measure(about="outcomes that stayed unknown at the end", scale=_COUNT),
    "failed": Measure(about="writes that surely failed, conflicts apart", scale=_COUNT),
    "rolled_back": Measure(about="of these, rolled back after they had begun", scale=_COUNT),
    "rolled_back_visible": Measure(about="rolled-back writes that can be seen", scale=_COUNT),
    "terms": Measure(about="terms that had a leader", scale=_COUNT),
    "p99_before": Measure(about="of writes before the first fault", scale=_TIME),
    "p99_during": Measure(about="of writes between the first fault and healing", scale=_TIME),
    "p99_after": Measure(about="of writes after the last step", scale=_TIME),
}
