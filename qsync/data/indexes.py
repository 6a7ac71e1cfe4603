"""An index of a space, compiled: where a tuple's entry is, and what a key leads to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from qsync.data import keys
from qsync.data.keys import KeyPart, Misfit
from qsync.errors import DuplicateKey, WrongKey, WrongTuple
from qsync.units import how_many

_SHOWN_CHARACTERS_MAX = 100
"""Of a key, in a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index of a space. The one with id 0 is the primary one and holds the tuples."""

    space: int
    id: int
    name: str
    unique: bool
    parts: tuple[KeyPart, ...]
    prefix: bytes
    end: bytes
    extract: Callable[[Sequence[object]], bytes]
    nullable: tuple[int, ...]
    """Fields of parts that may be nil. A unique index takes a key with nil any number of times."""

    def locate(self, fields: Sequence[object], primary_key: bytes) -> bytes:
        """Physical key of a tuple's entry in this secondary index."""
        key = self.prefix + self.extract(fields)
        if self.unique and not self._has_nil(fields):
            return key
        return key + primary_key

    def key(self, values: object, *, whole: bool = False) -> bytes:
        """Physical key of these parts (a physical prefix if there are fewer than the index has)."""
        if not isinstance(values, (list, tuple)):
            raise WrongKey(f'index "{self.name}": a key is an array of its parts')
        if whole and len(values) != len(self.parts):
            parts = how_many(len(self.parts), "part")
            raise WrongKey(f'index "{self.name}" has {parts}, the key has {len(values)}')
        try:
            key = self.prefix + keys.encode(self.parts, values)
        except Misfit as error:
            raise WrongKey(f'index "{self.name}": the key {error}') from error
        return key

    def taken(self, space: str, fields: Sequence[object]) -> DuplicateKey:
        """The refusal of a tuple whose key belongs to another tuple."""
        count = len(fields)
        key = [fields[part.field] if part.field < count else None for part in self.parts]
        shown = repr(key)
        if len(shown) > _SHOWN_CHARACTERS_MAX:
            shown = shown[:_SHOWN_CHARACTERS_MAX] + "..."
        return DuplicateKey(
            f'space "{space}", index "{self.name}": another tuple has the key {shown}',
            hint="" if self.id else "`replace` overwrites the tuple that has this key",
            details={"space": space, "index": self.name},
        )

    def misfit(self, space: str, why: Misfit) -> WrongTuple:
        """The refusal of a tuple that has no key in this index."""
        return WrongTuple(
            f'space "{space}", index "{self.name}": {why}',
            details={"space": space, "index": self.name},
        )

    def exact(self, key: Sequence[object]) -> bool:
        """Return whether this key, with all its parts, leads to at most one tuple."""
        return self.unique and None not in key

    def _has_nil(self, fields: Sequence[object]) -> bool:
        count = len(fields)
        return any(at >= count or fields[at] is None for at in self.nullable)


def index(*, space: int, id: int, name: str, unique: bool, parts: Iterable[KeyPart]) -> Index:
    """Compile an index."""
    parts = tuple(parts)
    prefix = keys.prefix(space, id)
    return Index(
        space=space,
        id=id,
        name=name,
        unique=unique,
        parts=parts,
        prefix=prefix,
        end=keys.prefix(space, id + 1),
        extract=keys.extractor(parts),
        nullable=tuple(part.field for part in parts if part.nullable),
    )
