"""qsync itself, in either form, and from any checkout: its own nodes, its own `bench`."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from admin.cluster import surveys
from admin.lab import lab as labs
from admin.lab.processes import OsProcess
from qsync.client.blocking import Client, connect
from tests.bench.peers.cluster import (
    FAILOVER_S,
    RUN_MARGIN_S,
    START_S,
    PeerCluster,
    different,
    kill,
    wait_until,
)
from tests.bench.peers.workloads import VALUE_BYTES, Measured, PeerFailed, PeerWorkload

ROOT = Path(__file__).parents[3]
PACKAGES = ("election", "qsync", "admin", "cli")
DEFAULTS = {"election.timeout": "5s", "replication.timeout": "1s", "node.events": "false"}
"""A node's own: a lab's are quicker to elect, and write down what the checker wants."""
SPACE = "filled"
PROMISE_S = 2.0
"""A node that has just started may have promised its vote, and gives it to nobody for so long."""
FILL_ROWS = 5_000


class QsyncCluster(PeerCluster):
    """The checkout in `tree`, whatever form it is in."""

    def __init__(
        self, folder: Path, *, priority: int, name: str, tree: Path, python: str = sys.executable
    ) -> None:
        """`python`: the interpreter of its nodes and of its `bench`."""
        super().__init__(folder, priority=priority)
        self.name = name
        self._python = python
        self._env = {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
        self._lab: labs.Lab | None = None
        self._started_at = 0.0
        """When the last of its nodes had started; by the monotonic clock, in seconds."""

    def version(self) -> str:
        """Of the program, with its form."""
        command = [self._python, "-m", "qsync", "--version"]
        return self.loaded(command, self._env, within=RUN_MARGIN_S).strip().replace("\n", "; ")

    def start(self) -> None:
        """Start all and wait until they take writes. Raises PeerFailed."""
        self._lab = labs.create(
            self.folder / "lab", name="peers", nodes=self.size, options=DEFAULTS
        )
        self.nodes = [self._spawn_node(node) for node in self._lab.nodes]
        wait_until(lambda: self._leader() >= 0, START_S, f"qsync elects; {self.logged('n1.log')}")
        self._started_at = time.monotonic()

    def measure(self, workload: PeerWorkload, seconds: float) -> Measured:
        """One run. Raises PeerFailed."""
        options = {
            "workload": workload.operation,
            "clients": workload.connections,
            "pipeline": workload.outstanding,
            "value-bytes": workload.value_bytes,
            "keys": workload.keys,
            "seconds": seconds,
            "target": ",".join(self._addresses),
        }
        command = [self._python, "-m", "qsync", "bench", "--json"]
        for option, value in options.items():
            # A checkout of before may not know it, and does the usual.
            if option != "value-bytes" or value != VALUE_BYTES:
                command += [f"--{option}", str(value)]
        said = json.loads(self.loaded(command, self._env, within=seconds + RUN_MARGIN_S))
        if said["errors"] or said["unknown"]:
            raise PeerFailed(
                f"{said['errors']} errors, {said['unknown']} unknown; first {said['first_error']}"
            )
        cpu = said["cpu_us_per_op"]
        return Measured(
            ops_per_second=said["ops_per_second"],
            p50_ms=said["latency_us"]["p50"] / 1e3,
            p99_ms=said["latency_us"]["p99"] / 1e3,
            client_us=cpu["client"],
            servers_us=cpu["leader"] + cpu["followers"],
        )

    def failover(self) -> float:
        """A client that writes, as any program would: it looks for the new leader by itself."""
        with connect(self._addresses, timeout=FAILOVER_S) as client:
            _make_space(client)
            client.space(SPACE).replace([b"f", b"x"])
            led = self._leader()
            time.sleep(max(0.0, self._started_at + PROMISE_S - time.monotonic()))
            kill(self.nodes[led])
            begin = time.monotonic()
            client.space(SPACE).replace([b"f", b"x"])
            took = time.monotonic() - begin
        assert self._lab is not None
        self.nodes[led] = self._spawn_node(self._lab.nodes[led])
        wait_until(lambda: self._reads(led), START_S, "qsync is whole again")
        self._started_at = time.monotonic()
        return took

    def fill(self, keys: int) -> None:
        """Put so many different keys."""
        rows = different(keys)
        with connect(self._addresses, timeout=FAILOVER_S) as client:
            _make_space(client)
            for at in range(0, keys, FILL_ROWS):
                some = [[key, bytes(100)] for key in rows[at : at + FILL_ROWS]]
                client.space(SPACE).replace_many(some)

    def restart(self) -> float:
        """Kill a follower; the seconds from its start until it answers with all it had."""
        number = next(n for n in range(self.size) if n != self._leader())
        kill(self.nodes[number])
        assert self._lab is not None
        begin = time.monotonic()
        self.nodes[number] = self._spawn_node(self._lab.nodes[number])
        wait_until(lambda: self._reads(number), FAILOVER_S, "qsync starts again")
        return time.monotonic() - begin

    @property
    def _addresses(self) -> tuple[str, ...]:
        assert self._lab is not None
        return self._lab.addresses

    def _spawn_node(self, node: labs.LabNode) -> OsProcess:
        command = [self._python, "-m", "qsync", "node", "--config", str(node.config)]
        return self.spawn(command, f"{node.name}.log", self._env)

    def _leader(self) -> int:
        led = surveys.survey(self._addresses).leader
        if led is None or led.ro:
            raise PeerFailed("no node of qsync leads")
        return self._addresses.index(led.address)

    def _reads(self, number: int) -> bool:
        """It answers, and has applied what the leader had confirmed when it was asked."""
        found = surveys.survey(self._addresses)
        there = {sample.address: sample for sample in found.samples}
        own, led = there.get(self._addresses[number]), found.leader
        return own is not None and led is not None and own.visible >= led.confirmed


def _make_space(client: Client) -> None:
    fields = [{"name": "key", "type": "varbinary"}, {"name": "value", "type": "varbinary"}]
    client.schema.create_space(SPACE, is_sync=True, if_not_exists=True, format=fields)


def compiled(folder: Path) -> Path:
    """A tree with these sources and what mypyc makes of them; kept while they do not change.

    Raises PeerFailed where there is no compiler.
    """
    tree = folder / "compiled"
    without = shutil.ignore_patterns("*.so", "__pycache__")
    tree.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        shutil.rmtree(tree / name, ignore_errors=True)
        shutil.copytree(ROOT / name, tree / name, ignore=without)
    command = [sys.executable, str(ROOT / ".build" / "compiling.py"), "--into", str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or "pure form" in done.stdout:
        raise PeerFailed((done.stderr or done.stdout).strip()[-300:])
    return tree


def pure(folder: Path) -> Path:
    """A tree with these sources only: what is compiled in this checkout stays out."""
    tree = folder / "pure"
    without = shutil.ignore_patterns("*.so", "__pycache__")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tree / name, ignore=without)
    return tree
