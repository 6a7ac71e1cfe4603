"""etcd: three members with its defaults, asked over gRPC."""

import json
from pathlib import Path

from admin.lab.ports import LOOPBACK, free_ports
from admin.lab.processes import OsProcess
from tests.bench.peers import programs
from tests.bench.peers.cluster import RUN_MARGIN_S, START_S, WirePeer, wait_until
from tests.bench.peers.etcd_wire import EtcdWire
from tests.bench.peers.load import PeerLine
from tests.bench.peers.workloads import (
    KEY_BYTES,
    Measured,
    Operation,
    PeerFailed,
    PeerWorkload,
)

_QUOTA_BYTES = 6_000_000_000


class EtcdCluster(WirePeer):
    """Flushes before it acknowledges, elects, reads by ReadIndex: what qsync is compared with."""

    name = peer = "etcd"

    def __init__(self, folder: Path, *, priority: int, fetch: bool) -> None:
        super().__init__(folder, priority=priority)
        self._program = programs.program("etcd", fetch=fetch)
        self._peers: list[str] = []

    def version(self) -> str:
        """Of the program."""
        return programs.version([str(self._program), "--version"])

    def start(self) -> None:
        """Start all and wait until they take writes. Raises PeerFailed."""
        ports = free_ports(2 * self.size)
        self.addresses = [f"{LOOPBACK}:{port}" for port in ports[: self.size]]
        self._peers = [f"http://{LOOPBACK}:{port}" for port in ports[self.size :]]
        self.nodes = [self.spawn_node(number) for number in range(self.size)]
        wait_until(lambda: self.leader() >= 0, START_S, f"etcd elects; {self.logged('e0.log')}")

    def spawn_node(self, number: int) -> OsProcess:
        """Start this one, for the first time or again."""
        members = ",".join(f"e{n}={url}" for n, url in enumerate(self._peers))
        client = f"http://{self.addresses[number]}"
        options = {
            "name": f"e{number}",
            "data-dir": str(self.folder / f"e{number}"),
            "listen-peer-urls": self._peers[number],
            "initial-advertise-peer-urls": self._peers[number],
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "initial-cluster": members,
            "logger": "zap",
            "log-level": "error",
            "quota-backend-bytes": str(_QUOTA_BYTES),
        }
        command = [str(self._program)]
        for option, value in options.items():
            command += [f"--{option}", value]
        return self.spawn(command, f"e{number}.log", {})

    def leader(self) -> int:
        """Which of the nodes leads. Raises PeerFailed."""
        for number, node in enumerate(self.nodes):
            if node.alive:
                line = PeerLine(self.peer, self.addresses[number])
                with line.socket:
                    wire = line.wire
                    assert isinstance(wire, EtcdWire)
                    if _answered(line, wire.ask_status()) and wire.leads():
                        return number
        raise PeerFailed("no member of etcd leads")

    def answers(self, number: int) -> bool:
        """A linearizable read: it has applied all that was committed when it asked."""
        line = PeerLine(self.peer, self.addresses[number])
        with line.socket:
            return _answered(line, line.wire.ask(Operation.GET, [bytes(KEY_BYTES)], b""))


class EtcdGoCluster(EtcdCluster):
    """etcd as its users ask it: by its own client in Go, which costs more than frames by hand."""

    name = "etcd-go"

    def __init__(self, folder: Path, *, priority: int, fetch: bool) -> None:
        super().__init__(folder, priority=priority, fetch=fetch)
        self._client = programs.etcd_client()
        self.notes = ["asked by etcd's own client in Go"]

    def measure(self, workload: PeerWorkload, seconds: float) -> Measured:
        """One run. Raises PeerFailed."""
        asked = (workload.operation, workload.connections, workload.outstanding)
        sizes = (workload.value_bytes, workload.keys, seconds)
        command = [str(self._client), self.addresses[self.leader()], *map(str, asked + sizes)]
        command += [str(node.pid) for node in self.nodes]
        return Measured(**json.loads(self.loaded(command, {}, within=seconds + RUN_MARGIN_S)))


def _answered(line: PeerLine, id: int) -> bool:
    line.flush()
    while True:
        for answered, succeeded in line.receive():
            if answered == id:
                return succeeded
