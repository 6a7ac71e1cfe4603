"""What an option's text may be, and how it becomes a value and text again."""

import difflib
import ipaddress
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from election import quorum
from qsync import units
from qsync.config import secret
from qsync.config.secret import Secret

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

PORT_MAX = 65535
WORD_CHARS_MAX = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


class Address(str):
    """Where a node listens or is reached, `host:port`. Port 0 asks the system for a free one."""

    __slots__ = ()

    @property
    def host(self) -> str:
        """Name or number, without the brackets of IPv6."""
        return self.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The number after the last colon."""
        return int(self.rpartition(":")[2])

    @property
    def loopback(self) -> bool:
        """Nobody outside this machine can reach it. A name we cannot judge counts as reachable."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def everywhere(self) -> bool:
        """It means "all interfaces", so nobody can dial it."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `host:port` or `[ipv6]:port`. Raises ValueError with the reason."""
        host, colon, port = text.rpartition(":")
        if not colon or not host:
            raise ValueError("is not host:port, such as 127.0.0.1:3301")
        if not port.isascii() or not port.isdigit() or int(port) > PORT_MAX:
            raise ValueError(f"has the port {port!r}; wanted a number from 0 to 65535")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError(f"has an IPv6 address without brackets; write [{host}]:{port}")
        if not host or any(letter.isspace() or letter in "/@" for letter in host):
            raise ValueError(f"has the host {host!r}")
        return cls(f"[{host}]:{int(port)}" if ":" in host else f"{host}:{int(port)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind(Generic[T]):
    """One kind of value. `parse` raises ValueError whose text completes "the value ..."."""

    parse: Callable[[str], T]
    show: Callable[[T], str] = str
    suggest: Callable[[str], str | None] = lambda _: None
    schema: dict[str, object]


class OptionDescription(NamedTuple):
    """What is known of an option beside its value."""

    kind: ValueKind[object]
    about: str


def option(kind: ValueKind[T], default: str, about: str) -> T:
    """A dataclass field whose default is written as a user would write it."""
    return field(
        default=kind.parse(default), metadata={"option": OptionDescription(_erase(kind), about)}
    )


def integer(low: int, high: int) -> ValueKind[int]:
    """A whole number within bounds, both allowed."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError("is not a whole number") from None
        return _within(number, low, high, str)

    return ValueKind(parse=parse, schema={"type": "integer", "minimum": low, "maximum": high})


def duration(low: str, high: str) -> ValueKind[float]:
    """Seconds, written with a unit, within bounds."""
    first, last = units.duration(low), units.duration(high)

    def parse(text: str) -> float:
        return _within(units.duration(text), first, last, units.show_duration)

    pattern = r"^[0-9]+(\.[0-9]+)?(us|ms|s|m|min|h|d)$"
    return ValueKind(
        parse=parse, show=units.show_duration, schema={"type": "string", "pattern": pattern}
    )


def size(low: str, high: str) -> ValueKind[int]:
    """Bytes, written with a unit, within bounds."""
    first, last = units.size(low), units.size(high)

    def parse(text: str) -> int:
        return _within(units.size(text), first, last, units.show_size)

    pattern = r"^[0-9]+(\.[0-9]+)?(B|[KMGT]iB|[KMGT]B)$"
    return ValueKind(
        parse=parse, show=units.show_size, schema={"type": "string", "pattern": pattern}
    )


def choice(values: type[E]) -> ValueKind[E]:
    """One word of a list."""
    words = [value.value for value in values]

    def parse(text: str) -> E:
        if text not in words:
            raise ValueError(f"is none of {', '.join(words)}")
        return values(text)

    def suggest(text: str) -> str | None:
        return nearest(text, words)

    return ValueKind(parse=parse, show=str, suggest=suggest, schema={"enum": list(words)})


def nearest(word: str, known: list[str]) -> str | None:
    """The known word that was probably meant. Long texts are none, and take long to compare."""
    if len(word) > WORD_CHARS_MAX:
        return None
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), None)


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError("is neither true nor false")
    return text == "true"


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("is not a name: letters, digits, dot, dash, underscore, at most 63")
    return text


def _cluster_id(text: str) -> str:
    try:
        return str(uuid.UUID(text)) if text else ""
    except ValueError:
        raise ValueError("is not a UUID, such as 8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55") from None


def _expression(text: str) -> str:
    quorum.parse(text)
    return text


def _path(text: str) -> Path:
    if not text:
        raise ValueError("is empty")
    return Path(text)


_ADDRESS_SCHEMA: dict[str, object] = {"type": "string", "pattern": r"^.+:[0-9]{1,5}$"}

FLAG: ValueKind[bool] = ValueKind(
    parse=_flag, show=lambda value: "true" if value else "false", schema={"type": "boolean"}
)
NAME: ValueKind[str] = ValueKind(
    parse=_name, schema={"type": "string", "pattern": f"^{_NAME.pattern}$"}
)
LABEL: ValueKind[str] = ValueKind(parse=lambda text: text, schema={"type": "string"})
CLUSTER_ID: ValueKind[str] = ValueKind(parse=_cluster_id, schema={"type": "string"})
QUORUM: ValueKind[str] = ValueKind(parse=_expression, schema={"type": ["string", "integer"]})
SECRET: ValueKind[Secret] = ValueKind(
    parse=secret.parse,
    schema={"type": "string", "minLength": secret.CHARS_MIN, "maxLength": secret.CHARS_MAX},
)
PATH_OR_NONE: ValueKind[Path | None] = ValueKind(
    parse=lambda text: Path(text) if text else None,
    show=lambda path: "" if path is None else str(path),
    schema={"type": "string"},
)
PATH: ValueKind[Path] = ValueKind(parse=_path, schema={"type": "string"})
ADDRESS: ValueKind[Address] = ValueKind(parse=Address.parse, schema=_ADDRESS_SCHEMA)
ADDRESS_OR_NONE: ValueKind[Address | None] = ValueKind(
    parse=lambda text: Address.parse(text) if text else None,
    show=lambda address: "" if address is None else str(address),
    schema={"type": "string"},
)


N = TypeVar("N", int, float)


def _within(number: N, low: N, high: N, show: Callable[[N], str]) -> N:
    if not low <= number <= high:
        raise ValueError(f"is not between {show(low)} and {show(high)}")
    return number


def _erase(kind: ValueKind[T]) -> ValueKind[object]:
    """The same kind for code that goes over all options, whatever their types."""

    def show(value: object) -> str:
        typed: T = value  # type: ignore[assignment]  # a field holds what its own kind parsed
        return kind.show(typed)

    return ValueKind(parse=kind.parse, show=show, suggest=kind.suggest, schema=kind.schema)
