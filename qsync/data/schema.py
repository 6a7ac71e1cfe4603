"""Which spaces and indexes there are: read from rows of `_space` and `_index`, then compiled."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from qsync import features
from qsync.data import body, grants, keys, tuples
from qsync.data.grants import Rights
from qsync.data.indexes import Index, index
from qsync.data.keys import FieldType, KeyPart
from qsync.data.tuples import Check, Field
from qsync.errors import NoSuchIndex, NoSuchSpace, ProtocolError

SCHEMA, SPACE, SEQUENCE, SEQUENCE_DATA, INDEX, USER, PRIV = 272, 280, 284, 285, 288, 304, 312
ANCESTORS = 321
CLUSTER, TRUNCATE, GC_CONSUMERS, SESSION, VOTING, SETTINGS = 320, 330, 341, 380, 390, 400
USER_SPACE_MIN = 512
NAMES_SHOWN_MAX = 10
"""The maximum number of existing names in a hint."""
"""Ids below belong to the system."""
SPACE_ID_MAX = (1 << 31) - 1
INDEXES_MAX = 128
NAME_CHARACTERS_MAX = 256
SCHEMA_ONLY = frozenset({SETTINGS, USER, PRIV})
DDL_SPACES = frozenset({SPACE, INDEX, TRUNCATE}) | SCHEMA_ONLY
"""A row written to one of these changes more than itself; of SCHEMA_ONLY no other rows."""
OWN_VERBS = (
    DDL_SPACES
    | {CLUSTER, ANCESTORS, GC_CONSUMERS, SESSION, SEQUENCE, SEQUENCE_DATA}
    | {SCHEMA, VOTING}
)
"""Spaces that clients change by operations of their own, or not at all: never by insert or delete.

`_schema` has the last number that a space was given, and none is to be given twice.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceDefinition:
    """A space: a format, a primary index and any number of secondary ones."""

    id: int
    name: str
    fields: tuple[Field, ...]
    indexes: tuple[Index, ...]
    is_sync: bool
    check: Check
    id_text: bytes
    """The id as CBOR, for bodies."""
    sync: bool
    """Is a transaction that writes to it synchronous?"""
    secondary: tuple[Index, ...]
    """All indexes but the primary one."""

    @property
    def system(self) -> bool:
        """Whether it is a space of the system."""
        return self.id < USER_SPACE_MIN

    @property
    def primary(self) -> Index:
        """The index that holds the tuples."""
        if not self.indexes or self.indexes[0].id != 0:
            raise NoSuchIndex(f'space "{self.name}" has no primary index yet')
        return self.indexes[0]

    def index(self, ref: object = None) -> Index:
        """The index of that name or id; the primary one for None."""
        if ref is None or ref == 0:
            return self.primary
        for one in self.indexes:
            if ref in (one.name, one.id):
                return one
        raise NoSuchIndex(
            f'space "{self.name}" has no index {ref!r}',
            hint=known_names(ref, [one.name for one in self.indexes]),
        )

    def field_number(self, ref: object) -> int | None:
        """The place of a field, counted from 0, or None if no field has that name."""
        for at, field in enumerate(self.fields):
            if field.name == ref:
                return at
        return None

    def describe(self) -> dict[str, object]:
        """The definition in plain words and numbers, as clients get it."""
        return {
            "id": self.id,
            "name": self.name,
            "is_sync": self.is_sync,
            "system": self.system,
            "format": [format_row(field) for field in self.fields],
            "indexes": [
                {
                    "id": one.id,
                    "name": one.name,
                    "unique": one.unique,
                    "parts": [part_row(part) for part in one.parts],
                }
                for one in self.indexes
            ],
        }


def space(
    *,
    id: int,
    name: str,
    fields: Iterable[Field] = (),
    indexes: Iterable[Index] = (),
    is_sync: bool = False,
) -> SpaceDefinition:
    """Compile a space."""
    fields = tuple(fields)
    ordered = tuple(sorted(indexes, key=lambda one: one.id))
    return SpaceDefinition(
        id=id,
        name=name,
        fields=fields,
        indexes=ordered,
        secondary=tuple(one for one in ordered if one.id != 0),
        sync=is_sync or id < USER_SPACE_MIN,
        is_sync=is_sync,
        check=tuples.checker(name, fields),
        id_text=body.uint(id),
    )


def format_row(field: Field) -> dict[str, object]:
    """A field as `_space` stores it."""
    row: dict[str, object] = {"name": field.name, "type": str(field.type)}
    return row | {"is_nullable": True} if field.nullable else row


