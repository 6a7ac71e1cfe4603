"""No effect in the log without a right that was confirmed before it (security.md): the judge of it.

One user of a simulated cluster has rights that come and go. Nobody else writes to the space that is
entrusted to it, so what is written there is its, and the rows of users and grants say whether it
might: by the log before its entry, and by what was confirmed when that was appended.
"""

from typing import Final

import cbor2

from qsync.core.replicated_log import ReplicatedLog
from qsync.data import keys, schema
from qsync.data.keys import FieldType, KeyPart
from qsync.record import Entry
from qsync.rights import NEWCOMER, GrantedOn, Privilege
from qsync.sim.canon import Key, PropertyViolation, ReferenceLog, ReferenceRecords

ENTRUSTED: Final = 601
"""The space."""
SPACE_NAME: Final = "entrusted"
USER, ROLE = "trustee", "keepers"
_WRITE: Final = Privilege.WRITE.value
_PARTS: Final = tuple(KeyPart(field=at, type=FieldType.STRING) for at in range(3))


def _granted(grantee: str, kind: GrantedOn, name: str) -> Key:
    return schema.PRIV, keys.encode(_PARTS, (grantee, kind.value, name))


_EXISTS: Final = (schema.USER, keys.encode(_PARTS[:1], (USER,)))
_MAY_LOG_IN: Final = _granted(USER, GrantedOn.UNIVERSE, "")
_HAS_ROLE: Final = _granted(USER, GrantedOn.ROLE, ROLE)
_ON_SPACE: Final = _granted(USER, GrantedOn.SPACE, SPACE_NAME)
_ROLE_ON_SPACE: Final = _granted(ROLE, GrantedOn.SPACE, SPACE_NAME)


class RightsRules:
    """Looks at every entry when its leader has appended it, before anybody else has it."""

    def __init__(self, books: ReferenceRecords, canon: ReferenceLog) -> None:
        self.writes = 0
        """So many entries were judged."""
        self._books = books
        self._canon = canon

    def appended(self, entry: Entry, log: ReplicatedLog) -> None:
        """Property 17, for an entry that nobody has had before."""
        place = self._books.places[entry.index, entry.term]
        if place.refused or all(space != ENTRUSTED for space, _ in place.keys):
            return
        self.writes += 1
        before = entry.index - 1
        for upto, why in ((before, "has"), (min(before, log.confirmed), "is confirmed to have")):
            if not self._may_write(log, upto):
                raise PropertyViolation(
                    17, f"{entry} is of {USER}, which by {upto} no longer or not yet {why} a right"
                )

    def _may_write(self, log: ReplicatedLog, upto: int) -> bool:
        """By the rows of users and grants as the log up to there leaves them."""
        if self._row(log, _EXISTS, upto) is None:
            return False
        if not {each.value for each in NEWCOMER} <= self._privileges(log, _MAY_LOG_IN, upto):
            return False
        if _WRITE in self._privileges(log, _ON_SPACE, upto):
            return True
        has_role = self._row(log, _HAS_ROLE, upto) is not None
        return has_role and _WRITE in self._privileges(log, _ROLE_ON_SPACE, upto)

    def _privileges(self, log: ReplicatedLog, key: Key, upto: int) -> set[str]:
        row = self._row(log, key, upto)
        return set() if row is None else {str(each) for each in cbor2.loads(row)[3]}

    def _row(self, log: ReplicatedLog, key: Key, upto: int) -> bytes | None:
        for index, term, row in reversed(self._books.writes.get(key, ())):
            if index <= upto and self._stands(log, index, term):
                return row
        return None

    def _stands(self, replicated_log: ReplicatedLog, index: int, term: int) -> bool:
        """That entry is in this log, and not rolled back. What was trimmed is confirmed."""
        log = replicated_log.log
        if index < log.start.index:
            return self._canon.shows(index, term)
        there = index <= log.last and log.term_at(index) == term
        return there and replicated_log.limbo.stretch_at(index) is None
