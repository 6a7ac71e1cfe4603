"""Each user's share of an audit trail, for lines that take no right; what is beyond is counted.

Whoever may log in can cause such lines without end: logins, refusals, changes of his own password.
So each has a share of them (`audit.lines_per_user_max`), to which one is added each
`audit.counts_interval`. What is beyond is one line for each kind of event and interval:

    {"event": "denied", "user": "ann", "count": 812, "first": TIME, "last": TIME,
     "of": [{"why": "read on space 's1'", "count": 800}, ...], "others": 4}

Members that are the same in all of them stand in the line itself, the others in `of`. Who has not
proved his name shares with his address. All changes are lines, always: they take a right.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from qsync.config.sections import AuditSection
from qsync.rights import USERS_MAX

ADDRESSES_MAX: Final = 64
"""Addresses that have a share of their own, as all users have; others have one in common."""
KINDS_MAX: Final = 6
"""Different ones that a line of counts names; of others it has the number."""
TEXT_CHARS_MAX: Final = 256
"""Of each value in a line of counts; longer ones are cut."""


class Actor(NamedTuple):
    """Whose share a line is of. `is_user`: the name was proved; otherwise it is an address."""

    is_user: bool
    name: str


class Counts:
    """Lines of one event and one actor that were not written."""

    def __init__(self, fields: Mapping[str, object], time: str) -> None:
        self.count = 0
        self._first = self._last = time
        self._same = dict(fields)
        self._kinds: dict[str, tuple[Mapping[str, object], int]] = {}

    def add(self, fields: Mapping[str, object], time: str) -> None:
        """Count one more."""
        self.count += 1
        self._last = time
        self._same = {key: one for key, one in self._same.items() if fields.get(key) == one}
        key = str(fields)
        if key in self._kinds or len(self._kinds) < KINDS_MAX:
            self._kinds[key] = fields, self._kinds.get(key, (fields, 0))[1] + 1

    def fields(self) -> dict[str, object]:
        """Return what the line says that stands for all of them."""
        told = self._same | {"count": self.count, "first": self._first, "last": self._last}
        if len(self._kinds) == 1:
            return told
        told["of"] = [
            {key: one for key, one in fields.items() if key not in self._same} | {"count": count}
            for fields, count in self._kinds.values()
        ]
        others = self.count - sum(count for _, count in self._kinds.values())
        return told | ({"others": others} if others else {})


class Share:
    """The lines that one actor may still cause, and what is counted of his since `since`."""

    __slots__ = ("at", "counted", "left", "since")

    def __init__(self, left: float, now: float) -> None:
        self.left = left
        self.at = now
        """When lines were added to it last."""
        self.since = now
        self.counted: dict[str, Counts] = {}
        """By event."""

    def has_written(self, event: str) -> None:
        """Forget the counts of an event: there is a line about them."""
        del self.counted[event]


class AuditShares:
    """The shares of a node's audit trail. `now`: seconds of a clock that is never set."""

    def __init__(self, section: AuditSection, *, now: Callable[[], float]) -> None:
        self._lines_max = float(section.lines_per_user_max)
        self._interval = section.counts_interval
        self._now = now
        self._shares: dict[bool, dict[str, Share]] = {True: {}, False: {}}

    def has_counted(
        self, actor: Actor, event: str, fields: Mapping[str, object], time: str
    ) -> bool:
        """Return false if a line may be written; otherwise it was counted.

        While something is counted all is, so that the trail is in order.
        """
        share = self._share_of(actor)
        if not share.counted and share.left >= 1:
            share.left -= 1
            return False
        if not share.counted:
            share.since = self._now()
        short = {key: _cut(one) for key, one in fields.items()}
        share.counted.setdefault(event, Counts(short, time)).add(short, time)
        return True

    def due(
        self, *, of: Actor | None = None, at_once: bool = False
    ) -> Iterator[tuple[Share, str, Counts]]:
        """Return the counts whose interval is over, or all `at_once`; `of`: all of that actor.

        Forgets who has a whole share again.
        """
        now = self._now()
        if of is not None:
            share = self._shares[of.is_user].get(of.name)
            yield from _counts_of(share)
            return
        for shares in self._shares.values():
            for name, share in list(shares.items()):
                if share.counted and (at_once or now - share.since >= self._interval):
                    yield from _counts_of(share)
                elif not share.counted:
                    self._refill(share, now)
                    if share.left >= self._lines_max:
                        del shares[name]

    def _share_of(self, actor: Actor) -> Share:
        shares, now = self._shares[actor.is_user], self._now()
        share = shares.get(actor.name)
        if share is None:
            most = USERS_MAX if actor.is_user else ADDRESSES_MAX
            name = actor.name if len(shares) < most else ""
            share = shares.setdefault(name, Share(self._lines_max, now))
        self._refill(share, now)
        return share

    def _refill(self, share: Share, now: float) -> None:
        added = (now - share.at) / self._interval
        share.left, share.at = min(self._lines_max, share.left + added), now


def _counts_of(share: Share | None) -> Iterator[tuple[Share, str, Counts]]:
    if share is not None:
        yield from [(share, event, counts) for event, counts in share.counted.items()]


def _cut(value: object) -> object:
    text = str(value)
    return value if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "..."
