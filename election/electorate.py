"""Who votes: the voters in force, how many of them are a quorum, and whether this node is one."""

from collections.abc import Sequence

from election.messages import Replica
from election.quorum import majority


class Electorate:
    """The voters by which a node counts, and the node itself.

    `named`: the configuration names this very directory as a voter, not only its id.
    """

    def __init__(
        self, *, me: Replica, voters: Sequence[Replica], quorum: int, named: bool = True
    ) -> None:
        self.me = me
        self.voters = tuple(voters)
        self.named = named
        # Two leaders of one term are impossible only if election quorums intersect.
        self.quorum = max(quorum, majority(len(self.voters)))

    def change(self, voters: Sequence[Replica], quorum: int, *, named: bool) -> None:
        """The replica set is another one."""
        self.voters = tuple(voters)
        self.named = named
        self.quorum = max(quorum, majority(len(self.voters)))

    @property
    def peers(self) -> list[Replica]:
        """The other voters."""
        return [each for each in self.voters if each != self.me]

    @property
    def is_voter(self) -> bool:
        """Does this node vote and may it lead?"""
        return self.named and self.me in self.voters

    @property
    def is_alone(self) -> bool:
        """Is this node the only voter?"""
        return self.voters == (self.me,)
