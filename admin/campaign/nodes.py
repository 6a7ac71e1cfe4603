"""The node processes of a campaign: which should run, and which ended by themselves."""

import contextlib
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from admin.campaign.book import CampaignHistory
from admin.campaign.figures import BrokenPromise
from admin.lab.lab import DATA_PARTS, Lab, LabNode
from qsync.directory_files import IDENTITY

LOOK_S = 0.2
LAST_CHARACTERS = 600


class Nodes:
    """All nodes of the lab."""

    def __init__(self, lab: Lab, book: CampaignHistory) -> None:
        self.lab = lab
        self._book = book
        self._lives: Counter[int] = Counter()
        self._wanted: set[int] = set()
        self._locks = {node.id: trio.Lock() for node in lab.nodes}

    @property
    def all(self) -> Sequence[LabNode]:
        """Return all nodes, running or not."""
        return self.lab.nodes

    def life(self, node: LabNode) -> int:
        """Return the number of this node's process, which changes when it is asked to end."""
        return self._lives[node.id]

    @asynccontextmanager
    async def held(self, *nodes: LabNode) -> AsyncGenerator[None]:
        """Prevent others from starting, ending or stopping these nodes meanwhile."""
        async with contextlib.AsyncExitStack() as stack:
            for node in sorted(nodes, key=lambda each: each.id):
                await stack.enter_async_context(self._locks[node.id])
            yield

    def start(self, node: LabNode) -> None:
        """Start the node."""
        self.lab.start(node)
        self._wanted.add(node.id)

    async def kill(self, node: LabNode) -> None:
        """Kill the node."""
        self._lives[node.id] += 1
        self._wanted.discard(node.id)
        process = node.process
        if process is not None:
            process.send(signal.SIGKILL)
            await trio.to_thread.run_sync(process.wait_gone, 10.0)

    def signal(self, node: LabNode, number: signal.Signals) -> None:
        """Send a signal to the node, if it runs."""
        process = node.process
        if process is not None:
            process.send(number)

    def room(self, node: LabNode, *, full: bool) -> None:
        """Allow or forbid the node's files to grow."""
        process = node.process
        if process is not None:
            process.limit_files(0 if full else None)

    def wipe(self, node: LabNode, *, identity: bool) -> None:
        """Delete the data of a stopped node; with its `identity` too, it is a new disk."""
        self.lab.wipe(node)
        if identity:
            (node.dir / IDENTITY).unlink(missing_ok=True)

    def put_aside(self, node: LabNode, aside: Path) -> None:
        """Move the directory of a stopped node away; nothing takes its place."""
        aside.mkdir()
        for part in (*DATA_PARTS, IDENTITY):
            if (node.dir / part).exists():
                (node.dir / part).rename(aside / part)

    def put_back(self, node: LabNode, aside: Path) -> None:
        """Put the directory back, in place of the present one."""
        self.wipe(node, identity=True)
        for part in sorted(aside.iterdir()):
            part.rename(node.dir / part.name)
        aside.rmdir()

    async def watch_for_ever(self) -> None:
        """Record each process that ends unexpectedly."""
        while True:
            for node in self.all:
                if node.id in self._wanted and node.process is None:
                    self._wanted.discard(node.id)
                    self._lives[node.id] += 1
                    self._book.broken(
                        BrokenPromise.ENDED, f"{node.name} ended: {_last_words(node)}"
                    )
            await trio.sleep(LOOK_S)


def _last_words(node: LabNode) -> str:
    try:
        return node.log.read_text("utf-8", "replace")[-LAST_CHARACTERS:].strip()
    except OSError as error:
        return str(error)
