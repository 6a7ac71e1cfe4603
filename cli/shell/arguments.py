"""Arguments of verbs: converts Lua values to facade values and refuses others by name."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from cli.shell.settings import consistency
from cli.shell.values import KEEP, NamedRow, plain
from qsync.client.options import CountOptions, RangeOptions, ReadOptions, WriteOptions
from qsync.client.rows import ReadConsistency, Values
from qsync.errors import WrongKey, WrongOperation, WrongTuple

ITERATORS: Final = ("eq", "req", "all", "lt", "le", "ge", "gt")
"""In the order of Tarantool's numbers."""
WAITS: Final[dict[str, Literal["complete", "submit", "none"]]] = {
    "complete": "complete",
    "submit": "submit",
    "none": "none",
}
ISOLATIONS: Final = (
    *("default", "read-committed", "read-confirmed", "best-effort", "linearizable"),
)
"""In the order of Tarantool's numbers."""
UNCONFIRMED: Final = "read-committed"
"""The isolation level that reads data which may still be rolled back."""
READ_OPTIONS: Final = ("iterator", "limit", "offset", "after", "fullscan", "consistency")
COUNT_OPTIONS: Final = ("iterator", "fullscan", "consistency")
SPACE_OPTIONS: Final = (
    *("is_sync", "format", "if_not_exists", "is_local", "id", "engine", "field_count"),
    *("temporary", "user", "type"),
)
ENGINES: Final = ("lmdb", "memtx")
"""Two names of the only engine: rows are in memory until they are folded, and always durable."""
COMMIT_OPTIONS: Final = ("is_sync", "is_lazy", "wait", "timeout", "txn_isolation")
INDEX_OPTIONS: Final = ("parts", "unique", "type", "if_not_exists", "id")
ALTER_OPTIONS: Final = ("name", "format", "is_sync")
USER_OPTIONS: Final = ("password", "certificate", "if_not_exists")
SEQUENCE_OPTIONS: Final = ("start", "step", "min", "max", "cycle", "if_not_exists")


def at(args: Sequence[object], place: int) -> object:
    """An argument, nil if it was not given; without wrappers."""
    return plain(args[place]) if place < len(args) else None


def number(value: object, what: str) -> int:
    """A whole number from 0. Raises WrongOperation."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise WrongOperation(f"{what} is a whole number, not {value!r}")


def seconds(value: object, what: str) -> float | None:
    """Seconds, or nil for no limit. Raises WrongOperation."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise WrongOperation(f"{what} is a number of seconds, not {value!r}")


def text(value: object, what: str) -> str:
    """A text. Raises WrongOperation."""
    if isinstance(value, str) and value:
        return value
    raise WrongOperation(f"{what} is a text, not {value!r}")


def row(value: object) -> Values:
    """A tuple. Raises WrongTuple."""
    if isinstance(value, NamedRow):
        return value.fields
    if value == {}:
        return []
    if isinstance(value, list):
        return value
    raise WrongTuple(f"a tuple is a list such as {{1, 'ann'}}, not {value!r}")


def key(value: object) -> object:
    """A key: one value, or a list of its parts; nil for all."""
    if value == {}:
        return None
    if isinstance(value, dict):
        raise WrongKey(f"a key is a value or a list of values, not {value!r}")
    return value


def changes(value: object) -> list[Values]:
    """Update operations such as `{{'+', 'balance', 1}}`. Raises WrongOperation."""
    if isinstance(value, list) and all(isinstance(each, list) for each in value):
        return [each for each in value if isinstance(each, list)]
    if value == {}:
        return []
    raise WrongOperation(f"operations are a list such as {{{{'=', 2, 'x'}}}}, not {value!r}")


def options(value: object, known: Sequence[str], of: str) -> dict[str, object]:
    """Named options without placeholders. Raises WrongOperation with the unknown names."""
    if value is None or value == []:
        return {}
    if not isinstance(value, dict):
        raise WrongOperation(f"options of {of} are a table such as {{name = value}}, not {value!r}")
    for name in value:
        if known and name not in known:
            raise WrongOperation(
                f"{of} has no option {name!r}", hint=f"it has {', '.join(sorted(known))}"
            )
    return {str(name): each for name, each in value.items() if each is not KEEP}


def no_options(value: object, of: str) -> None:
    """Refuse options that would be ignored; whatever else comes after the arguments is."""
    if isinstance(value, dict) and value:
        raise WrongOperation(
            f"{of} has no options, and so no {next(iter(value))!r}",
            hint="box.begin(), the write, and box.commit{timeout = .., is_sync = ..}",
        )


