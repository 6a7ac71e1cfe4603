"""A caller of the async client that ships, which is cancelled at some moment, as by a scope."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from typing_extensions import override

from qsync.client.async_.core_client import AsyncCoreClient
from qsync.client.async_.runner import AsyncFeedRunner
from qsync.client.calls import ClientCall
from qsync.client.core import Core
from qsync.client.numbering import SEED_BYTES, Numbering, Token, parse_token
from qsync.client.pending_request import Observe, PendingRequest, RequestObserver, RetryKind
from qsync.errors import QsyncError
from qsync.sim.canon import PropertyViolation
from qsync.sim.clockwork import VirtualClock
from qsync.sim.kernel.impatience import EARLY, LONGER
from qsync.sim.kernel.numbers import SentNumbers
from qsync.sim.kernel.poll import Wait
from qsync.sim.swarm import Swarm
from qsync.wire.verbs import Request, WriteRequest

if TYPE_CHECKING:
    from qsync.sim.dice import RandomStream
    from qsync.sim.kernel.program import Program

T = TypeVar("T")
MakeRequest = Callable[[int], Request]
WRITES, READS, TRANSACTIONS, FEEDS = 0.3, 0.1, 0.5, 0.7
"""How often the caller of one of these is cancelled, in runs in which that happens."""
_GIVES_UP: Final = 0.5
_TIMES: Final = (1, 1, 2)
_CALLERS: Final = frozenset({RetryKind.READ, RetryKind.WRITE})
"""What callers ask; the rest is asked by the client itself."""


class CallerCancelled(BaseException):
    """What ends a cancelled caller. It is no error of any call."""


class Departure(NamedTuple):
    """When a caller is cancelled: in its question of that number, with the answer at the latest.

    `after`: so many seconds after it was asked. Whoever knows a token asks for its outcome as long
    after that. `again`: what nobody has done is to be done; else it is given up. `times`: how often
    it is cancelled, in its later questions, too.
    """

    question: int
    after: float
    again: bool
    times: int

    def goes(self, questions: int, *, left: int) -> bool:
        """Whether it is cancelled in the last of its questions, after it was `left` times."""
        return self.question <= questions and left < self.times


class Departures:
    """It has dice of its own: runs in which nobody is cancelled are as they would be without it."""

    def __init__(self, dice: "RandomStream", *, mean: float) -> None:
        """`mean`: after how many seconds."""
        self._dice = dice
        self._mean = mean

    def draw(self, rate: float, *, questions: int = 1) -> Departure | None:
        """Whether the caller of so many questions is cancelled, and in which."""
        if not self._dice.chance(rate):
            return None
        after = self._dice.about(self._mean * self._dice.choice(LONGER))
        again = not self._dice.chance(_GIVES_UP)
        return Departure(self._dice.randint(1, questions), after, again, self._dice.choice(_TIMES))


class Caller(AsyncCoreClient):
    """One caller of a program: each of its calls does what the client that ships does.

    `asks`: all that it has asked. It observes them: nothing is sent for a read whose caller has
    gone.
    """

    def __init__(
        self, program: "Program", departure: Departure | None, sent: SentNumbers | None = None
    ) -> None:
        super().__init__(program.core, timeout=program.around.timeout, now=program.now)
        self.asks: list[PendingRequest] = []
        self._left: list[PendingRequest] = []
        self._program = program
        self._departure = departure
        self._sent = sent

    async def read(self, make: MakeRequest) -> PendingRequest | None:
        """Ask; None if it is cancelled."""
        try:
            return await self.run(ClientCall(RetryKind.READ, make, _itself))
        except CallerCancelled:
            return None

    async def write(self, make: MakeRequest) -> PendingRequest:
        """Write, be cancelled, and ask for the outcome: return the last question about it."""
        try:
            return await self.run(ClientCall(RetryKind.WRITE, make, _itself, begun=_nothing))
        except CallerCancelled:
            return await self.ask_later()

    async def ask_later(self) -> PendingRequest:
        """Ask for the outcome of a write whose caller was cancelled, by the token that it had.

        Without one it was not sent: then return the write itself, when it has ended.
        """
        departure, written = self._departure, self.asks[-1]
        assert departure is not None
        token = token_of(written)
        await self._program.sleep(departure.after)
        if token is None:
            await Wait(done=lambda: written.error is not None or written.answer is not None)
            check_unsent(written)
            return written
        check_unmoved(written, token)
        check_remembered(self._core.numbering, token)
        try:
            await self.resolve(token, again=departure.again)
        except CallerCancelled:
            return await self.ask_later()
        except QsyncError:
            pass  # the request has it
        return self.asks[-1]

    @override
    async def _settle(self, ask: PendingRequest) -> None:
        program, departure = self._program, self._departure
        program.turn()
        done = partial(getattr, ask, "settled")
        if departure is None or not departure.goes(len(self.asks), left=len(self._left)):
            while not ask.settled:
                await Wait(done=done)
            return
        await Wait(done=done, until=program.now() + departure.after)
        self._left.append(ask)
        raise CallerCancelled

    @override
    async def _flush(self) -> None:
        self._program.turn()

    @override
    def _reader(self) -> AsyncFeedRunner:
        return self

    @override
    def _observed(self) -> Observe:
        return self._observe

    def _observe(self, request: Request) -> RequestObserver:
        del request
        return self

    def sent(self, ask: PendingRequest, address: str) -> None:
        """An attempt goes out. Raises PropertyViolation."""
        if self._sent is not None:
            self._sent.sent(ask, address)
        if ask.kind is RetryKind.READ and ask in self._left:
            text = f"a read is sent to {address}, though its caller has gone"
            self._program.computer.room.found(PropertyViolation(22, text))

    def settled(self, ask: PendingRequest) -> None:
        """Nothing is to be noted."""

    @override
    def _begin(
        self,
        call: ClientCall[T],
        timeout: float | None,
        found: list[PendingRequest] | None = None,
    ) -> PendingRequest:
        ask = super()._begin(call, timeout, found)
        self.asks.append(ask)
        return ask

    @override
    def _begin_again(
        self, token: Token, timeout: float | None, found: list[PendingRequest], *, again: bool
    ) -> PendingRequest:
        ask = super()._begin_again(token, timeout, found, again=again)
        self.asks.append(ask)
        return ask


def departures_of(clockwork: VirtualClock, swarm: Swarm, number: int) -> Departures | None:
    """Return when the callers of the client with that number are cancelled, if they are."""
    if "leaving" not in swarm.variety.habits:
        return None
    return Departures(clockwork.dice(f"leaving {number}"), mean=swarm.load.timeout / EARLY)


def token_of(ask: PendingRequest) -> str | None:
    """Return the token of a write, as its caller knows it."""
    write = ask.request
    if isinstance(write, WriteRequest) and len(write.session) > SEED_BYTES:
        return str(Token(write.session, write.seq))
    return None


def check_unsent(ask: PendingRequest) -> None:
    """Check that nothing is done for a cancelled caller that has no token. Raises Violation."""
    token = token_of(ask)
    if token is not None or ask.answer is not None:
        text = f"a write is {token} or done, though its caller has gone without a token"
        raise PropertyViolation(22, text)


def check_unmoved(ask: PendingRequest, token: str) -> None:
    """Check that a write has the token with which its caller went. Raises Violation."""
    if token_of(ask) != token:
        text = f"a write is {token_of(ask)}, though its caller has gone with {token}"
        raise PropertyViolation(22, text)


def check_remembered(numbering: Numbering, token: str) -> None:
    """Check that a client has not forgotten what a caller may ask for. Raises Violation."""
    session, seq = parse_token(token)
    if session == numbering.id and numbering.is_forgotten(seq):
        raise PropertyViolation(9, f"the client has forgotten {token}, whose caller may ask")


def kept_for_nobody(core: Core) -> str | None:
    """Return what a client keeps of requests, though no caller waits or may ask for them."""
    numbering = core.numbering
    asks = [ask for ask in core._asks.values() if ask.kind in _CALLERS]  # noqa: SLF001 - nobody else asks
    numbers = numbering._pending | numbering._noted  # noqa: SLF001 - nobody else asks
    return f"{len(asks)} requests and the numbers {numbers}" if asks or numbers else None


def _itself(ask: PendingRequest) -> PendingRequest:
    return ask


def _nothing(ask: PendingRequest) -> None:
    """Whoever is told of a request when it begins knows its token."""
