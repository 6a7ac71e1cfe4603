"""Verbs of a drill for processes: they are killed, paused, and starved of CPU time."""

import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.values import DURATION, one_of
from admin.drills.verbs.crashing import OPTION, crashing, simulated_crashing
from admin.drills.verbs.verb import Remedy, StepVerb, VerbSpec
from admin.lab.lab import GRACE_S, Lab
from admin.lab.processes import OsProcess
from qsync.faults import Fault

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster
    from qsync.sim.kernel.machine import MemberMachine


class KillVerb(StepVerb):
    """The step ends after the process ended."""

    spec = VerbSpec(
        name="kill",
        about="sends KILL, TERM or INT",
        options={"signal": one_of("KILL", "TERM", "INT")},
        faults=(Fault.KILL, Fault.TERMINATE),
        undone_by="start",
        downs=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        number = signal.Signals[f"SIG{step.options.get('signal', 'KILL')}"]
        for node in cluster.owe(self.spec.undone_by, *nodes):
            process = node.process
            cluster.lab.send(node, number)
            if process is not None:
                process.wait_gone(GRACE_S)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            if node.up:
                node.stop(power=False)


class StartVerb(Remedy):
    """It does not wait until they are ready."""

    spec = VerbSpec(
        name="start",
        about="starts the process again, while `crash` dies",
        options=OPTION,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        with crashing(cluster, step):
            super().live(cluster, step, nodes)

    @override
    def undo(self, lab: Lab, node: str) -> None:
        lab.start(lab.node(node))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        with simulated_crashing(cluster, step):
            for node in nodes:
                if not node.up:
                    node.start()


class PauseVerb(StepVerb):
    """Like a frozen machine: its connections stay open."""

    spec = VerbSpec(
        name="pause",
        about="stops the process with SIGSTOP",
        faults=(Fault.PAUSE,),
        undone_by="resume",
        downs=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for node in cluster.owe(self.spec.undone_by, *nodes):
            cluster.lab.pause(node)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            _pause(node)


class ResumeVerb(Remedy):
    """The end of `pause`."""

    spec = VerbSpec(
        name="resume",
        about="continues it with SIGCONT",
    )
    needs_process = True

    @override
    def undo(self, lab: Lab, node: str) -> None:
        found = lab.node(node)
        if found.process is not None:
            lab.resume(found)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            _resume(node)


class StarveVerb(StepVerb):
    """Like on a machine with overloaded processors."""

    spec = VerbSpec(
        name="starve",
        about="stops and continues the process in turn, for `off` and `on` (0.2 s and 0.05 s)",
        options={"on": DURATION, "off": DURATION},
        faults=(Fault.STARVE,),
        undone_by="feed",
    )

    ON_S, OFF_S = 0.05, 0.2

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        on, off = self._turns(step)
        for node in cluster.owe(self.spec.undone_by, *nodes):
            if node.process is not None:
                thread = StarvingThread(node.process, on=on, off=off)
                cluster.background[node.name] = thread.end

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        on, off = self._turns(step)
        for node in nodes:
            phases = [(partial(_pause, node), off), (partial(_resume, node), on)]
            cluster.in_turn(f"starve {node.me}", phases)

    def _turns(self, step: Step) -> tuple[float, float]:
        return step.number("on", self.ON_S), step.number("off", self.OFF_S)


class FeedVerb(ResumeVerb):
    """The end of `starve`."""

    spec = VerbSpec(
        name="feed",
        about="ends `starve`",
    )
    needs_process = False

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.end_background(*nodes)
        super().live(cluster, step, nodes)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            cluster.end_turns(f"starve {node.me}")
            _resume(node)


def _pause(node: "MemberMachine") -> None:
    if node.reachable:
        node.pause()


def _resume(node: "MemberMachine") -> None:
    if node.paused:
        node.resume()


class StarvingThread:
    """Stops and continues a process in turn."""

    def __init__(self, process: OsProcess, *, on: float, off: float) -> None:
        self._process = process
        self._on, self._off = on, off
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="starving", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Returns when it runs without pauses."""
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.is_set() and self._process.send(signal.SIGSTOP):
            self._over.wait(self._off)
            self._process.send(signal.SIGCONT)
            self._over.wait(self._on)


VERBS: tuple[StepVerb, ...] = (
    KillVerb(),
    StartVerb(),
    PauseVerb(),
    ResumeVerb(),
    StarveVerb(),
    FeedVerb(),
)
