"""What all rules of the model ask: whose votes and acks count, and what is switched off."""

from tests.model.logs import ROLLBACK, Log, Logs, rename_bits
from tests.model.state import LEADER, Bounds, Node, State


class Rules:
    """Bounds, logs, and the name of the rule that is not kept, if any."""

    def __init__(self, bounds: Bounds, logs: Logs, broken: str) -> None:
        self.bounds, self.logs, self.broken = bounds, logs, broken
        self.count = bounds.nodes
        self.pairs = bounds.nodes * (bounds.wipes + 1)
        self._bits: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._all = (1 << self.count) - 1

    def pair(self, number: int, node: Node) -> int:
        """Which bit the node has in a set of voters, with the directory it has now."""
        return node.life * self.count + number

    def bits(self, names: tuple[int, ...]) -> tuple[int, ...]:
        """What becomes of the bits when nodes get these names."""
        found = self._bits.get(names)
        if found is None:
            count = self.count
            bits = (pair // count * count + names[pair % count] for pair in range(self.pairs))
            found = self._bits[names] = tuple(bits)
        return found

    def renamed_bits(self, mask: int, names: tuple[int, ...]) -> int:
        """A set of pairs under other names."""
        return rename_bits(mask, self.bits(names))

    # -- who counts (M1)

    def voters(self, node: Node) -> int:
        """The configuration in force on a node: of the last entry in its log (M1 b)."""
        log = node.log
        if self.broken == "change_back_when_confirmed":
            return _until_confirmed(log, node.confirmed)
        if self.broken == "configured_when_confirmed":
            known = [named for at, named in log.configurations if at <= node.confirmed]
            return known[-1] if known else log.voters
        if self.broken == "configuration_from_file" and not log.configurations:
            return self._all
        return log.voters

    def ids(self, mask: int) -> int:
        """Of pairs, the replicas."""
        found = 0
        while mask:
            found |= mask & self._all
            mask >>= self.count
        return found

    def is_majority(self, given: int, voters: int) -> bool:
        """Whether those that are named among them are a majority: by pair (M1 d), of all named."""
        if self.broken == "pair_ignored":
            given, voters = self.ids(given), self.ids(voters)
        return 2 * (given & voters).bit_count() > voters.bit_count()

    def may_confirm(self, given: int, voters: int, *, own: int) -> bool:
        """Whether they are enough for an entry to be confirmed: Q(N) is a majority here.

        A leader that is not among the voters does not count itself (M4 b).
        """
        if self.broken == "pair_ignored":
            given, voters = self.ids(given), self.ids(voters)
        have = (given & voters).bit_count()
        if self.broken == "quorum_minus_one":
            have += 1
        if self.broken == "leaver_counts_itself" and given & own and not voters & own:
            have += 1
        return 2 * have > voters.bit_count()

    # -- who leads

    def leader_of(self, state: State, term: int) -> int | None:
        """Who leads this term and still thinks so."""
        for number, node in enumerate(state.nodes):
            if node.role == LEADER and node.term == term:
                return number
        return None

    def may_write(self, node: Node) -> bool:
        """Section 6: read-only until its own PROMOTE is confirmed."""
        if node.role != LEADER or node.log.length >= self.bounds.log:
            return False
        return self.has_taken_over(node)

    def has_taken_over(self, node: Node) -> bool:
        """Whether a leader's own PROMOTE is confirmed."""
        return 0 < node.log.own_promote(node.term) <= node.confirmed


def _until_confirmed(log: Log, confirmed: int) -> int:
    """M3 c, broken: what a ROLLBACK takes back counts until the ROLLBACK is confirmed."""
    voters = 0
    stack = list[tuple[int, int]]()
    for at, entry in enumerate(log.entries(), 1):
        if entry.kind == "G":
            stack.append((at, entry.arg))
        if entry.kind == ROLLBACK and at <= confirmed:
            stack = [each for each in stack if each[0] < entry.arg]
    if stack:
        voters = stack[-1][1]
    return voters
