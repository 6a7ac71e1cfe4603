"""Verbs of a drill for its clients: they are held, and go on."""

from typing_extensions import override

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.verbs.verb import StepVerb, Takes, VerbSpec

LOAD = "load"


class PauseLoadVerb(StepVerb):
    """Nobody is asked in between. What clients would have waited for counts as a gap all the same.

    Healing lets them go on.
    """

    spec = VerbSpec(
        name="pause_load",
        about="every client ends what it does, and begins nothing more",
        takes=Takes.NOTHING,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.load.pause()
        cluster.background[LOAD] = cluster.load.resume


class ResumeLoadVerb(StepVerb):
    """The end of `pause_load`."""

    spec = VerbSpec(
        name="resume_load",
        about="lets the clients go on",
        takes=Takes.NOTHING,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.end_background(LOAD)


VERBS: tuple[StepVerb, ...] = (PauseLoadVerb(), ResumeLoadVerb())
