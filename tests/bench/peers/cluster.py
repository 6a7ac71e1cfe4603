"""The durable nodes of one contestant on loopback: started, measured, killed, ended."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from admin.lab import processes
from admin.lab.processes import OsProcess
from qsync.errors import QsyncError
from tests.bench.peers.load import PeerLoad
from tests.bench.peers.workloads import (
    KEY_BYTES,
    Measured,
    Operation,
    PeerFailed,
    PeerWorkload,
)

NODES = 3
START_S = 30.0
FAILOVER_S = 60.0
END_S = 5.0
RUN_MARGIN_S = 60.0
SETTLE_S = 120.0
SETTLED = 0.2
"""Processor seconds a second of all nodes together, at most, when nothing is left to do."""
FILLERS = PeerWorkload(Operation.TXN10, 8, 1)
FAILURES = (PeerFailed, OSError, QsyncError)
"""What may come of asking a contestant."""
_LOOK_S = 0.01


class PeerCluster(ABC):
    """A contestant. Nodes and load have a session each, so the scheduler treats them alike.

    `priority`: the niceness of those sessions' autogroups, for a machine that others use as well;
    the niceness of a process counts only within its own session (sched(7)).
    """

    name: str
    durable = True
    """Does an acknowledgement mean that a quorum has flushed?"""

    def __init__(self, folder: Path, *, priority: int) -> None:
        self.folder = folder
        self.size = NODES
        """How many nodes it has; to be said before it starts."""
        self.nodes: list[OsProcess] = []
        self.notes: list[str] = []
        """What a reader of the figures should know."""
        self._priority = priority

    @abstractmethod
    def version(self) -> str:
        """Of the program."""

    @abstractmethod
    def start(self) -> None:
        """Start all and wait until they take writes. Raises PeerFailed."""

    @abstractmethod
    def measure(self, workload: PeerWorkload, seconds: float) -> Measured:
        """One run. Raises PeerFailed."""

    @abstractmethod
    def failover(self) -> float:
        """Kill the leader, and count the seconds until a write succeeds; then it comes back."""

    @abstractmethod
    def fill(self, keys: int) -> None:
        """Put so many different keys."""

    @abstractmethod
    def restart(self) -> float:
        """Kill a follower; the seconds from its start until it answers with all it had."""

    def settle(self) -> None:
        """Wait until its nodes have done what writes left them to do, `SETTLE_S` at most."""
        end = time.monotonic() + SETTLE_S
        while time.monotonic() < end:
            before = sum(node.cpu_seconds() for node in self.nodes)
            time.sleep(1)
            if sum(node.cpu_seconds() for node in self.nodes) - before < SETTLED:
                return

    def memory_mib(self) -> list[int]:
        """Resident memory of each node."""
        return [_resident(node.pid) for node in self.nodes]

    def close(self) -> None:
        """End every process."""
        for node in self.nodes:
            node.end(grace=END_S)
        self.nodes = []

    # ---------------------------------------------------------------------------- for subclasses

    def spawn(self, command: Sequence[str], log: str, env: Mapping[str, str]) -> OsProcess:
        """Start a node."""
        started = processes.start(command, log=self.folder / log, env={**os.environ, **env})
        prefer(started.pid, self._priority)
        return started

    def loaded(self, command: Sequence[str], env: Mapping[str, str], *, within: float) -> str:
        """What a program that makes load prints, in a session of its own."""
        program = subprocess.Popen(
            command,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with program:
            prefer(program.pid, self._priority)
            try:
                said, complaint = program.communicate(timeout=within)
            except subprocess.TimeoutExpired:
                program.kill()
                raise PeerFailed(f"not done within {within:.0f} s") from None
        if program.returncode:
            raise PeerFailed((complaint or said).strip()[-300:])
        return said

    def logged(self, log: str) -> str:
        """The end of what a node said."""
        path = self.folder / log
        return path.read_text("utf-8", "replace")[-300:].strip() if path.exists() else ""


class WirePeer(PeerCluster):
    """A contestant that `load.py` speaks to."""

    peer: str

    def __init__(self, folder: Path, *, priority: int) -> None:
        super().__init__(folder, priority=priority)
        self.addresses: list[str] = []

    @abstractmethod
    def leader(self) -> int:
        """Which of the nodes leads. Raises PeerFailed."""

    @abstractmethod
    def spawn_node(self, number: int) -> OsProcess:
        """Start this one, for the first time or again."""

    @abstractmethod
    def answers(self, number: int) -> bool:
        """Does it answer reads with all that it had?"""

    def measure(self, workload: PeerWorkload, seconds: float) -> Measured:
        """One run. Raises PeerFailed."""
        command = [sys.executable, "-m", "tests.bench.peers.load", self.peer]
        command += [self.addresses[self.leader()], workload.name, str(seconds)]
        command += [str(node.pid) for node in self.nodes]
        root = str(Path(__file__).parents[3])
        said = self.loaded(command, {"PYTHONPATH": root}, within=seconds + RUN_MARGIN_S)
        return Measured(**json.loads(said))

    def failover(self) -> float:
        """Writes to the survivors every few milliseconds; the first that succeeds counts."""
        led = self.leader()
        lines = [
            PeerLoad(self.peer, address, PeerWorkload(Operation.PUT, 1, 1))
            for number, address in enumerate(self.addresses)
            if number != led
        ]
        try:
            took = until_written(lines, self.nodes[led])
        finally:
            for line in lines:
                line.close()
        self.nodes[led] = self.spawn_node(led)
        wait_until(lambda: self.answers(led), START_S, f"{self.name} is whole again")
        return took

    def fill(self, keys: int) -> None:
        """Put so many different keys."""
        load = PeerLoad(self.peer, self.addresses[self.leader()], FILLERS)
        try:
            load.fill(different(keys))
        finally:
            load.close()

    def restart(self) -> float:
        """Kill a follower; the seconds from its start until it answers with all it had."""
        number = next(n for n in range(self.size) if n != self.leader())
        kill(self.nodes[number])
        begin = time.monotonic()
        self.nodes[number] = self.spawn_node(number)
        wait_until(lambda: self.answers(number), FAILOVER_S, f"{self.name} starts again")
        return time.monotonic() - begin


def kill(node: OsProcess) -> None:
    """Without a warning: one who is asked to stop hands over first."""
    node.send(signal.SIGKILL)
    node.wait_gone(END_S)


def different(count: int) -> list[bytes]:
    """So many keys, none twice, in no order."""
    return [
        (number * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(KEY_BYTES, "big")
        for number in range(count)
    ]


def until_written(loads: Sequence[PeerLoad], victim: OsProcess) -> float:
    """Kill it; the seconds until one of these connections had a write acknowledged."""
    lines = [line for load in loads for line in load.lines]
    for line in lines:
        line.socket.settimeout(_LOOK_S / len(lines))
    kill(victim)
    begin = time.monotonic()
    while time.monotonic() < begin + FAILOVER_S:
        for line in lines:
            line.wire.ask(Operation.PUT, [b"f" * KEY_BYTES], b"x")
            line.flush()
            with contextlib.suppress(TimeoutError):
                if any(succeeded for _, succeeded in line.receive()):
                    return time.monotonic() - begin
    raise PeerFailed(f"nobody took a write within {FAILOVER_S:.0f} s")


def wait_until(met: Callable[[], bool], seconds: float, what: str) -> None:
    """Look again and again. Raises PeerFailed."""
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(*FAILURES):
            if met():
                return
        if time.monotonic() > until:
            raise PeerFailed(f"not within {seconds:.0f} s: {what}")
        time.sleep(_LOOK_S)


def prefer(pid: int, niceness: int) -> None:
    """Set the niceness of the autogroup of a session, where there are any and we may."""
    if niceness:
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness), "ascii")


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0