def part_row(part: KeyPart) -> dict[str, object]:
    """A part as `_index` stores it; fields count from 0 there, as in Tarantool."""
    row: dict[str, object] = {"field": part.field, "type": str(part.type)}
    return row | {"is_nullable": True} if part.nullable else row


class Schema:
    """All spaces, by name and by id. Never changed: a schema change makes a new one.

    `settings` are those that the whole cluster shares, and `rights` those of its users (None: it
    has none, so everybody may do everything). They change like the schema, as a part of the log.
    """

    def __init__(
        self,
        spaces: Iterable[SpaceDefinition],
        settings: Mapping[str, str] | None = None,
        rights: Rights | None = None,
    ) -> None:
        self.settings: Mapping[str, str] = settings or {}
        self.rights: Rights | None = rights
        self.spaces = tuple(sorted(spaces, key=lambda one: one.id))
        self._by_ref: dict[object, SpaceDefinition] = {one.name: one for one in self.spaces}
        self._by_ref.update({one.id: one for one in self.spaces})
        # A row of these is one physical write and nothing else.
        self.plain: Mapping[int, bytes] = {
            one.id: one.primary.prefix
            for one in self.spaces
            if one.id not in OWN_VERBS and [index.id for index in one.indexes] == [0]
        }

    def space(self, ref: object) -> SpaceDefinition:
        """The space of that name or id."""
        try:
            return self._by_ref[ref]
        except KeyError:
            # With users, a user may not be allowed to see all names.
            names = self._meant(str(ref)) if self.rights is None else []
            raise NoSuchSpace(f"there is no space {ref!r}", hint=_alike(ref, names)) from None
        except TypeError:
            raise ProtocolError(f"a space is named by text or number, not by {ref!r}") from None

    def _meant(self, ref: str) -> list[str]:
        """The names to suggest: system spaces only for a name that begins with an underscore."""
        return [one.name for one in self.spaces if ref.startswith("_") or not one.system]

    def name_of(self, ref: str | int) -> str | None:
        """The name that is meant, whether there is such a space; None for a number of none."""
        if isinstance(ref, str):
            return ref
        found = self.find(ref)
        return None if found is None else found.name

    def find(self, ref: object) -> SpaceDefinition | None:
        """The space of that name or id, if there is one."""
        return self._by_ref.get(ref)


def load(scan: Callable[[bytes, bytes], Iterator[tuple[bytes, bytes]]]) -> Schema:
    """The schema that the rows of `_space`, `_index`, `_settings`, `_user`, `_priv` describe."""
    of_space: dict[int, list[Index]] = {}
    for _, data in scan(*keys_of(INDEX)):
        one = read_index(tuples.stored(data))
        of_space.setdefault(one.space, []).append(one)
    spaces = [read_space(tuples.stored(data), of_space) for _, data in scan(*keys_of(SPACE))]
    shared, users, granted = (
        [tuples.stored(data) for _, data in scan(*keys_of(one))] for one in (SETTINGS, USER, PRIV)
    )
    settings = {str(row[0]): str(row[1]) for row in shared}
    has_users = features.USERS in features.enabled(settings)
    rights = grants.read(users, granted) if has_users else None
    return Schema([*SYSTEM, *spaces], settings, rights)


def keys_of(space_id: int) -> tuple[bytes, bytes]:
    """The range of the tuples of a space."""
    return keys.prefix(space_id, 0), keys.prefix(space_id, 1)


# The layouts of `_space`, `_index` and `_sequence` are Tarantool's, so that what people know of
# them holds here.
def space_row(one: SpaceDefinition) -> list[object]:
    """A space as a row of `_space`."""
    flags: dict[str, object] = {"is_sync": True} if one.is_sync else {}
    return [one.id, 1, one.name, "lmdb", 0, flags, [format_row(field) for field in one.fields]]


def read_space(row: Sequence[object], indexes: Mapping[int, Sequence[Index]]) -> SpaceDefinition:
    """The space that a row of `_space` describes."""
    match row:
        case [int(id_), _, str(name), _, _, dict(flags), list(fields), *_]:
            return space(
                id=id_,
                name=name,
                fields=[_read_field(one) for one in fields],
                indexes=indexes.get(id_, ()),
                is_sync=bool(flags.get("is_sync")),
            )
        case _:
            raise AssertionError(row)


