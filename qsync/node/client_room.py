"""The room for connections of clients: each user leaves a tenth, and the owner always gets in."""

from typing import Final, final

from qsync.error_details import RETRY_AFTER
from qsync.errors import Overloaded
from qsync.rights import LOCAL_ADMIN

USER_TENTHS: Final = 9
"""Tenths of the room that one user takes at most, of all that other users left."""
OWNER_MORE: Final = 8
"""Connections beyond the limit for the owner of the directory, who comes through its socket."""


def share_of(user: str, left: int) -> int:
    """Return how many places one user takes at most, by how many others `left`.

    So several greedy users leave a place, too. Where there are no users, it is all of them.
    """
    return left if user in ("", LOCAL_ADMIN) else max(1, left * USER_TENTHS // 10)


@final
class ClientRoom:
    """Counts the clients of one node. `most`: `limits.connections_max`, as descriptors allow."""

    __slots__ = ("_of_user", "count", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self._of_user: dict[str, int] = {}

    def check(self, *, local: bool) -> None:
        """Raises Overloaded where no client gets in, before anyone is asked who it is."""
        if self.count >= self.most + (OWNER_MORE if local else 0):
            raise _full(
                f"{self.count} clients are connected, and there is room for {self.most}: "
                "`limits.connections_max`, or fewer where the node may open few files (`ulimit -n`)"
            )

    def check_user(self, user: str) -> None:
        """Raises Overloaded for a user with too many connections. Empty: there are no users."""
        count = self._of_user.get(user, 0)
        left = self.most - (self.count - count)
        if count >= share_of(user, left) < left:
            raise _full(
                f"user {user!r} has {count} connections to this node, the limit of one user: "
                f"{USER_TENTHS} tenths of the {left} that other users leave of connections_max"
            )

    def enter(self, user: str) -> None:
        """A client is connected now."""
        self.count += 1
        self._of_user[user] = self._of_user.get(user, 0) + 1

    def leave(self, user: str) -> None:
        """It is not any more."""
        self.count -= 1
        self._of_user[user] -= 1
        if not self._of_user[user]:
            del self._of_user[user]


def _full(why: str) -> Overloaded:
    return Overloaded(why, details={RETRY_AFTER: 1.0})
