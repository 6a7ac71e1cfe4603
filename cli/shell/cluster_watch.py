"""The state of the cluster at the prompt, updated in the background, and its changes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import trio

from admin.box.session import Box
from cli.shell.complete import ClusterNames
from cli.shell.settings import ShellSettings
from cli.shell.slash import COMMANDS
from cli.shell.talk import InteractiveShell
from qsync.errors import QsyncError
from qsync.status import decode
from qsync.status.members import IN_TOUCH
from qsync.status.record import NodeStatus

LOOK_S: Final = 1.0
"""The maximum time between status requests to the node."""
NAMES_S: Final = 3.0
"""How often the names of spaces are requested."""
ARM_S: Final = 120.0
"""For how long a request keeps the nodes' traces on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStanding:
    """The last known status of the node."""

    cluster: str = ""
    node: str = ""
    role: str = ""
    term: int = 0
    leader: str | None = None
    away: tuple[str, ...] = ()
    reached: bool = True
    production: bool = False

    @property
    def mark(self) -> str:
        """`*` leads, `!` a member is away, `?` there is no leader, `~` no answer."""
        if not self.reached:
            return "~"
        if self.leader is None:
            return "?"
        return ("*" if self.role == "leader" else "") + ("!" if self.away else "")

    def prompt(self, *, open_: bool) -> str:
        """`demo/n1*:7(tx)> `."""
        tx = "(tx)" if open_ else ""
        return f"{self.cluster}/{self.node}{self.mark}:{self.term}{tx}> "


def read(status: NodeStatus, former: NodeStanding) -> NodeStanding:
    """Read it from the status of a node."""
    return replace(
        former,
        node=status.name,
        role=status.role,
        term=status.term,
        leader=status.leader_name,
        away=tuple(each.name for each in status.peers if each.status != IN_TOUCH),
        reached=True,
    )


def news(former: NodeStanding, now: NodeStanding) -> list[str]:
    """Return the changes, in sentences."""
    if not former.node:
        return []
    sentences: list[str] = []
    if former.reached and not now.reached:
        sentences.append(f"{former.node} does not answer")
    elif now.reached and not former.reached and former.node == now.node:
        sentences.append(f"{now.node} answers again")
    if not now.reached:
        return sentences
    if former.leader != now.leader:
        if now.leader is None:
            sentences.append(f"there is no leader any more (term {now.term})")
        else:
            was = f"{former.leader} -> " if former.leader else ""
            sentences.append(f"leader moved {was}{now.leader}, term {now.term}")
    if former.node == now.node and former.leader == now.leader:
        sentences += [f"{name} is away" for name in now.away if name not in former.away]
        sentences += [f"{name} is back" for name in former.away if name not in now.away]
    return sentences


def _nothing() -> None:
    """The default: no prompt is shown yet."""


@dataclass(slots=True)
class Watcher:
    """Polls in the background, reports changes, and follows the leader."""

    talk: InteractiveShell
    standing: NodeStanding = field(default_factory=NodeStanding)
    names: ClusterNames = field(default_factory=ClusterNames)
    redraw: Callable[[], None] = _nothing

    async def run(self) -> None:
        """Until cancelled."""
        self.talk.nursery.start_soon(self._keep_names)
        while True:
            await self.look()
            await self._wait()

    async def look(self) -> None:
        """Ask once."""
        talk, former = self.talk, self.standing
        base = replace(former, cluster=talk.cluster, production=talk.production)
        try:
            now = read(decode.status(await talk.box.node.status()), base)
        except QsyncError:
            now = replace(base, reached=False, node=talk.box.name or former.node)
        self.standing = now
        if now != former:
            self.redraw()
        for sentence in news(former, now):
            talk.voices.say(sentence)
        if not now.reached or now.role != "leader":
            await self._follow()

    async def _follow(self) -> None:
        """Connect to the leader; without one, to any node that answers."""
        box = self.talk.box
        former = box.name
        try:
            if self.standing.reached or box.place.pinned:
                await box.follow()
            else:
                await box.use(None)
        except QsyncError:
            return
        if box.name != former:
            self.talk.voices.say(f"this is {box.name} now")

    async def _wait(self) -> None:
        """Wait until the election changes, or for a short time."""
        with trio.move_on_after(LOOK_S):
            try:
                values = self.talk.box.watch("box.election")
                await anext(values)
                await anext(values)
            except QsyncError:
                await trio.sleep(LOOK_S)

    async def _keep_names(self) -> None:
        armed_until = -math.inf
        while True:
            box = self.talk.box
            try:
                self.names = await names_of(box)
                if self.talk.settings.trace and trio.current_time() > armed_until:
                    armed_until = trio.current_time() + ARM_S / 2
                    await self._arm(box)
            except QsyncError:
                self.names = replace(self.names, nodes=tuple(box.members))
            await trio.sleep(NAMES_S)

    async def _arm(self, box: Box) -> None:
        """Let every member that answers trace writes."""
        for address in box.members.values():
            try:
                await box.place.traced(address, 1, arm=ARM_S)
            except QsyncError:
                continue


async def names_of(box: Box) -> ClusterNames:
    """Return the names in the cluster, for completion."""
    shapes = await box.schema.shapes()
    spaces = {
        each.name: (
            tuple(str(field["name"]) for field in each.format),
            tuple(index.name for index in each.indexes),
        )
        for each in shapes.values()
    }
    return ClusterNames(
        spaces=spaces,
        nodes=tuple(box.members),
        commands={name: each.about.partition(". ")[0] for name, each in COMMANDS.items()},
        settings=ShellSettings.names(),
    )
