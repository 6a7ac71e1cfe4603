"""Every log prefix that was ever seen, by its checksum, and which are equal when renamed."""

from collections.abc import Mapping

from qsync.data.members import CODEC
from qsync.record import CHAIN_SEED, CONFIG, Entry, EntryKind, read_ref
from qsync.sim.explore.ids import Renaming


class TwoPrefixes(Exception):
    """Two different prefixes have one checksum, so checksums cannot represent prefixes here."""


class Chain:
    """Symbols of prefixes, because checksums cover node ids and differ in symmetric clusters.

    Under each renaming, equal symbols mean prefixes that are equal after the renaming.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Entry]] = {}
        self._tables: dict[Renaming, dict[int, int]] = {}
        self._numbers: dict[object, int] = {}

    def symbols(self, renaming: Renaming) -> Mapping[int, int]:
        """Symbol by checksum; grows with every new prefix."""
        table = self._tables.get(renaming)
        if table is None:
            table = self._tables[renaming] = {CHAIN_SEED: 0}
            for crc, (previous, entry) in self._known.items():
                table[crc] = self._symbol(renaming, table[previous], entry)
        return table

    def learn(self, previous: int, entry: Entry) -> None:
        """`entry` follows the prefix whose checksum is `previous`."""
        known = self._known.get(entry.crc)
        if known is not None:
            if known[0] != previous or known[1].raw != entry.raw:
                raise TwoPrefixes(f"{known[1]} and {entry}")
            return
        self._known[entry.crc] = (previous, entry)
        for renaming, table in self._tables.items():
            table[entry.crc] = self._symbol(renaming, table[previous], entry)

    def entry(self, crc: int) -> Entry:
        """The last entry of the prefix with that checksum."""
        return self._known[crc][1]

    def _symbol(self, renaming: Renaming, before: int, entry: Entry) -> int:
        body: object = entry.body
        if entry.flags & CONFIG:
            members = CODEC.decode(entry.body)
            body = tuple(
                sorted((renaming[each.replica], each.instance, each.role) for each in members)
            )
        elif entry.kind != EntryKind.TXN:
            ref = read_ref(entry)
            body = (renaming[ref.owner], ref.lsn)
        seen = (before, entry.term, renaming[entry.origin], entry.lsn, entry.kind, entry.flags)
        return self._numbers.setdefault((*seen, body), len(self._numbers) + 1)