def reading(value: object) -> RangeOptions:
    """`{iterator = 'GE', limit = 10, offset = 0, after = tuple, consistency = 'local'}`."""
    given = options(value, READ_OPTIONS, "select")
    found: RangeOptions = {}
    if "iterator" in given:
        found["iterator"] = _iterator(given["iterator"])
    if "limit" in given:
        found["limit"] = number(given["limit"], "limit")
    if "offset" in given:
        found["offset"] = number(given["offset"], "offset")
    if "after" in given:
        found["after"] = row(given["after"])
    if "consistency" in given:
        found["consistency"] = _consistency(given["consistency"])
    return found


def counting(value: object) -> CountOptions:
    """`{iterator = 'GE', consistency = 'local'}`."""
    given = options(value, COUNT_OPTIONS, "count")
    found: CountOptions = {}
    if "iterator" in given:
        found["iterator"] = _iterator(given["iterator"])
    if "consistency" in given:
        found["consistency"] = _consistency(given["consistency"])
    return found


def creating(value: object) -> dict[str, object]:
    """Options of a new space. Unsupported ones are refused, not ignored."""
    of = "box.schema.create_space"
    given = options(value, SPACE_OPTIONS, of)
    for name in ("is_sync", "is_local", "if_not_exists", "temporary"):
        flag(given, name, of)
    engine, kind = given.get("engine", ENGINES[0]), given.pop("type", "normal")
    if given.pop("temporary", False) or given.pop("is_local", False) or kind != "normal":
        raise WrongOperation(
            f"{of}: every space is durable and replicated; there are no temporary or local ones",
            hint="keep data of one session or machine in a Lua table or a file",
        )
    if engine not in ENGINES:
        raise WrongOperation(
            f"{of}: there is no engine {engine!r}",
            hint=f"there is one, called {' or '.join(ENGINES)}",
        )
    if given.pop("user", None) is not None:
        raise WrongOperation(f"{of}: there are no users in this release that could own a space")
    return given


def indexing(value: object) -> dict[str, object]:
    """Options of a new index."""
    given = options(value, INDEX_OPTIONS, "create_index")
    for name in ("unique", "if_not_exists"):
        flag(given, name, "create_index")
    kind = given.get("type", "tree")
    if not isinstance(kind, str) or kind.lower() != "tree":
        raise WrongOperation(
            f"create_index: there is no index type {kind!r}",
            hint="every index is a tree, which also does lookups like a hash; leave `type` out",
        )
    return given


def getting(value: object) -> ReadOptions:
    """`{consistency = 'local'}`."""
    given = options(value, ("consistency",), "get")
    return {"consistency": _consistency(given["consistency"])} if given else {}


def _consistency(value: object) -> ReadConsistency:
    try:
        return consistency(value)
    except ValueError as error:
        raise WrongOperation(f"consistency {error}") from None


def _iterator(value: object) -> str:
    if isinstance(value, int) and 0 <= value < len(ITERATORS):
        return ITERATORS[value]
    if isinstance(value, str) and value.lower() in ITERATORS:
        return value.lower()
    raise WrongKey(f"there is no iterator {value!r}", hint=f"one of {', '.join(ITERATORS)}")


def flag(given: Mapping[str, object], name: str, of: str) -> bool | None:
    """A boolean option, None when it was not given. Raises WrongOperation."""
    value = given.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise WrongOperation(
        f"{of}: {name} is true or false, not {value!r}", hint=f"leave {name} out, or give a value"
    )


def committing(value: object, of: str) -> WriteOptions:
    """`{is_sync = true, is_lazy = true, wait = 'submit', timeout = 5}`.

    `txn_isolation` is one of Tarantool's. Transactions are serializable, which satisfies every
    level. `read-committed` is refused, because it reads unconfirmed data.
    """
    given = options(value, COMMIT_OPTIONS, of)
    found: WriteOptions = {}
    is_sync = flag(given, "is_sync", of)
    if is_sync is not None:
        found["is_sync"] = is_sync
    if flag(given, "is_lazy", of):
        found["wait"] = "submit"
    isolation = given.get("txn_isolation", ISOLATIONS[0])
    numbered = isinstance(isolation, int) and not isinstance(isolation, bool)
    if isolation not in (range(len(ISOLATIONS)) if numbered else ISOLATIONS):
        raise WrongOperation(
            f"{of}: there is no txn_isolation {isolation!r}", hint=f"one of {', '.join(ISOLATIONS)}"
        )
    if isolation in (UNCONFIRMED, ISOLATIONS.index(UNCONFIRMED)):
        raise WrongOperation(
            f"{of}: no transaction reads unconfirmed data, as {UNCONFIRMED!r} would",
            hint="leave txn_isolation out: transactions are serializable; "
            "box.info.synchro.queue shows the pending ones",
        )
    if "wait" in given:
        wait = WAITS.get(str(given["wait"]))
        if wait is None:
            raise WrongOperation(
                f"there is no wait {given['wait']!r}", hint="complete, submit or none"
            )
        found["wait"] = wait
    if "timeout" in given:
        found["timeout"] = seconds(given["timeout"], "timeout")
    return found
