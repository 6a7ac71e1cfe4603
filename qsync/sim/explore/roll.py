"""States of single nodes and messages in flight, each kept once and named by a number."""

from typing import NamedTuple

from election.messages import Replica, RequestVoteResponse, TimeoutNow
from qsync.core.messages import Append, AppendResponse, Heartbeat, HeartbeatResponse, Message
from qsync.record import ONE_INSTANCE, Instance
from qsync.sim.explore.chain import Chain
from qsync.sim.explore.fingerprint import Fingerprints
from qsync.sim.explore.host import ExploredNode
from qsync.sim.explore.ids import Renaming

LINKS = 100
"""More than there are nodes."""


class Letter(NamedTuple):
    """A message in flight."""

    sender: Replica
    receiver: Replica
    message: Message
    instance: Instance = ONE_INSTANCE
    """The directory on which its sender runs."""


class StateNumbers:
    """Numbers are assigned in the order of discovery, so they are the same in every run.

    Objects that are equal after a renaming of nodes have the same number under it.
    """

    def __init__(self, renamings: list[Renaming], *, leases: bool = False) -> None:
        self.renamings = renamings
        self.hosts: dict[int, ExploredNode] = {}
        self.letters: dict[int, Letter] = {}
        self._chain = Chain()
        self._prints = [Fingerprints(self._chain, each, leases=leases) for each in renamings]
        self._numbers: dict[bytes, int] = {}
        self._renamed: list[dict[int, int]] = [{} for _ in renamings]
        self._originals: list[dict[int, int]] = [{} for _ in renamings]
        self._links: list[dict[int, int]] = [{} for _ in renamings]

    # -- states

    def state(self, host: ExploredNode) -> int:
        """The number of a state; the first host that has it represents all."""
        previous = 0
        for entry in host.history():
            self._chain.learn(previous, entry)
            previous = entry.crc
        number = self._number(self._prints[0].of_state(host, host.now))
        self._met(number, host)
        return number

    def _met(self, number: int, host: ExploredNode) -> None:
        self.hosts.setdefault(number, host)

    def state_renamed(self, renaming: int, number: int) -> int:
        """The number of the same state in a cluster whose nodes have other ids."""
        known = self._renamed[renaming].get(number)
        if known is None:
            host = self.hosts[number]
            known = self._number(self._prints[renaming].of_state(host, host.now))
            self._renamed[renaming][number] = known
        return known

    # -- letters

    def letter(self, letter: Letter) -> int:
        """The number of a letter. Letters and states share their numbers."""
        number = self._number(self._prints[0].of_value(letter))
        self.letters.setdefault(number, letter)
        return number

    def letter_renamed(self, renaming: int, number: int) -> int:
        """As for states."""
        known = self._renamed[renaming].get(number)
        if known is None:
            known = self._number(self._prints[renaming].of_value(self.letters[number]))
            self._renamed[renaming][number] = known
            self._originals[renaming][known] = number
        return known

    def letter_originally(self, renaming: int, number: int) -> int:
        """The letter from which `letter_renamed` made that one."""
        return self._originals[renaming][number]

    def link(self, letter: int) -> int:
        """A number for the connection that a letter is on."""
        return self.link_renamed(0, letter)

    def link_renamed(self, renaming: int, letter: int) -> int:
        """As for states."""
        table = self._links[renaming]
        known = table.get(letter)
        if known is None:
            new, (sender, receiver, *_) = self.renamings[renaming], self.letters[letter]
            known = table[letter] = new[sender] * LINKS + new[receiver]
        return known

    def _number(self, digest: bytes) -> int:
        return self._numbers.setdefault(digest, len(self._numbers))


def last_term(message: Message, unheard: frozenset[str]) -> int:
    """A node with a higher durable term ignores the message; 0: no node does.

    True for answers; and for messages of a leader, if the answer to a stale leader is lost anyway.
    """
    match message:
        case RequestVoteResponse():
            return max(message.term, message.asked_term)
        case AppendResponse() | HeartbeatResponse() | TimeoutNow():
            return message.term
        case Append() | Heartbeat() if HeartbeatResponse.__name__ in unheard:
            return message.term
        case _:
            return 0
