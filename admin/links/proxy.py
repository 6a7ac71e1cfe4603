"""Carries every link of a lab in one process, as well or as badly as its rule says."""

import json
import random
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import trio

from admin.lab.ports import LOOPBACK
from admin.links.rules import WHOLE, DirectedLink, LinkRule, rule_from
from qsync.errors import ConfigError

PIECE_BYTES = 64 * 1024
PIECES_MAX = 256
"""How many pieces may be in flight at once before the sender has to wait."""
STALL_S = 0.2
"""The first delay of a lost packet (the minimum retransmission timeout of Linux)."""
BACK_S = 0.05
"""How often it is tried whether a node that was gone listens again."""
REQUEST_BYTES_MAX = 1 << 20


@dataclass(slots=True)
class ProxiedConnection:
    """One link: where it leads, its rule, and the connections on it."""

    link: DirectedLink
    target: tuple[str, int]
    rule: LinkRule = WHOLE
    since: float = 0.0
    changed: trio.Event = field(default_factory=trio.Event)
    open: set[trio.SocketStream] = field(default_factory=set)
    dead: set[trio.SocketStream] = field(default_factory=set)
    """Bytes to these are dropped silently."""
    carried: int = 0
    listening: trio.CancelScope | None = None

    def set(self, rule: LinkRule) -> None:
        """From now on."""
        self.rule, self.since = rule, trio.current_time()
        self.changed.set()
        self.changed = trio.Event()
        if rule.refuse:
            self.reset()
        if rule.half_open:
            self.dead |= self.open

    def reset(self) -> None:
        """Break every connection, as a firewall that answers with RST."""
        for stream in list(self.open):
            _reset(stream)

    async def passable(self) -> None:
        """Wait until something may pass."""
        while (rule := self.rule).cut_at(trio.current_time() - self.since):
            changed = self.changed
            with trio.move_on_after(_until_turn(rule, trio.current_time() - self.since)):
                await changed.wait()


