"""Each node keeps the heads of the others' audit trails in its own, so that a cut trail shows.

A node sends the others now and then how many lines its trail has, and the hash of the last. They
write that down as a line of theirs, `head`, once for each head. Who cuts or remakes the trail of
one node would have to remake those of all the others, too. `qsync audit verify` compares.

A line about another's head is no news: otherwise two idle nodes would write for ever about what the
other one has written about them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from election.messages import Replica
from qsync.audit import HEAD, AuditHead, parse_head
from qsync.node.auditing import AuditTrail
from qsync.wire import peer_audit
from qsync.wire.peer_audit import PeerAudit

INSTANCES_MAX: Final = 256
"""Directories of others whose heads are remembered; the one that was not heard longest goes."""


@dataclass(frozen=True, slots=True)
class HeadNews:
    """A node's report about its trail. `instance`: of the directory that the trail is in."""

    replica: Replica
    name: str
    instance: str
    told: PeerAudit

    @property
    def head(self) -> AuditHead:
        """The head of the trail at the time of the report."""
        return self.told.head

    def lacks(self, before: "HeadNews") -> AuditHead | None:
        """Return the head of a trail that lost what it held before; None if it may still hold it.

        In one life a trail only grows. Of another life that counts which was found in the files.
        """
        same_life = self.told.begun == before.told.begun
        found = self.head if same_life else self.told.begun
        if found.number < before.head.number:
            return found
        return found if found.number == before.head.number and found != before.head else None


class AuditHeads:
    """Exchanges heads for one node. Call `tick` now and then, where the cluster has users."""

    def __init__(
        self,
        trail: AuditTrail,
        *,
        interval: float,
        send: Callable[[bytes], None],
        alarm: Callable[[str, Mapping[str, object]], None],
    ) -> None:
        """Send the head once in `interval` seconds, 0: never. `send`: to all other nodes."""
        self._trail = trail
        self._interval = interval
        self._send = send
        self._alarm = alarm
        self._due = 0.0
        self._told = AuditHead()
        self._noted: dict[str, HeadNews] = {}

    def tick(self, now: float) -> None:
        """Send the head when it is time. A node that was away gets the same head again."""
        if not self._interval or now < self._due:
            return
        self._due = now + self._interval
        if self._trail.take_news():
            self._told = self._trail.head
        if self._told.number and self._trail.begun is not None:
            message = PeerAudit(head=self._told, begun=self._trail.begun)
            self._send(peer_audit.encode(message))

    def heard(self, news: HeadNews) -> None:
        """Take the head that another node reports."""
        if not self._noted:
            self._noted = {
                each.instance: each for each in map(_read, self._trail.latest(HEAD)) if each
            }
        before = self._noted.pop(news.instance, None)
        self._noted[news.instance] = news
        if len(self._noted) > INSTANCES_MAX:
            del self._noted[next(iter(self._noted))]
        if before is not None and before.told == news.told:
            return
        lacking = None if before is None else news.lacks(before)
        if before is not None and lacking is not None:
            self._alarm(
                "audit_cut",
                {"node": news.name, "had": before.head.number, "has": lacking.number},
            )
        self._trail.note_head(
            {
                "node": int(news.replica),
                "name": news.name,
                "instance": news.instance,
                "head": str(news.head),
                "begun": str(news.told.begun),
            }
        )

    def describe(self) -> list[dict[str, object]]:
        """Return the latest head of every other trail that was received in this life."""
        return [
            {"name": each.name, "instance": each.instance, "head": str(each.head)}
            for each in self._noted.values()
        ]


def _read(said: Mapping[str, object]) -> HeadNews | None:
    """Read a line of a former life; None if another release wrote it in another form."""
    try:
        return HeadNews(
            Replica(int(str(said["node"]))),
            str(said["name"]),
            str(said["instance"]),
            PeerAudit(head=parse_head(str(said["head"])), begun=_begun(str(said["begun"]))),
        )
    except (KeyError, ValueError):
        return None


def _begun(text: str) -> AuditHead:
    """Read a head. That of a trail without lines can be compared with nothing."""
    return AuditHead() if text == str(AuditHead()) else parse_head(text)
