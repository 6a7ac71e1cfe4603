"""The known nodes: which to try next, and how long to wait before trying again."""

import random
from collections.abc import Container, Iterable
from typing import Final

from qsync.client import targets
from qsync.errors import ConfigError

DELAY_MIN_S: Final = 0.005
DELAY_MAX_S: Final = 0.2
TURN_DELAY_MAX_S: Final = 0.1
"""The same between two nodes that answer and do not lead: to ask them again costs little."""
RESTED_S: Final = 1.0
"""A failure that comes later than this after the pause of the last one is a first failure again."""
_DOUBLINGS_MAX: Final = 10
ADDRESSES_MAX: Final = 64
HINTS_MAX: Final = 8
"""How many hints are followed without a wait until something is answered."""
IDLE_MAX: Final = 8
"""How many connections a client keeps beside the one that it uses, while it finds no leader."""
DIAL_PATIENCE_S: Final = 1.0
"""How long a node may take to accept a connection, and again to finish the handshake."""
AGAIN_PATIENCE_S: Final = 0.15
"""The same for one that was silent a moment ago; each time it is silent doubles it."""
STAGGER_S: Final = 0.15
"""The delay before the next address is dialled in parallel (RFC 8305 has 0.25 s)."""


class Route:
    """Known addresses in order; `met` says what went wrong at each, for people.

    Turns go through all of them: one that was silent is tried like any other, only not for long,
    and one that failed at once rests a little. `hinted`: the leader by the last hint. Others
    may call a node the leader for as long as their election timeout although it is silent.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self.met: dict[str, str] = {}
        self.hinted: str | None = None
        self._refusals: set[str] = set()
        self._silences: dict[str, int] = {}
        self._rests: dict[str, Pace] = {}
        self._addresses = list(addresses)
        self._at = 0
        self._preferred: str | None = None

    @property
    def alternatives(self) -> bool:
        """Whether there is more than one address."""
        return len(self._addresses) > 1

    @property
    def addresses(self) -> tuple[str, ...]:
        """All known addresses, seeds first."""
        return tuple(self._addresses)

    @property
    def all_refuse(self) -> bool:
        """Whether every known node refused our login since one let us in."""
        return self._refusals.issuperset(self._addresses)

    def learn(self, address: str) -> str | None:
        """Add the address of a node, as a node names it; return it, or None if it is not used."""
        try:
            address = targets.of_network(address)
        except ConfigError:
            return None
        if address not in self._addresses:
            if len(self._addresses) >= ADDRESSES_MAX:
                return None
            self._addresses.append(address)
        return address

    def forget(self, address: str) -> None:
        """Forget an address of another cluster or process. The last one is kept."""
        if address in self._addresses and self.alternatives:
            self._addresses.remove(address)
            self._silences.pop(address, None)
            self._rests.pop(address, None)

    def note_failure(self, address: str, why: str) -> None:
        """Note what went wrong there, for people; the oldest of too many notes is dropped."""
        self.met.pop(address, None)
        self.met[address] = why
        while len(self.met) > ADDRESSES_MAX:
            del self.met[next(iter(self.met))]

    def silent(self, address: str) -> None:
        """Note that a node was silent for too long."""
        if address not in self._addresses:
            return
        self._silences[address] = self._silences.get(address, 0) + 1

    def failed(self, address: str, now: float, dice: random.Random) -> None:
        """Note that a node refused a connection, or ended it.

        A node that welcomes everybody and ends every connection is not dialled without a pause.
        """
        if address not in self._addresses:
            return
        rest = self._rests.get(address)
        if rest is None or now > rest.resume_at + RESTED_S:
            rest = self._rests[address] = Pace(dice)
        rest.failed(now)

    def refused(self, address: str) -> None:
        """Note that a node does not let us in."""
        self._refusals.add(address)

    def pause(self, address: str, until: float) -> None:
        """Do not use a node for this time, after it `failed`."""
        rest = self._rests.get(address)
        if rest is not None:
            rest.pause(until, 0.0)

    def answered(self, address: str) -> None:
        """Note that a node answered."""
        self.met.pop(address, None)
        self._refusals.clear()
        self._silences.pop(address, None)

    def patience(self, address: str) -> float:
        """Return how long it may take to accept a connection now."""
        silences = self._silences.get(address, 0)
        if not silences:
            return DIAL_PATIENCE_S
        doubled = AGAIN_PATIENCE_S * float(2 ** min(silences - 1, _DOUBLINGS_MAX))
        return min(DIAL_PATIENCE_S, doubled)

    def prefer(self, address: str) -> str | None:
        """Try this address next: a node said that it leads. Return it; None if it is not used."""
        self._preferred = self.hinted = self.learn(address)
        return self.hinted

    def next_address(self, now: float, busy: Container[str]) -> str | None:
        """Return the address to try now; each call gives another one. None: all tried or resting.

        `busy`: those that are being tried already.
        """
        preferred, self._preferred = self._preferred, None
        if preferred is not None and preferred not in busy and self._rested(preferred) <= now:
            return preferred
        for _ in self._addresses:
            address = self._addresses[self._at % len(self._addresses)]
            self._at += 1
            if address not in busy and self._rested(address) <= now:
                return address
        return None

    def rested(self, busy: Container[str]) -> float:
        """Return when the next of them has rested; infinity when all are being tried."""
        resting = (self._rested(each) for each in self._addresses if each not in busy)
        return min(resting, default=float("inf"))

    def _rested(self, address: str) -> float:
        rest = self._rests.get(address)
        return 0.0 if rest is None else rest.resume_at


class Pace:
    """Waits 5 ms after the first failure, doubling to 200 ms; jitter takes off up to a half."""

    def __init__(self, dice: random.Random) -> None:
        self.resume_at = 0.0
        self.searching = False
        """No caller's question was answered since the last failure."""
        self._failures = 0
        self._dice = dice
        self._followed: set[str] = set()

    def failed(self, now: float, *, hint: str | None = None, longest: float = DELAY_MAX_S) -> None:
        """Note a failure. A hint where to go is followed without a wait (a redirect).

        But each of them once, and few of them: nodes can send a client in a circle, or on and on.
        One that happens during a wait belongs to the failure that began it: many
        requests that were under way together fail together.
        """
        self.searching = True
        if now < self.resume_at:
            return
        if hint is not None and hint not in self._followed and len(self._followed) < HINTS_MAX:
            self._followed.add(hint)
            return
        self._failures += 1
        doublings = min(self._failures - 1, _DOUBLINGS_MAX)
        delay = min(longest, DELAY_MIN_S * 2**doublings)
        self.resume_at = now + delay * (0.5 + self._dice.random() / 2)

    def pause(self, now: float, seconds: float) -> None:
        """Wait as long as a node asked for."""
        self.resume_at = max(self.resume_at, now + seconds)

    def succeeded(self) -> None:
        """Note that a caller's request was answered: this is the leader."""
        self.searching = False
        self._followed.clear()
        self._failures = 0
