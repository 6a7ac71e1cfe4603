"""The room for connections of clients: no user takes all of it, and the owner always gets in."""

from typing import Final, final

from qsync.error_details import RETRY_AFTER
from qsync.errors import Overloaded
from qsync.rights import LOCAL_ADMIN

USER_TENTHS: Final = 9
"""Tenths of `limits.connections_max` that one user has at most."""
OWNER_MORE: Final = 8
"""Connections beyond the limit for the owner of the directory, who comes through its socket."""


@final
class ClientRoom:
    """Counts the clients of one node. `most`: `limits.connections_max`, as descriptors allow."""

    __slots__ = ("_of_user", "count", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0
        self._of_user: dict[str, int] = {}

    @property
    def user_most(self) -> int:
        """The limit of one user."""
        return max(1, self.most * USER_TENTHS // 10)

    def check(self, *, local: bool) -> None:
        """Raises Overloaded where no client gets in, before anyone is asked who it is."""
        if self.count >= self.most + (OWNER_MORE if local else 0):
            raise _full(f"{self.count} clients are connected; the limit is connections_max")

    def check_user(self, user: str) -> None:
        """Raises Overloaded for a user with too many connections. Empty: there are no users."""
        count = self._of_user.get(user, 0)
        if user not in ("", LOCAL_ADMIN) and count >= self.user_most:
            raise _full(
                f"user {user!r} has {count} connections to this node, the limit of one user: "
                f"{USER_TENTHS} tenths of connections_max"
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
