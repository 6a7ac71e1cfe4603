"""Verbs of a drill for its clients: they are paused, and continue."""

from typing_extensions import override

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.verbs.verb import StepVerb, Takes, VerbSpec

LOAD = "load"


class PauseLoadVerb(StepVerb):
    """No requests are sent in between. The pause still counts as a gap.

    Healing resumes the clients.
    """

    spec = VerbSpec(
        name="pause_load",
        about="every client finishes its operation, and begins no other",
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
        about="resumes the clients",
        takes=Takes.NOTHING,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.end_background(LOAD)


VERBS: tuple[StepVerb, ...] = (PauseLoadVerb(), ResumeLoadVerb())
