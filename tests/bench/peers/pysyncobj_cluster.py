"""PySyncObj: three processes with a journal that is never flushed, driven from the leader."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path

from admin.lab import processes
from admin.lab.ports import free_ports
from tests.bench.peers import programs
from tests.bench.peers.cluster import NODES, RUN_MARGIN_S, START_S, PeerCluster, prefer, wait_until
from tests.bench.peers.workloads import Measured, Operation, PeerFailed, PeerWorkload

SCRIPT = Path(__file__).with_name("pysyncobj_node.py")


class PySyncObjCluster(PeerCluster):
    """Raft in Python, but an acknowledged write is in the memory of a quorum only."""

    name = "pysyncobj"
    durable = False

    def __init__(self, folder: Path, *, priority: int, fetch: bool) -> None:
        super().__init__(folder, priority=priority)
        self._env = programs.pysyncobj(fetch=fetch)
        self._ports = ",".join(str(port) for port in free_ports(NODES))
        self._programs: list[subprocess.Popen[str]] = []
        self.notes.append("not durable: the journal is never flushed")
        self.notes.append("the load is made in the leader's process; its share is in the nodes'")

    def version(self) -> str:
        """Of the program."""
        command = "import importlib.metadata as m; print(m.version('pysyncobj'))"
        return self.loaded([sys.executable, "-c", command], self._env, within=START_S).strip()

    def start(self) -> None:
        """Start all and wait until they take writes. Raises PeerFailed."""
        for number in range(NODES):
            self._programs.append(self._started(number))
            self.nodes.append(processes.identify(self._programs[-1].pid))
        wait_until(lambda: self._leader() >= 0, START_S, "pysyncobj elects")

    def measure(self, workload: PeerWorkload, seconds: float) -> Measured:
        """One run. Raises PeerFailed."""
        if workload.operation is Operation.GET:
            raise PeerFailed("it has no linearizable reads")
        led = self._leader()
        outstanding = workload.connections * workload.outstanding
        before = self._spent(led)
        said = self._ask(led, f"run {workload.operation} {outstanding} {seconds}")
        if said["errors"]:
            raise PeerFailed(f"{said['errors']:.0f} errors")
        done = max(1.0, said["ops_per_second"] * seconds)
        return Measured(
            ops_per_second=said["ops_per_second"],
            p50_ms=said["p50_ms"],
            p99_ms=said["p99_ms"],
            client_us=0.0,
            servers_us=said["leader_us"] + (self._spent(led) - before) / done * 1e6,
        )

    def failover(self) -> float:
        """It is not asked: nothing that it acknowledged is durable."""
        raise PeerFailed("not measured, since it is not durable")

    def fill(self, keys: int) -> None:
        """As above."""
        raise PeerFailed("not measured, since it is not durable")

    def restart(self) -> float:
        """As above."""
        raise PeerFailed("not measured, since it is not durable")

    def close(self) -> None:
        """End every process."""
        super().close()
        for program in self._programs:
            program.communicate()

    def _started(self, number: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(SCRIPT), str(number), self._ports]
        with (self.folder / f"p{number}.log").open("wb") as log:
            program = subprocess.Popen(
                [*command, str(self.folder / f"journal{number}")],
                env={**os.environ, **self._env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        prefer(program.pid, self._priority)
        return program

    def _leader(self) -> int:
        for number in range(NODES):
            if self._ask(number, "lead"):
                return number
        raise PeerFailed(f"no node of pysyncobj leads; {self.logged('p0.log')}")

    def _spent(self, besides: int) -> float:
        others = [node for number, node in enumerate(self.nodes) if number != besides]
        return sum(node.cpu_seconds() for node in others)

    def _ask(self, number: int, command: str) -> dict[str, float]:
        program = self._programs[number]
        assert program.stdin is not None
        assert program.stdout is not None
        try:
            program.stdin.write(command + "\n")
            program.stdin.flush()
        except OSError:
            raise PeerFailed(f"a node ended; {self.logged(f'p{number}.log')}") from None
        if not select.select([program.stdout], [], [], RUN_MARGIN_S)[0]:
            raise PeerFailed("no answer")
        line = program.stdout.readline()
        if not line:
            raise PeerFailed(f"a node ended; {self.logged(f'p{number}.log')}")
        found: dict[str, float] = json.loads(line)
        return found
