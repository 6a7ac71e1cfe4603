"""Clients that wait for news: broadcast keys and change feeds. Without any they cost nothing.

A question is answered at once when there is something to say, else parked here until there is, or
until its time is over. Nothing is ever pushed, so a reader that is slow takes no memory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from qsync.error_details import RETRY_AFTER
from qsync.errors import LostWrite, NotLeader, Overloaded, QsyncError, Rebuilding, WrongKey
from qsync.node import feed, guard
from qsync.node.client_room import share_of
from qsync.node.connection import Connection
from qsync.node.feed import FeedBatch, Filter
from qsync.wire import replies, verbs

if TYPE_CHECKING:
    from qsync.replica import Replica

WAIT_MAX: Final = 2.0
"""Seconds a question may be parked; clients ask another node when three pass without an answer."""
PARKED_MAX: Final = 4096
"""Questions parked on one node."""

Values = Mapping[str, Callable[[], object]]
"""The broadcast keys, and how each value is found."""


class _ForKey:
    """A question that waits until a key has a value other than the one that is `known`."""

    __slots__ = ("connection", "id", "key", "known", "until")

    def __init__(
        self, connection: Connection, request: verbs.WatchRequest, *, until: float
    ) -> None:
        self.connection = connection
        self.id = request.id
        self.until = until
        self.key = request.key
        self.known = request.known


@dataclass(slots=True, kw_only=True)
class _ForChanges:
    connection: Connection
    id: int
    request: verbs.ChangesRequest
    until: float
    after: int
    term: int
    wanted: Filter


class Watching:
    """The waiting clients. Call `turn` after every batch while `busy`; `tick` now and then."""

    def __init__(
        self,
        replica: "Replica",
        values: Values,
        *,
        send: Callable[[Connection, bytes], None],
        now: Callable[[], float],
    ) -> None:
        self._replica = replica
        self._values = values
        self._send = send
        self._now = now
        self._keys: list[_ForKey] = []
        self._feeds: list[_ForChanges] = []
        self._seen = 0

    def __len__(self) -> int:
        return len(self._keys) + len(self._feeds)

    @property
    def busy(self) -> bool:
        """Whether a client waits for changes."""
        return bool(self._feeds)

    # -- questions

    def key(self, connection: Connection, request: verbs.WatchRequest) -> None:
        """Answer when the value differs. Raises WrongKey or Overloaded."""
        find = self._values.get(request.key)
        if find is None:
            known = ", ".join(self._values)
            raise WrongKey(f"nothing is broadcast as {request.key!r}", hint=f"keys are {known}")
        value = find()
        if value != request.known or request.wait <= 0:
            self._send(connection, replies.reply(request.id, value))
            return
        self._check_room(connection.turn.login)
        until = self._now() + min(request.wait, WAIT_MAX)
        self._keys.append(_ForKey(connection, request, until=until))

    def changes(self, connection: Connection, request: verbs.ChangesRequest) -> None:
        """Answer when there are changes. Raises NoSuchSpace, WrongKey, LostWrite, Compacted."""
        shape = self._replica.state.schemas.shown
        wanted = feed.filter_of(shape, request.space, request.prefix)
        replicated_log = self._replica.machine.replicated_log
        if request.after is None:
            found = FeedBatch(transactions=(), upto=int(replicated_log.confirmed))
            self._tell(connection, request.id, found, wanted)
            return
        found = feed.read(replicated_log, shape, request.after, wanted, term=request.term)
        error = self._out_of_reach(request.after, request.term)
        if isinstance(error, LostWrite):
            raise error
        if found.transactions or found.upto < replicated_log.confirmed or request.wait <= 0:
            self._tell(connection, request.id, found, wanted)
            return
        self._check_room(connection.turn.login)
        until = self._now() + min(request.wait, WAIT_MAX)
        self._feeds.append(
            _ForChanges(
                connection=connection,
                id=request.id,
                request=request,
                until=until,
                after=found.upto,
                term=request.term if found.upto == request.after else 0,
                wanted=wanted,
            )
        )

    def _out_of_reach(self, after: int, term: int) -> LostWrite | NotLeader | None:
        """Return why a place behind the end of the log is not here: perhaps the leader has it.

        While no other node can lead, the leader has all that is confirmed anywhere, so what it does
        not have is nowhere.
        """
        machine = self._replica.machine
        if after <= machine.replicated_log.log.last:
            return None
        nowhere = feed.beyond(machine.replicated_log, after)
        if term <= machine.raft.term and machine.read_requests.leads_alone():
            return nowhere
        return NotLeader(nowhere.message)

    def _check_room(self, user: str) -> None:
        if len(self) >= PARKED_MAX:
            why = f"{len(self)} watchers wait on this node already; the limit is {PARKED_MAX}"
        elif len(self) < share_of(user, PARKED_MAX):
            return  # nobody has all of his share: with it, nine tenths of all wait
        else:
            own = self._count_of(user)
            if own < share_of(user, PARKED_MAX - (len(self) - own)):
                return
            why = f"{own} watchers of user {user!r} wait on this node already, the limit of one"
        raise Overloaded(why, details={RETRY_AFTER: 1.0})

    def _count_of(self, user: str) -> int:
        parked: list[_ForKey | _ForChanges] = [*self._keys, *self._feeds]
        return sum(each.connection.turn.login == user for each in parked)

    def _tell(self, connection: Connection, number: int, found: FeedBatch, wanted: Filter) -> None:
        confirmed = int(self._replica.machine.replicated_log.confirmed)
        answer = replies.reply(
            number, list(found.transactions), found.upto, confirmed, wanted.space
        )
        self._send(connection, answer)

    # -- news

    def turn(self) -> None:
        """Answer feeds, after a batch that may have confirmed something."""
        confirmed = self._replica.machine.replicated_log.confirmed
        if confirmed == self._seen:
            return
        self._seen = confirmed
        self._feeds = [each for each in self._feeds if not self._fed(each)]

    def _fed(self, parked: _ForChanges) -> bool:
        """Answer a feed; return true when it is answered."""
        if parked.connection.closed:
            return True
        if self._denied(parked):
            return True
        replicated_log = self._replica.machine.replicated_log
        try:
            shape = self._replica.state.schemas.shown
            found = feed.read(replicated_log, shape, parked.after, parked.wanted, term=parked.term)
        except QsyncError as error:
            self._send(parked.connection, replies.failed(parked.id, error))
            return True
        if found.upto != parked.after:
            parked.after, parked.term = found.upto, 0
        if found.transactions or found.upto < replicated_log.confirmed:
            # As much was confirmed at once as one question may read: the reader asks for the rest.
            self._tell(parked.connection, parked.id, found, parked.wanted)
            return True
        return False

    def _denied(self, parked: _ForChanges) -> bool:
        """Refuse a question if its user's right was taken back meanwhile; return true if so.

        Also where the space has another name now, on which the user has no right. One that was
        dropped has none any more: that it was is still told. And where a snapshot takes the place
        of the rows, so that nobody knows for a while.
        """
        error = guard.taken_back(self._replica, parked.connection, parked.request)
        number = parked.wanted.space
        if error is None and number is not None:
            try:
                known = self._replica.state.schemas.shown.find(number)
            except Rebuilding as rebuilt:
                known, error = None, rebuilt
            if known is not None and known.name != parked.request.space:
                request = parked.request._replace(space=number)
                error = guard.taken_back(self._replica, parked.connection, request)
        if error is not None:
            self._send(parked.connection, replies.failed(parked.id, error))
        return error is not None

    def tick(self) -> None:
        """Answer keys that have changed, and questions whose time is over."""
        if not self._keys and not self._feeds:
            return
        now = self._now()
        current = {key: self._values[key]() for key in {each.key for each in self._keys}}
        self._keys = [each for each in self._keys if not self._told(each, current[each.key], now)]
        self._feeds = [each for each in self._feeds if not self._over(each, now)]

    def _told(self, parked: _ForKey, value: object, now: float) -> bool:
        if parked.connection.closed:
            return True
        if value == parked.known and now < parked.until:
            return False
        self._send(parked.connection, replies.reply(parked.id, value))
        return True

    def _over(self, parked: _ForChanges, now: float) -> bool:
        if parked.connection.closed:
            return True
        if self._denied(parked):
            return True
        if now < parked.until:
            return False
        error = self._out_of_reach(parked.after, parked.term)
        if error is not None:
            self._send(parked.connection, replies.failed(parked.id, error))
            return True
        nothing = FeedBatch(transactions=(), upto=parked.after)
        self._tell(parked.connection, parked.id, nothing, parked.wanted)
        return True
