"""The value kinds of node options: addresses, names, paths, secrets."""

import ipaddress
import uuid
from dataclasses import field
from pathlib import Path
from typing import NamedTuple, TypeVar

from qsync import features, ipv6
from qsync.config import secret
from qsync.config.secret import Secret
from qsync.options.core_options import CoreOption
from qsync.options.member_names import MEMBER_NAME
from qsync.options.value_kinds import ValueKind, member_name

T = TypeVar("T")

PORT_MAX = 65535


class Address(str):
    """The address of a node, `host:port`. Port 0 requests a free one from the system."""

    __slots__ = ()

    @property
    def host(self) -> str:
        """Name or number, without the brackets of IPv6."""
        return self.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The number after the last colon."""
        return int(self.rpartition(":")[2])

    def at_port(self, port: int) -> "Address":
        """The same host at another port."""
        return Address(f"{self.rpartition(':')[0]}:{port}")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it. An unknown name counts as reachable."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def everywhere(self) -> bool:
        """Whether it means "all interfaces", so that it cannot be dialled."""
        return self.host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `host:port` or `[ipv6]:port`. Raises ValueError with the reason."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or text.endswith("]"):
            raise ValueError("is not host:port, such as 127.0.0.1:3301 or [::1]:3301")
        if ":" in host and not host.startswith("["):
            meant = ipv6.bracketed(text)
            if meant is not None:
                raise ValueError(f"has an IPv6 address without brackets; write {meant}")
        if not port.isascii() or not port.isdigit() or int(port) > PORT_MAX:
            raise ValueError(f"has the port {port!r}; wanted a number from 0 to 65535")
        if ":" in host:
            inner = ipv6.written(host[1:-1]) if host[0] + host[-1] == "[]" else None
            if inner is None:
                raise ValueError(f"has the host {host!r}, which is not an IPv6 address")
            return cls(f"[{inner}]:{int(port)}")
        host = host.strip("[]")
        if not host or any(letter.isspace() or letter in "/@" for letter in host):
            raise ValueError(f"has the host {host!r}")
        return cls(f"{host}:{int(port)}")


class OptionDescription(NamedTuple):
    """The properties of an option besides its value."""

    kind: ValueKind[object]
    about: str


def option(kind: ValueKind[T], default: str, about: str) -> T:
    """A dataclass field whose default is written as a user would write it."""
    return field(
        default=kind.parse(default), metadata={"option": OptionDescription(_erase(kind), about)}
    )


def declared(option: CoreOption[T]) -> T:
    """A dataclass field for what the rules of the log depend on; it is declared there."""
    return field(
        default=option.default,
        metadata={"option": OptionDescription(_erase(option.kind), option.about)},
    )


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError("is neither true nor false")
    return text == "true"


def _cluster_id(text: str) -> str:
    try:
        return str(uuid.UUID(text)) if text else ""
    except ValueError:
        raise ValueError("is not a UUID, such as 8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55") from None


def _path(text: str) -> Path:
    if not text:
        raise ValueError("is empty")
    return Path(text)


_ADDRESS_SCHEMA: dict[str, object] = {"type": "string", "pattern": r"^.+:[0-9]{1,5}$"}

FLAG: ValueKind[bool] = ValueKind(
    parse=_flag, show=lambda value: "true" if value else "false", schema={"type": "boolean"}
)
NAME: ValueKind[str] = ValueKind(
    parse=member_name, schema={"type": "string", "pattern": f"^{MEMBER_NAME.pattern}$"}
)
LABEL: ValueKind[str] = ValueKind(parse=lambda text: text, schema={"type": "string"})
CLUSTER_ID: ValueKind[str] = ValueKind(parse=_cluster_id, schema={"type": "string"})
FEATURES: ValueKind[frozenset[str]] = ValueKind(
    parse=features.parse, show=features.text_of, schema={"type": "string"}
)
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


def _erase(kind: ValueKind[T]) -> ValueKind[object]:
    """The same kind for code that goes over all options, whatever their types."""

    def show(value: object) -> str:
        typed: T = value  # type: ignore[assignment]  # a field holds what its own kind parsed
        return kind.show(typed)

    return ValueKind(parse=kind.parse, show=show, suggest=kind.suggest, schema=kind.schema)
