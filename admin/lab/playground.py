"""A small cluster of real processes that a test may break: the pytest fixture."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path

from admin.cluster import settling, surveys
from admin.cluster.surveys import ClusterSurvey
from admin.lab import lab
from admin.lab.lab import Lab, LabNode
from admin.lab.secure import client_tls, have_users
from admin.links.rules import DirectedLink, LinkRule
from qsync.client.aio import AsyncClient, connect_async
from qsync.client.blocking import Client, connect
from qsync.client.security import assumed
from qsync.errors import ConfigError, Unavailable

NODES = 3
UP_TIMEOUT_S = 20.0
TIMEOUT_S = 10.0
"""The default time limit of the methods that wait."""
_ASKED_AGAIN_S = 0.02


class Playground:
    """Nodes are called n1, n2, n3 ... and may be killed, paused, cut off and brought back.

    A `secure` one speaks TLS and has users. Until it is closed the environment of this process says
    how to dial and log in there, so whatever dials dials so.
    """

    def __init__(
        self,
        directory: Path,
        *,
        nodes: int = NODES,
        options: Mapping[str, str] | None = None,
        secure: bool = False,
    ) -> None:
        """Start the nodes and wait until they take writes. Raises Unavailable."""
        self.lab: Lab = lab.create(
            directory, name=directory.name, nodes=nodes, options=options, links=True, secure=secure
        )
        self._dialling = ExitStack()
        try:
            if secure:
                self._dialling.enter_context(assumed(client_tls(directory)))
            self.lab.start_all()
            settling.wait_writable(self.addresses, timeout=UP_TIMEOUT_S)
            if secure:
                have_users(directory, self.addresses)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End every process."""
        with self._dialling:
            self.lab.stop_all()

    # -- talking to it

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the nodes, running or not."""
        return self.lab.addresses

    @property
    def names(self) -> list[str]:
        """The nodes."""
        return [node.name for node in self.lab.nodes]

    def connect(self, *, timeout: float = TIMEOUT_S) -> Client:
        """A blocking client."""
        return connect(self.addresses, timeout=timeout)

    def connect_async(
        self,
        *,
        timeout: float = TIMEOUT_S,
    ) -> AbstractAsyncContextManager[AsyncClient]:
        """A client for Trio and asyncio: `async with qsync_cluster.connect_async() as db`."""
        return connect_async(self.addresses, timeout=timeout)

    @property
    def leader(self) -> str | None:
        """Return the name of the leader that takes writes, or None."""
        return self._leader_among(self.names)

    # -- breaking it

    def kill(self, node: str) -> None:
        """Kill the node with SIGKILL, and wait until its process is gone."""
        self.lab.kill(self.lab.node(node))

    def kill_leader(self) -> str:
        """Kill the leader and return its name. Raises Unavailable without a leader."""
        leader = self.leader
        if leader is None:
            raise Unavailable("there is no leader to kill")
        self.kill(leader)
        return leader

    def pause(self, node: str) -> None:
        """Stop the process with SIGSTOP, at an arbitrary moment."""
        self.lab.pause(self.lab.node(node))

    def resume(self, node: str) -> None:
        """Resume a paused node."""
        self.lab.resume(self.lab.node(node))

    def partition(self, *groups: Collection[str]) -> None:
        """Let nodes reach only their own group; nodes of no group are isolated."""
        known = self.names
        for name in (name for group in groups for name in group):
            self.lab.node(name)  # raises ConfigError naming those there are
        place = {name: number for number, group in enumerate(groups) for name in group}
        if len(place) != sum(map(len, groups)):
            raise ConfigError("a node stands in two groups of a partition")
        cut = [
            DirectedLink(a, b)
            for a in known
            for b in known
            if a != b and (a not in place or place.get(a) != place.get(b))
        ]
        self.lab.control.heal()
        self.lab.control.set(cut, LinkRule(cut=True))

    # -- mending it

    def start(self, node: str) -> None:
        """Start a killed node again, and wait until it answers."""
        one = self.lab.node(node)
        self.lab.start(one)
        settling.wait_answers(one.address, timeout=UP_TIMEOUT_S)

    def heal(self) -> None:
        """Remove all faults: mend links, resume paused nodes, start killed ones."""
        self.lab.control.heal()
        for node in self.lab.nodes:
            if node.process is None:
                self.start(node.name)
            else:
                self.lab.resume(node)

    # -- waiting for facts

    def wait_writable(
        self, *, timeout: float = TIMEOUT_S, among: Collection[str] | None = None
    ) -> str:
        """Wait until a node takes writes, and return its name. `among`: only these count."""
        wanted = list(self.names if among is None else among)
        found: list[str] = []

        def writable() -> bool:
            leader = self._leader_among(wanted)
            if leader is not None:
                found.append(leader)
            return leader is not None

        self.wait_until(writable, f"one of {', '.join(wanted)} takes writes", timeout=timeout)
        return found[-1]

    def wait_healthy(self, *, timeout: float = TIMEOUT_S) -> None:
        """Wait until all nodes are connected to a leader that accepts writes."""

        def healthy() -> bool:
            survey = self._survey(self.lab.nodes)
            return (
                survey is not None and surveys.judge(survey).health is surveys.ClusterHealth.HEALTHY
            )

        self.wait_until(healthy, "all nodes are in touch", timeout=timeout)

    def wait_until(
        self, fact: Callable[[], bool], what: str, *, timeout: float = TIMEOUT_S
    ) -> None:
        """Poll a condition. Raises Unavailable that names what did not happen."""
        deadline = time.monotonic() + timeout
        while not fact():
            if time.monotonic() > deadline:
                raise Unavailable(f"not within {timeout:g} s: {what}")
            time.sleep(_ASKED_AGAIN_S)

    def _leader_among(self, names: Collection[str]) -> str | None:
        survey = self._survey([self.lab.node(name) for name in names])
        if survey is None:
            return None
        writable = [each for each in survey.samples if each.leads and not each.ro]
        newest = max(writable, key=lambda each: each.term, default=None)
        return None if newest is None or newest.name not in names else newest.name

    def _survey(self, nodes: Collection[LabNode]) -> ClusterSurvey | None:
        running = [node for node in nodes if node.process is not None]
        try:
            return surveys.survey([node.address for node in running], timeout=0.5)
        except Unavailable:
            return None
