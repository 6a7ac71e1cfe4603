"""A view of all folded rows at one index, beside everything else that is done with them."""

from pathlib import Path
from typing import TYPE_CHECKING

from election.messages import Index
from qsync.errors import Damaged
from qsync.store import mark, seals
from qsync.store.environment import Environment
from qsync.store.head import HEAD_KEY, META, ROWS, Head
from qsync.store.seals import Sums
from qsync.store.snapshot import StoredRow

if TYPE_CHECKING:
    from lmdb import Transaction, _Database


class StoredRowsView:
    """See `contract.RowsView`. Index, sums and rows are of one transaction of LMDB."""

    def __init__(self, env: Environment, path: Path) -> None:
        """Of what is committed now. Raises Damaged, StoreError."""
        self._path = path
        self._view = env.lasting_view()
        self._rows = env.db(ROWS.decode())
        numbers = env.db(META.decode())
        try:
            kept = self._view.read(lambda txn: dict(txn.cursor(db=numbers)))
            head, self.sums = numbers_of(path, kept)
        except BaseException:
            self._view.close()
            raise
        self.folded = head.folded

    def rows(self, after: bytes, bytes_max: int) -> list[StoredRow]:
        """Rows behind a stored key, every one of them verified."""
        found = self._view.read(lambda txn: self._behind(txn, after, bytes_max))
        for key, stored in found:
            if seals.opened(key, stored) is None:
                raise Damaged(f"{self._path}: the checksum of a row does not hold")
        return found

    def _behind(self, txn: "Transaction[bytes]", after: bytes, room: int) -> list[StoredRow]:
        found: list[StoredRow] = []
        with txn.cursor(db=self._rows) as cursor:
            here = cursor.set_range(after) if after else cursor.first()
            if here and cursor.key() == after:
                here = cursor.next()
            for row in cursor.iternext() if here else ():
                found.append(row)
                room -= len(row[0]) + len(row[1])
                if room <= 0:
                    break
        return found

    def close(self) -> None:
        """Let what was overwritten since be used again."""
        self._view.close()


def rows_forward(
    txn: "Transaction[bytes]",
    rows: "_Database",
    lo: bytes,
    hi: bytes,
    *,
    size: int,
    seen: bytes | None,
) -> list[StoredRow]:
    """Return up to `size` stored rows from `lo` on and below `hi`, without the one `seen`."""
    found: list[StoredRow] = []
    with txn.cursor(db=rows) as cursor:
        here = cursor.set_range(lo) if lo else cursor.first()
        if here and cursor.key() == seen:
            here = cursor.next()
        for row in cursor.iternext() if here else ():
            if row[0] >= hi:
                break
            found.append(row)
            if len(found) == size:
                break
    return found


def rows_backward(
    txn: "Transaction[bytes]",
    rows: "_Database",
    lo: bytes,
    hi: bytes,
    *,
    size: int,
    seen: bytes | None,  # noqa: ARG001 - what was seen is not below `hi`
) -> list[StoredRow]:
    """Return up to `size` stored rows below `hi` and from `lo` on, last first."""
    found: list[StoredRow] = []
    with txn.cursor(db=rows) as cursor:
        here = cursor.prev() if cursor.set_range(hi) else cursor.last()
        for row in cursor.iterprev() if here else ():
            if row[0] < lo:
                break
            found.append(row)
            if len(found) == size:
                break
    return found


def numbers_of(path: Path, kept: dict[bytes, bytes]) -> tuple[Head, Sums]:
    """Return what stands beside the rows. Raises Damaged."""
    head = Head.unpack(kept[HEAD_KEY]) if HEAD_KEY in kept else Head(Index(0))
    sums = mark.stored_sums(kept)
    if head is None or sums is None:
        raise Damaged(f"{path} is of another release, or its index is damaged")
    return head, sums
