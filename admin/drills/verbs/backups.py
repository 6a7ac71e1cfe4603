"""Verbs of a drill for the loss of all nodes: backed up, destroyed, restored."""

from typing_extensions import override

from admin.drills import restoring
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.undo_log import UndoStep
from admin.drills.verbs.members import until_member
from admin.drills.verbs.verb import Remedy, StepVerb, Takes, VerbSpec
from admin.lab import lab as labs
from admin.lab.lab import Lab
from qsync.errors import ConfigError
from qsync.faults import Fault

ARCHIVE = "archive"


class BackUpVerb(StepVerb):
    """It is kept in the lab's directory, next to the nodes."""

    spec = VerbSpec(
        name="back_up",
        about="makes a backup of the cluster",
        takes=Takes.NOTHING,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        restoring.back_up(cluster.lab)


class ArchiveVerb(StepVerb):
    """Until all nodes are destroyed, or the drill is over."""

    spec = VerbSpec(
        name=ARCHIVE,
        about="archives the log after the backup from now on, at this interval",
        takes=Takes.DURATION,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.end_background(ARCHIVE)
        cluster.background[ARCHIVE] = restoring.archive(cluster.lab, step.number("for"))


class DestroyVerb(StepVerb):
    """Only the backup of a node remains."""

    spec = VerbSpec(
        name="destroy",
        about="kills the node and removes its directory, if there is a backup",
        faults=(Fault.DESTROY,),
        undone_by="restore",
        downs=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        if set(nodes) != set(cluster.all):
            raise ConfigError(
                f"{', '.join(nodes)}: only a whole cluster can be destroyed",
                hint="use `kill` and `wipe` for single nodes",
            )
        restoring.check_restorable(cluster.lab)
        for node in cluster.owe(self.spec.undone_by, *nodes):
            restoring.destroy(cluster.lab, node)
        cluster.end_background(ARCHIVE)


class RestoreVerb(Remedy):
    """The first node is restored, the others join it. This takes a while."""

    spec = VerbSpec(
        name="restore",
        about="restores the destroyed cluster as a new one, from the newest point of the backup",
    )

    @override
    def undo(self, lab: Lab, node: str) -> None:
        lab = labs.load(lab.dir)
        if restoring.restore(lab, lab.node(node)):
            until_member(labs.load(lab.dir), node)

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        if not cluster.load.is_paused:
            raise ConfigError(
                "the clients still use the lost cluster", hint="`pause_load` comes first"
            )
        for node in nodes:
            self.undo(cluster.lab, node)
            cluster.undo_log.settle(UndoStep(undo=self.spec.name, node=node))
        cluster.place = labs.load(cluster.lab.dir)
        cluster.begin_anew()


VERBS: tuple[StepVerb, ...] = (BackUpVerb(), ArchiveVerb(), DestroyVerb(), RestoreVerb())
