"""A program with the shipped client: one core and one pump on a machine of its own.

`qsync.client` sends, retries, redirects and concludes what its hands ask (see `client.py`).
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from qsync.client import targets
from qsync.client.async_.feeds import AsyncFeed
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.core import Core
from qsync.client.numbering import SEED_BYTES, Token
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.pump import Pump
from qsync.core.consistency import Consistency
from qsync.errors import Outcome
from qsync.sim.history import SimHistory
from qsync.sim.kernel.calls import Calls
from qsync.sim.kernel.impatience import EarlyQuestion
from qsync.sim.kernel.machine import Computer
from qsync.sim.kernel.numbers import SentNumbers
from qsync.sim.kernel.poll import SimulatedPoll, Wait
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.streams import FAMILY, SimulatedSocket
from qsync.sim.promises import ClientPromises
from qsync.wire.session import Hello, Party
from qsync.wire.verbs import Request, WriteRequest

if TYPE_CHECKING:
    from qsync.sim.dice import RandomStream


class ClientEnvironment(NamedTuple):
    """The shared parts of all programs."""

    addresses: tuple[str, ...]
    promises: ClientPromises
    history: SimHistory
    timeout: float
    fresh: frozenset[Consistency]
    """Reads of these kinds show every write answered before they began."""
    leased: float
    """How often a read uses the leader's lease instead of a quorum round."""
    resolves: float
    """How often a program asks again for the outcome of an unknown write."""


