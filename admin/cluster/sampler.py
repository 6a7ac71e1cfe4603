"""Polls every node over persistent connections, and keeps the last answer of each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import trio

from admin.cluster import sides
from admin.cluster.fields import Answer
from admin.cluster.moment import Moment
from admin.cluster.unreachable import UnreachableNode, closed_to_us
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.errors import AccessDenied, QsyncError
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import InfoRequest, PlainRequest, Verb

ANOTHER = "a node of another cluster answers there"
ANSWER_S_MAX = 1.0
"""A node that takes longer counts as silent."""
REDIAL_S = 0.5
SETTINGS_S = 10.0
"""How often settings are read again; they seldom change."""


@dataclass(slots=True)
class AddressState:
    """The state of the node at an address. `sample`: its last answer, kept when it is gone."""

    address: str
    sample: NodeStatus | None = None
    answer: Answer | None = None
    why: str = "not asked yet"
    failed: bool = False
    denied: bool = False
    events: tuple[Answer, ...] = ()
    settings: Answer = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAccount:
    """The status of this process's own node, which needs no request."""

    answer: Answer
    events: tuple[Answer, ...] = ()
    settings: Answer = field(default_factory=dict)


class Sampler:
    """One task a node. `moment()` may be called at any time and never waits."""

    def __init__(
        self,
        seeds: Sequence[str],
        *,
        period: float,
        heard: Callable[[NodeStatus], None] | None = None,
        own: Callable[[], OwnAccount] | None = None,
    ) -> None:
        """`heard` is called with every answer, as it comes; `own` whenever a moment is wanted."""
        self.period = period
        self._own = own
        self._heard = heard
        self._sightings = {address: AddressState(address) for address in seeds}
        self._nursery: trio.Nursery | None = None
        self._answered = trio.Event()

    async def run(self) -> None:
        """Ask until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(trio.sleep_forever)  # members to ask may come at any time
            for sighting in list(self._sightings.values()):
                nursery.start_soon(self._follow, sighting)
            if self._own is not None:
                nursery.start_soon(self._follow_own, self._own)

    async def first(self) -> None:
        """Wait until every node that is known has answered or failed once."""
        await self._answered.wait()

    def moment(self) -> Moment:
        """The last answers of all nodes."""
        said = [
            (each.sample, each.answer, each)
            for each in self._sightings.values()
            if each.sample is not None and each.answer is not None
        ]
        ours, _ = sides.parted(sample for sample, _, _ in said)
        there = {id(each) for each in ours}
        mine = [(sample.id, answer, at) for sample, answer, at in said if id(sample) in there]
        return Moment(
            time=datetime.now(UTC).timestamp(),
            answers={number: answer for number, answer, _ in mine},
            silent=self._silent(ours),
            apart=tuple(answer for sample, answer, _ in said if id(sample) not in there),
            events={number: at.events for number, _, at in mine if at.events},
            settings={number: at.settings for number, _, at in mine if at.settings},
        )

    def _silent(self, ours: Sequence[NodeStatus]) -> tuple[UnreachableNode, ...]:
        """Members that do not answer; if no node does, the addresses that were given."""
        whys = {each.address: each.why for each in self._sightings.values()}
        members = sides.places(ours)
        if not members:
            return tuple(
                UnreachableNode(
                    id=0 if each.sample is None else each.sample.id,
                    name=each.address,
                    address=each.address,
                    why=each.why,
                    denied=each.denied,
                )
                for each in self._sightings.values()
                if each.answer is None
            )
        cluster, closed = ours[0].replicaset.uuid, closed_to_us(ours)
        by_id = {id: each.why for (of, id), each in self._known().items() if of == cluster}
        denied = {each.address for each in self._sightings.values() if each.denied}
        answered = {each.id for each in ours}
        return tuple(
            UnreachableNode(
                id=id,
                name=name,
                address=address,
                why=by_id.get(id) or whys.get(address) or closed or ANOTHER,
                denied=address in denied or (closed is not None and address not in whys),
            )
            for id, (name, address) in sorted(members.items())
            if id not in answered
        )

    def _known(self) -> dict[tuple[str, int], AddressState]:
        """Return the nodes by cluster and id: nodes of two clusters may share an id."""
        return {
            (each.sample.replicaset.uuid, each.sample.id): each
            for each in self._sightings.values()
            if each.sample is not None
        }

    # -- one node

    async def _follow(self, sighting: AddressState) -> None:
        """Dial, ask, and dial again. Ends when another task follows the same node."""
        while True:
            try:
                async with await AsyncNodeConnection.open(
                    sighting.address, timeout=ANSWER_S_MAX
                ) as node:
                    await self._ask(sighting, node)
            except QsyncError as error:
                self._lost(sighting, error)
            else:
                del self._sightings[sighting.address]
                return
            await trio.sleep(REDIAL_S)

    async def _follow_own(self, account: Callable[[], OwnAccount]) -> None:
        """Take the status of this process's own node, and poll the members that it names."""
        while True:
            own = account()
            sample = decode.status(own.answer)
            there = self._sightings.setdefault(sample.address, AddressState(sample.address))
            there.sample, there.answer, there.why = sample, own.answer, ""
            there.events, there.settings = own.events, own.settings
            self._meet(sample)
            await trio.sleep_until(next_round(trio.current_time(), self.period))

    async def _ask(self, sighting: AddressState, node: AsyncNodeConnection) -> None:
        """Poll until another task polls this node. Raises when the connection breaks."""
        known_events, settings_at = -1, float("-inf")
        while True:
            begun = trio.current_time()
            asked = {"asked": time.monotonic_ns()}
            answer = replies.read_map(await node.ask(PlainRequest(0, Verb.STATUS))) | asked
            sample = decode.status(answer)
            if self._is_followed(sighting, sample):
                return
            if self._heard is not None:
                self._heard(sample)
            if sample.events != known_events:
                known_events = sample.events
                sighting.events = _maps(await node.ask(InfoRequest(0, "events")))
            if begun - settings_at > SETTINGS_S:
                settings_at = begun
                sighting.settings = replies.read_map(await node.ask(InfoRequest(0, "settings")))
            sighting.sample, sighting.answer, sighting.why = sample, answer, ""
            sighting.denied = False
            self._meet(sample)
            await trio.sleep_until(next_round(begun, self.period))

    def _lost(self, sighting: AddressState, error: QsyncError) -> None:
        told = error.details.get("nodes")
        whys = told if isinstance(told, Mapping) else {}
        sighting.why = str(whys.get(sighting.address, error))
        sighting.answer, sighting.failed = None, True
        sighting.denied = isinstance(error, AccessDenied)
        self._tell()

    def _is_followed(self, sighting: AddressState, sample: NodeStatus) -> bool:
        """Return whether the node is sampled already, under another address."""
        others = [each for each in self._sightings.values() if each is not sighting]
        there = [each.sample for each in others if each.answer is not None]
        return any(each is not None and _who(each) == _who(sample) for each in there)

    def _meet(self, sample: NodeStatus) -> None:
        """Poll the members that it names, unless they are polled already."""
        known, cluster = self._known(), sample.replicaset.uuid
        if closed_to_us([sample]) is not None:
            self._tell()
            return
        for id, _, address in sample.nodes:
            if (cluster, id) in known:
                continue
            if address not in self._sightings and self._nursery is not None:
                fresh = self._sightings[address] = AddressState(address)
                self._nursery.start_soon(self._follow, fresh)
        self._tell()

    def _tell(self) -> None:
        asked = [each.answer is not None or each.failed for each in self._sightings.values()]
        if all(asked):
            self._answered.set()


def next_round(now: float, period: float) -> float:
    """The time of the next poll of all nodes, so that their answers can be compared."""
    return (now // period + 1) * period


def _who(sample: NodeStatus) -> tuple[str, int, str]:
    return sample.replicaset.uuid, sample.id, sample.uuid


def _maps(values: list[object]) -> tuple[Answer, ...]:
    found = values[0] if values else None
    if not isinstance(found, list | tuple):
        return ()
    return tuple(each for each in found if isinstance(each, Mapping))
