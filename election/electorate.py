"""The voters in force, the size of their quorum, and whether this node is one."""

from collections.abc import Sequence

from election.messages import Replica
from election.quorum import majority


class Electorate:
    """The voters by which a node counts, and the node itself.

    `named`: the configuration names this very directory as a voter, not only its id. `outgoing`: it
    did until a change that this node does not know as confirmed.
    """

    def __init__(
        self, *, me: Replica, voters: Sequence[Replica], quorum: int, named: bool = True
    ) -> None:
        self.me = me
        self.voters = tuple(voters)
        self.named = named
        self.outgoing = False
        # Two leaders of one term are impossible only if election quorums intersect.
        self.quorum = max(quorum, majority(len(self.voters)))

    def change(self, voters: Sequence[Replica], quorum: int, *, named: bool) -> None:
        """Change the voters."""
        self.voters = tuple(voters)
        self.named = named
        self.quorum = max(quorum, majority(len(self.voters)))

    @property
    def peers(self) -> list[Replica]:
        """The other voters."""
        return [each for each in self.voters if each != self.me]

    @property
    def is_voter(self) -> bool:
        """Whether this node counts, also in its own counts."""
        return self.named and self.me in self.voters

    @property
    def may_lead(self) -> bool:
        """Whether it may be elected; also while it does not know for sure that it was removed.

        No other node may have its entries (membership.md M4 d); it does not count itself then.
        """
        return self.is_voter or self.outgoing

    @property
    def is_alone(self) -> bool:
        """Whether this node is the only voter."""
        return self.voters == (self.me,)
