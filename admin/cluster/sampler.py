"""Asks every node again and again over connections that stay, and keeps what each said last."""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import trio

from admin.cluster.moment import Moment
from admin.cluster.surveys import UnreachableNode
from admin.status.fields import Answer
from admin.status.sample import NodeSample
from qsync.errors import ProtocolError, QsyncError
from qsync.wire import replies, requests
from qsync.wire.frames import Frames
from qsync.wire.session import Dialer, Hello, Party
from qsync.wire.verbs import InfoRequest, PlainRequest, Request, Verb

ANSWER_S_MAX = 1.0
"""A node that takes longer counts as silent."""
REDIAL_S = 0.5
SETTINGS_S = 10.0
"""How often settings are read again; they seldom change."""
_RECEIVE_BYTES = 256 * 1024


@dataclass(slots=True)
class AddressState:
    """What is known of the node at an address. `id` 0 until it has answered once."""

    address: str
    id: int = 0
    answer: Answer | None = None
    why: str = "not asked yet"
    events: tuple[Answer, ...] = ()
    settings: Answer = field(default_factory=dict)


class Sampler:
    """One task a node. `moment()` may be called at any time and never waits."""

    def __init__(
        self,
        seeds: Sequence[str],
        *,
        period: float,
        heard: Callable[[NodeSample], None] | None = None,
    ) -> None:
        """`heard` is called with every answer, as it comes."""
        self.period = period
        self._heard = heard
        self._sightings = {address: AddressState(address) for address in seeds}
        self._nursery: trio.Nursery | None = None
        self._answered = trio.Event()

    async def run(self) -> None:
        """Ask until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for sighting in list(self._sightings.values()):
                nursery.start_soon(self._follow, sighting)

    async def first(self) -> None:
        """Wait until every node that is known has answered or failed once."""
        await self._answered.wait()

    def moment(self) -> Moment:
        """What all of them said last."""
        there = [each for each in self._sightings.values() if each.id and each.answer is not None]
        answers = {each.id: each.answer for each in there if each.answer is not None}
        return Moment(
            time=datetime.now(UTC).timestamp(),
            answers=answers,
            silent=self._silent(answers),
            events={each.id: each.events for each in there if each.events},
            settings={each.id: each.settings for each in there if each.settings},
        )

    def _silent(self, answers: Mapping[int, Answer]) -> tuple[UnreachableNode, ...]:
        """Members that do not answer; while nobody does, the addresses that were given."""
        whys = {each.address: each.why for each in self._sightings.values()}
        members = _members(answers)
        if not members:
            return tuple(
                UnreachableNode(id=each.id, name=each.address, address=each.address, why=each.why)
                for each in self._sightings.values()
            )
        by_id = {each.id: each for each in self._sightings.values() if each.id}
        found = []
        for id, (name, address) in sorted(members.items()):
            if id not in answers:
                known = by_id.get(id)
                why = known.why if known is not None else whys.get(address, "not asked yet")
                found.append(UnreachableNode(id=id, name=name, address=address, why=why))
        return tuple(found)

    # -- one node

    async def _follow(self, sighting: AddressState) -> None:
        """Dial, ask, and dial again. Ends when another task follows the same node."""
        while True:
            try:
                with trio.fail_after(ANSWER_S_MAX):
                    line = await _Line.dial(sighting.address)
            except (OSError, QsyncError, trio.TooSlowError, trio.BrokenResourceError) as error:
                self._lost(sighting, error)
            else:
                async with line.stream:
                    if not await self._ask(sighting, line):
                        del self._sightings[sighting.address]
                        return
            await trio.sleep(REDIAL_S)

    async def _ask(self, sighting: AddressState, line: "_Line") -> bool:
        """Ask until the connection breaks. False when somebody else asks this node already."""
        known_events, settings_at = -1, float("-inf")
        try:
            while True:
                next_at = trio.current_time() + self.period
                with trio.fail_after(ANSWER_S_MAX):
                    asked = {"asked": time.monotonic_ns()}
                    answer = replies.read_map(await line.ask(PlainRequest(0, Verb.STATUS))) | asked
                    sample = NodeSample.read(answer)
                    if self._is_followed(sighting, sample):
                        return False
                    if self._heard is not None:
                        self._heard(sample)
                    if sample.events != known_events:
                        known_events = sample.events
                        sighting.events = _maps(await line.ask(InfoRequest(0, "events")))
                    if trio.current_time() - settings_at > SETTINGS_S:
                        settings_at = trio.current_time()
                        sighting.settings = replies.read_map(
                            await line.ask(InfoRequest(0, "settings"))
                        )
                sighting.id, sighting.answer, sighting.why = sample.id, answer, ""
                self._meet(sample)
                await trio.sleep_until(next_at)
        except (OSError, QsyncError, trio.TooSlowError, trio.BrokenResourceError) as error:
            self._lost(sighting, error)
            return True

    def _lost(self, sighting: AddressState, error: Exception) -> None:
        slow = isinstance(error, trio.TooSlowError)
        sighting.why = "no answer in time" if slow else _words(error)
        sighting.answer = None
        self._tell()

    def _is_followed(self, sighting: AddressState, sample: NodeSample) -> bool:
        """The same node under another address."""
        others = [each for each in self._sightings.values() if each is not sighting]
        return any(each.id == sample.id and each.answer is not None for each in others)

    def _meet(self, sample: NodeSample) -> None:
        """Follow the members that it names, unless they are followed already."""
        ids = {each.id for each in self._sightings.values()}
        for id, _, address in sample.nodes:
            if id not in ids and address not in self._sightings and self._nursery is not None:
                fresh = self._sightings[address] = AddressState(address)
                self._nursery.start_soon(self._follow, fresh)
        self._tell()

    def _tell(self) -> None:
        asked = [
            each.answer is not None or each.why != "not asked yet"
            for each in self._sightings.values()
        ]
        if all(asked):
            self._answered.set()


class _Line:
    """A connection on which one thing is asked after another."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._frames = Frames()
        self._waiting: deque[bytes] = deque()
        self._number = 0

    @classmethod
    async def dial(cls, address: str) -> "_Line":
        """Connect and shake hands. The stream is closed when that fails."""
        host, _, port = address.rpartition(":")
        stream = await trio.open_tcp_stream(host.strip("[]"), int(port))
        try:
            line = cls(stream)
            dialer = Dialer(Hello(party=Party.CLIENT))
            hello = dialer.received(await line.payload())
            assert hello is not None
            await stream.send_all(hello)
            dialer.received(await line.payload())
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return line

    async def ask(self, request: Request) -> list[object]:
        """The values of the answer. Raises the error that was answered."""
        self._number += 1
        await self.stream.send_all(requests.encode(request._replace(id=self._number)))
        while True:
            number, answer = replies.decode(await self.payload())
            if number == self._number:
                if isinstance(answer, QsyncError):
                    raise answer
                return answer

    async def payload(self) -> bytes:
        """The next one."""
        while not self._waiting:
            received = await self.stream.receive_some(_RECEIVE_BYTES)
            if not received:
                raise ProtocolError("it hung up")
            self._waiting.extend(self._frames.feed(bytes(received)))
        return self._waiting.popleft()


def _members(answers: Mapping[int, Answer]) -> dict[int, tuple[str, str]]:
    samples = [NodeSample.read(answer) for answer in answers.values()]
    return {id: (name, address) for each in samples for id, name, address in each.nodes}


def _maps(values: list[object]) -> tuple[Answer, ...]:
    found = values[0] if values else None
    if not isinstance(found, list | tuple):
        return ()
    return tuple(each for each in found if isinstance(each, Mapping))


def _words(error: Exception) -> str:
    # trio sums up its attempts; the reason of one of them says more.
    told: BaseException = error.__cause__ or error
    while isinstance(told, BaseExceptionGroup):
        told = told.exceptions[-1]
    number = told.errno if isinstance(told, OSError) else None
    return str(told) if number is None else os.strerror(number)
