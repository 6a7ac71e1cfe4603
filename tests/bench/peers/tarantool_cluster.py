"""Tarantool: a leader that two others follow, a synchronous space, a flush for each transaction."""

import re
from functools import partial
from pathlib import Path

from admin.lab.ports import LOOPBACK, free_ports
from admin.lab.processes import OsProcess
from tests.bench.peers import programs
from tests.bench.peers.cluster import NODES, START_S, WirePeer, wait_until
from tests.bench.peers.load import PeerLine
from tests.bench.peers.workloads import KEY_BYTES, Operation, PeerFailed

SCRIPT = Path(__file__).with_name("tarantool.lua")


class TarantoolCluster(WirePeer):
    """Nobody elects here: the script that starts the nodes says who leads."""

    name = peer = "tarantool"

    def __init__(self, folder: Path, *, priority: int, fetch: bool) -> None:
        super().__init__(folder, priority=priority)
        self._program = programs.program("tarantool", fetch=fetch)
        self._ports = free_ports(NODES)
        self.addresses = [f"{LOOPBACK}:{port}" for port in self._ports]
        self.notes.append(
            "gets are of the leader's memory, with no round: a deposed leader is stale"
        )

    def version(self) -> str:
        """Of the program."""
        return programs.version([str(self._program), "--version"])

    def start(self) -> None:
        """Start all and wait until they take writes. Raises PeerFailed."""
        for number in range(
            NODES
        ):  # one after another: a follower joins the instance that it finds
            self.nodes.append(self.spawn_node(number))
            wait_until(
                partial(self.answers, number),
                START_S,
                f"node {number} of tarantool answers; {self.logged(f't{number}.log')}",
            )
        wait_until(self._writes, START_S, "tarantool's two followers acknowledge")

    def spawn_node(self, number: int) -> OsProcess:
        """Start this one, for the first time or again."""
        place = self.folder / f"t{number}"
        place.mkdir(exist_ok=True)
        command = ["/usr/bin/env", "-C", str(place), str(self._program), str(SCRIPT)]
        ports = [str(port) for port in self._ports]
        return self.spawn([*command, str(number + 1), *ports], f"t{number}.log", {})

    def leader(self) -> int:
        """The first."""
        return 0

    def failover(self) -> float:
        """There are elections since 2.6.1 only."""
        found = re.search(r"(\d+\.\d+\.\d+)", self.version())
        raise PeerFailed(f"no elections are set up for tarantool {found[1] if found else ''}")

    def answers(self, number: int) -> bool:
        """Its space can be read: recovery is over."""
        return self._asked(number, Operation.GET)

    def _writes(self) -> bool:
        return self._asked(0, Operation.PUT)

    def _asked(self, number: int, operation: Operation) -> bool:
        line = PeerLine(self.peer, self.addresses[number])
        with line.socket:
            id = line.wire.ask(operation, [bytes(KEY_BYTES)], b"x")
            line.flush()
            while True:
                for answered, succeeded in line.receive():
                    if answered == id:
                        return succeeded