class _System:
    """The system calls of the client."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.now = calls.now
        self.sleep = calls.sleep
        self.made: SimulatedPoll | None = None

    def socket(self, family: int) -> SimulatedSocket:
        """A stream socket."""
        return self._calls.socket(family)

    def poll(self) -> SimulatedPoll:
        """The poll of the pump."""
        self.made = self._calls.poll()
        return self.made

    def resolved(self, address: str) -> list[tuple[int, tuple[str, int]]]:
        """Names are numeric addresses here."""
        return [(FAMILY, targets.split(address))]


class Program:
    """One process with a client, on its own machine.

    `direct`: it uses one node only, of any role, and does not retry.
    """

    def __init__(
        self,
        computer: Computer,
        around: ClientEnvironment,
        dice: "RandomStream",
        *,
        direct: bool = False,
    ) -> None:
        self.around = around
        self.dice = dice
        self.computer = computer
        self._stays = True
        self.core, self.pump, self._system = self._client(KernelProcess(computer, 1), direct=direct)
        self.now = self._system.now
        self.began: Callable[[AsyncTransaction | AsyncFeed], None] = _nothing
        """A transaction or a feed begins; a mutant may break it."""

    def _client(self, process: KernelProcess, *, direct: bool) -> tuple[Core, Pump, _System]:
        self.process = process
        system = _System(Calls(process, self.computer.disk))
        core = Core(targets.parse(self.around.addresses), dice=self.dice, direct=direct)
        return core, Pump(core, system), system

    def take_any_cluster(self) -> None:
        """Take any cluster for its own from now on. The client that ships stays with its first."""
        self._stays = False
        self._forget_cluster()

    def start(self) -> None:
        """The pump, and every hand."""
        self.process.spawn(self._run)

    def end(self) -> None:
        """As by kill: the peers of its connections are notified."""
        process = self.process
        now = max(process.at, self.computer.room.clockwork.now)
        self.computer.room.net.stopped(process.open_files(), now, silent=False)
        process.dead = True
        process.bury()

    async def _run(self) -> None:
        while True:
            self.turn()
            await Wait(poll=self._system.made, due=self.core.wake_at)

    def turn(self) -> None:
        """Do what can be done without waiting."""
        self.pump.turn()
        if not self._stays:
            self._forget_cluster()

    def _forget_cluster(self) -> None:
        self.core.wires._hello = Hello(party=Party.CLIENT)  # noqa: SLF001 - what ships does not

    async def sleep(self, seconds: float) -> None:
        """So long."""
        await self._system.sleep(seconds)

    async def write(
        self,
        request: Callable[[int], Request],
        sent: SentNumbers,
        *,
        early: EarlyQuestion | None,
    ) -> list[PendingRequest]:
        """Until its outcome is known, or finally unknown: all that was answered about it."""
        ask = self._submit(RetryKind.WRITE, request, sent=sent)
        asks = [ask]
        if early is not None:
            asks += await self._ask_early(ask, early, sent)
        for each in asks:
            await self._settled(each)
        write = ask.request
        if (
            all(map(_is_unknown, asks))
            and isinstance(write, WriteRequest)
            and self.dice.chance(self.around.resolves)
        ):
            asks.append(self._question(Token(write.session, write.seq), again=True))
            await self._settled(asks[-1])
        return asks

    async def _ask_early(
        self, ask: PendingRequest, early: EarlyQuestion, sent: SentNumbers
    ) -> list[PendingRequest]:
        """Ask for the outcome of a write that is under way, if it still is and has a token."""
        self.turn()
        until = self._system.now() + early.after
        await Wait(done=partial(getattr, ask, "settled"), until=until)
        write = ask.request
        if ask.settled or not isinstance(write, WriteRequest) or len(write.session) <= SEED_BYTES:
            return []
        return [self._question(Token(write.session, write.seq), again=early.again, sent=sent)]

    def _question(
        self, token: Token, *, again: bool, sent: SentNumbers | None = None
    ) -> PendingRequest:
        """Ask for the outcome of a write; `again`: do it if nobody has done it."""
        now = self._system.now()
        observe = None if sent is None else sent.observe
        deadline = now + self.around.timeout
        return self.core.resolve(token, now=now, deadline=deadline, again=again, observe=observe)

    async def write_again(self, request: Callable[[int], Request], token: Token) -> PendingRequest:
        """A write of another client, under its number."""
        return await self._ask(RetryKind.WRITE, request, token)

    async def resolve(self, token: Token) -> PendingRequest:
        """Ask for the outcome of another client's write; without one, it never takes effect."""
        ask = self._question(token, again=False)
        await self._settled(ask)
        return ask

    def command(self, request: Callable[[int], Request], patience: float) -> PendingRequest:
        """A request of an operator; the program does not wait for the answer."""
        now = self._system.now()
        ask = self.core.submit(RetryKind.ONCE, request, now=now, deadline=now + patience)
        self.turn()
        return ask

    async def read(self, request: Callable[[int], Request]) -> PendingRequest:
        """Wait until it is answered, or its time is over."""
        return await self._ask(RetryKind.READ, request)

    def crowd(self, questions: int, request: Callable[[int], Request]) -> None:
        """Send all requests at once, without waiting for answers."""
        now = self._system.now()
        for _ in range(questions):
            self.core.submit(RetryKind.READ, request, now=now, deadline=now + self.around.timeout)
        self.process.go_on()

    async def _ask(
        self,
        kind: RetryKind,
        request: Callable[[int], Request],
        token: Token | None = None,
    ) -> PendingRequest:
        ask = self._submit(kind, request, token)
        await self._settled(ask)
        return ask

    def _submit(
        self,
        kind: RetryKind,
        request: Callable[[int], Request],
        token: Token | None = None,
        sent: SentNumbers | None = None,
    ) -> PendingRequest:
        now = self._system.now()
        deadline = now + self.around.timeout
        observe = None if sent is None else sent.observe
        return self.core.submit(
            kind, request, now=now, deadline=deadline, token=token, observe=observe
        )

    async def _settled(self, ask: PendingRequest) -> None:
        self.turn()
        while not ask.settled:
            await Wait(done=partial(getattr, ask, "settled"))


def _nothing(begun: AsyncTransaction | AsyncFeed) -> None:
    """Leave it as it is."""
    del begun


def _is_unknown(ask: PendingRequest) -> bool:
    return ask.error is not None and ask.error.outcome is Outcome.UNKNOWN
