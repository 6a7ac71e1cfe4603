"""Which user has which session, so that no user takes all that the cluster keeps.

The log does not say whose a session is. So this is what the node that leads has seen: who opened
it, or who used it first if another leader opened it. Nothing that is replicated depends on it.
"""

from collections.abc import Container, Iterable
from typing import final

from qsync.data.request import Limits, SessionChange
from qsync.errors import Overloaded


@final
class SessionHolders:
    """Sessions by user. Those that are not open any more are left out when that matters."""

    __slots__ = ("_held", "_users")

    def __init__(self) -> None:
        self._held: dict[str, set[bytes]] = {}
        self._users: dict[bytes, str] = {}

    def note_use(self, user: str, session: bytes) -> None:
        """Note who uses an open session. It stays with the one who was seen with it first."""
        if session not in self._users:
            self._users[session] = user
            self._held.setdefault(user, set()).add(session)

    def open(
        self,
        user: str,
        changes: Iterable[SessionChange],
        *,
        known: Container[bytes],
        limits: Limits,
    ) -> None:
        """Note what a transaction opens; `known`: the sessions before it. Raises Overloaded."""
        opened = {each.session for each in changes if each.opened}
        if not opened:
            return
        most = limits.sessions_per_user_max
        if len(self._held.get(user, ())) + len(opened) > most:
            self._leave_out(user, known)
            count = len(self._held.get(user, ()))
            if count + len(opened) > most:
                raise Overloaded(
                    f"user {user!r} has {count} sessions already; one user has at most {most}",
                    hint="the limit is `limits.sessions_per_user_max`; close clients that are not "
                    "needed, and keep one for many writes",
                    details={"limit": "limits.sessions_per_user_max", "most": most},
                )
        for session in opened:
            self.note_use(user, session)

    def forget_closed(self, known: Container[bytes]) -> None:
        """Leave out what is not open any more."""
        for user in list(self._held):
            self._leave_out(user, known)

    def _leave_out(self, user: str, known: Container[bytes]) -> None:
        held = self._held.get(user, set())
        for session in [each for each in held if each not in known]:
            held.remove(session)
            del self._users[session]
        if not held:
            self._held.pop(user, None)