def index_row(one: Index) -> list[object]:
    """An index as a row of `_index`."""
    parts = [part_row(part) for part in one.parts]
    return [one.space, one.id, one.name, "tree", {"unique": one.unique}, parts]


def read_index(row: Sequence[object]) -> Index:
    """The index that a row of `_index` describes."""
    match row:
        case [int(space_id), int(id_), str(name), _, dict(options), list(parts), *_]:
            return index(
                space=space_id,
                id=id_,
                name=name,
                unique=bool(options.get("unique", True)),
                parts=[
                    KeyPart(
                        field=one["field"],
                        type=FieldType(one["type"]),
                        nullable=bool(one.get("is_nullable")),
                    )
                    for one in parts
                ],
            )
        case _:
            raise AssertionError(row)


def _read_field(row: Mapping[str, object]) -> Field:
    return Field(
        name=str(row["name"]),
        type=FieldType(str(row["type"])),
        nullable=bool(row.get("is_nullable")),
    )


def known_names(ref: object, names: Sequence[str]) -> str:
    """A hint for who named what is not there: the name that is meant, or those that there are."""
    more = ", ..." if len(names) > NAMES_SHOWN_MAX else ""
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    return _alike(ref, names) or (f"there are {shown}{more}" if names else "there is none")


def _alike(ref: object, names: Sequence[str]) -> str:
    word = ref if isinstance(ref, str) and len(ref) <= NAME_CHARACTERS_MAX else ""
    found = get_close_matches(word, names, n=1)
    return f'did you mean "{found[0]}"?' if found else ""


def _system(id_: int, title: str, fields: str, /, **indexes: str) -> SpaceDefinition:
    """A system space in short hand: `id:unsigned name:string rest:any?`, `primary="id"`."""
    known = []
    for word in fields.split():
        label, _, kind = word.partition(":")
        nullable = kind.endswith("?")
        known.append(Field(name=label, type=FieldType(kind.rstrip("?")), nullable=nullable))
    names = [field.name for field in known]
    made = []
    for number, (label, words) in enumerate(indexes.items()):
        places = [names.index(word) for word in words.split()]
        made.append(
            index(
                space=id_,
                # Tarantool's ids: "name" is 2 in its system spaces.
                id=2 if label == "name" else number,
                name=label,
                unique=True,
                parts=[KeyPart(field=at, type=known[at].type) for at in places],
            )
        )
    return space(id=id_, name=title, fields=known, indexes=made)


SYSTEM = (
    _system(SCHEMA, "_schema", "key:string value:any?", primary="key"),
    _system(
        SPACE,
        "_space",
        "id:unsigned owner:unsigned name:string engine:string field_count:unsigned flags:map"
        " format:array",
        primary="id",
        name="name",
    ),
    _system(
        SEQUENCE,
        "_sequence",
        "id:unsigned owner:unsigned name:string step:integer min:integer max:integer"
        " start:integer cache:integer cycle:boolean",
        primary="id",
        name="name",
    ),
    _system(SEQUENCE_DATA, "_sequence_data", "id:unsigned value:integer", primary="id"),
    _system(
        INDEX,
        "_index",
        "id:unsigned iid:unsigned name:string type:string opts:map parts:array",
        primary="id iid",
        name="id name",
    ),
    _system(USER, "_user", "name:string kind:string auth:map", primary="name"),
    _system(
        PRIV,
        "_priv",
        "grantee:string kind:string object:string privileges:array",
        primary="grantee kind object",
    ),
    _system(
        CLUSTER,
        "_cluster",
        "id:unsigned uuid:string role:string? name:string? address:string?",
        primary="id",
    ),
    _system(
        ANCESTORS,
        "_ancestors",
        "generation:unsigned cluster:string index:unsigned term:unsigned",
        primary="generation",
    ),
    _system(TRUNCATE, "_truncate", "id:unsigned count:unsigned", primary="id"),
    _system(
        GC_CONSUMERS,
        "_gc_consumers",
        "name:string kind:string index:unsigned about:string let_go:boolean owner:string?",
        primary="name",
    ),
    _system(
        SESSION,
        "_session",
        "id:varbinary low:unsigned opened:unsigned outcomes:array",
        primary="id",
    ),
    _system(
        VOTING,
        "_voting",
        "term:unsigned voter:unsigned candidate:unsigned? granted:boolean? reason:string?",
        primary="term voter",
    ),
    _system(SETTINGS, "_settings", "key:string value:string", primary="key"),
)