class Proxy:
    """All links of a lab, and the connection that controls them."""

    def __init__(
        self, roads: Mapping[DirectedLink, ProxiedConnection], *, seed: int | None = None
    ) -> None:
        self.roads = dict(roads)
        self._dice = random.Random(seed)  # noqa: S311 - weather, not a secret

    async def serve(
        self,
        ports: Mapping[DirectedLink, int],
        control: int,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run until cancelled. Raises OSError when a port is taken."""
        async with trio.open_nursery() as nursery:
            for link, port in ports.items():
                await nursery.start(self._listen, self.roads[link], port, nursery)
            await nursery.start(partial(trio.serve_tcp, self._told, control, host=LOOPBACK))
            task_status.started()

    async def _listen(
        self,
        road: ProxiedConnection,
        port: int,
        connections: trio.Nursery,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Listen while the node does: who dials one that is gone is refused at once, as without us.

        A node tells a dead process from a silent one by that.
        """
        take = partial(self._carry, road)
        while True:
            listeners = await trio.open_tcp_listeners(port, host=LOOPBACK)
            with trio.CancelScope() as road.listening:
                task_status.started()
                task_status = trio.TASK_STATUS_IGNORED
                await trio.serve_listeners(take, listeners, handler_nursery=connections)
            for listener in listeners:
                await trio.aclose_forcefully(listener)
            await self._back(road)

    async def _back(self, road: ProxiedConnection) -> None:
        """Wait until the node listens again, or the link is spoiled."""
        while True:
            if not road.rule.whole or not await self._gone(road):
                return
            with trio.move_on_after(BACK_S):
                await road.changed.wait()

    async def _gone(self, road: ProxiedConnection) -> bool:
        """Nothing listens at the other end."""
        try:
            stream = await trio.open_tcp_stream(*road.target)
        except OSError:
            return True
        await trio.aclose_forcefully(stream)
        return False

    async def _look_whether_gone(self, road: ProxiedConnection) -> None:
        """A connection ended: is the node gone? A spoiled link gives nothing away."""
        if road.rule.whole and road.listening is not None and await self._gone(road):
            road.listening.cancel()

    async def _carry(self, road: ProxiedConnection, near: trio.SocketStream) -> None:
        if road.rule.refuse:
            _reset(near)
            return
        await road.passable()
        try:
            far = await trio.open_tcp_stream(*road.target)
        except OSError:
            await self._look_whether_gone(road)
            _reset(near)  # nothing listens there: the dialling side must see the same
            return
        for stream in (near, far):
            stream.setsockopt(trio.socket.IPPROTO_TCP, trio.socket.TCP_NODELAY, 1)
            road.open.add(stream)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._one_way, road, near, far, nursery.cancel_scope)
                nursery.start_soon(self._one_way, road, far, near, nursery.cancel_scope)
            await self._look_whether_gone(road)
        finally:
            road.open -= {near, far}
            road.dead -= {near, far}
            for stream in (near, far):
                _reset(stream)

    async def _one_way(
        self,
        road: ProxiedConnection,
        source: trio.SocketStream,
        target: trio.SocketStream,
        both: trio.CancelScope,
    ) -> None:
        """Until either side ends; then the whole connection ends."""
        try:
            async with trio.open_nursery() as nursery:
                send, receive = trio.open_memory_channel[tuple[float, bytes]](PIECES_MAX)
                nursery.start_soon(self._receive, road, source, send)
                await self._deliver(road, receive, target)
                nursery.cancel_scope.cancel()
        finally:
            both.cancel()

    async def _receive(
        self,
        road: ProxiedConnection,
        source: trio.SocketStream,
        send: trio.MemorySendChannel[tuple[float, bytes]],
    ) -> None:
        last = 0.0
        async with send:
            while True:
                try:
                    piece = await source.receive_some(PIECE_BYTES)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return
                if not piece:
                    return
                last = max(last, trio.current_time() + self._held_back(road.rule))
                await send.send((last, piece))

    async def _deliver(
        self,
        road: ProxiedConnection,
        receive: trio.MemoryReceiveChannel[tuple[float, bytes]],
        target: trio.SocketStream,
    ) -> None:
        async for due, piece in receive:
            if due > trio.current_time():
                await trio.sleep_until(due)
            await road.passable()
            if target in road.dead:
                continue
            try:
                await target.send_all(self._flipped(road.rule, piece))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return
            road.carried += len(piece)
            if road.rule.rate:
                await trio.sleep(len(piece) / road.rule.rate)

    def _held_back(self, rule: LinkRule) -> float:
        """Seconds for the next piece."""
        if rule.whole:
            return 0.0
        held = rule.delay + rule.jitter * self._dice.random()
        stall = STALL_S
        while rule.stall and self._dice.random() < rule.stall and stall < STALL_S * 16:
            held += stall
            stall *= 2
        return held

    def _flipped(self, rule: LinkRule, piece: bytes) -> bytes:
        """With one bit as the other, if the dice say so."""
        if not rule.flip or self._dice.random() >= rule.flip:
            return piece
        spoiled = bytearray(piece)
        spoiled[self._dice.randrange(len(piece))] ^= 1 << self._dice.randrange(8)
        return bytes(spoiled)

    # -- being told

    async def _told(self, stream: trio.SocketStream) -> None:
        """One JSON object a line in, one out."""
        buffer = b""
        async with stream:
            async for received in stream:
                buffer += received
                if len(buffer) > REQUEST_BYTES_MAX:
                    return
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    await stream.send_all(json.dumps(self._answer(line)).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, object]:
        try:
            asked = json.loads(line)
            wanted = [
                (self.roads[DirectedLink(*each["link"])], rule_from(each["rule"]))
                for each in asked.get("set", [])
            ]
            for road, rule in wanted:
                road.set(rule)
            for name in asked.get("reset", []):
                self.roads[DirectedLink(*name)].reset()
            if asked.get("heal"):
                for road in self.roads.values():
                    road.set(WHOLE)
        except (ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
            return {"error": str(error)}
        return {
            "links": [
                {"link": list(road.link), "rule": road.rule.as_json(), "carried": road.carried}
                for road in self.roads.values()
            ]
        }


def _until_turn(rule: LinkRule, seconds: float) -> float:
    """The time until a flapping link changes; a cut one waits for a command."""
    return float("inf") if rule.cut else rule.flap - seconds % rule.flap


def _reset(stream: trio.SocketStream) -> None:
    """Close so that the other side sees a reset and not an orderly end."""
    try:
        linger = struct.pack("ii", 1, 0)
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, linger)
    except OSError:
        pass  # it is closed already
    stream.socket.close()
