"""The TLS options of a client: which authority it trusts, which certificate it shows.

A target of `qsyncs://` is spoken to over TLS. What its URL leaves out (`ca`, `certificate`, `key`,
`host`) stands in the environment: QSYNC_CA, QSYNC_CERTIFICATE, QSYNC_KEY, QSYNC_HOST. Where
QSYNC_CA is set every target is spoken to over TLS, so one variable arms all tools of a process and
of those that it starts.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qsl

from qsync.errors import ConfigError

ANY_HOST: Final = "any"
"""As `host`: any node of the authority will do, whatever its address."""
VARIABLES: Final = {
    "ca": "QSYNC_CA",
    "certificate": "QSYNC_CERTIFICATE",
    "key": "QSYNC_KEY",
    "host": "QSYNC_HOST",
}
"""Options of a URL, and the variables that stand in for them."""
USER, PASSWORD, PASSWORD_FILE = "QSYNC_USER", "QSYNC_PASSWORD", "QSYNC_PASSWORD_FILE"
"""Variables that say who asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """Files in PEM. `key`: may be in the file of the certificate.

    `check_host`: the node's certificate must name the host that was dialled.
    """

    ca: str
    certificate: str | None = None
    key: str | None = None
    check_host: bool = True

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Return it from options; the rest comes from the environment. Raises ConfigError."""
        unknown = sorted(given.keys() - VARIABLES.keys())
        if unknown:
            raise ConfigError(
                f"{unknown[0]!r} is no option of a target", hint=f"there are {', '.join(VARIABLES)}"
            )
        found = {name: os.environ.get(variable, "") for name, variable in VARIABLES.items()}
        found |= given
        if not found["ca"]:
            raise ConfigError(
                "TLS is wanted, and no authority is named that signs for the nodes",
                hint="qsyncs://HOST/?ca=ca.crt&certificate=me.crt&key=me.key, or QSYNC_CA...",
            )
        if found["host"] not in {"", ANY_HOST}:
            raise ConfigError(f"host={found['host']!r} is not {ANY_HOST!r}")
        return cls(
            ca=found["ca"],
            certificate=found["certificate"] or None,
            key=found["key"] or None,
            check_host=not found["host"],
        )

    def as_variables(self) -> dict[str, str]:
        """Return it as variables for the environment of a process."""
        return {
            "QSYNC_CA": _absolute(self.ca),
            "QSYNC_CERTIFICATE": _absolute(self.certificate),
            "QSYNC_KEY": _absolute(self.key),
            "QSYNC_HOST": "" if self.check_host else ANY_HOST,
        }


def _absolute(path: str | None) -> str:
    return str(Path(path).absolute()) if path else ""


def of_url(query: str) -> ClientTls:
    """Return it from the query of a `qsyncs://` URL. Raises ConfigError."""
    return ClientTls.of(dict(parse_qsl(query, keep_blank_values=True)))


def of_environment() -> ClientTls | None:
    """Return it from the environment; None where no authority is named. Raises ConfigError."""
    return ClientTls.of({}) if os.environ.get("QSYNC_CA") else None


def assume(tls: ClientTls | None) -> None:
    """Let this process, and those that it starts, use it for every target."""
    for variable in VARIABLES.values():
        os.environ.pop(variable, None)
    if tls is not None:
        os.environ.update({name: value for name, value in tls.as_variables().items() if value})


@contextmanager
def assumed(tls: ClientTls | None) -> Iterator[None]:
    """`assume` until the block ends; then restore the environment."""
    with environment_kept(VARIABLES.values()):
        assume(tls)
        yield


@contextmanager
def environment_kept(names: Iterable[str]) -> Iterator[None]:
    """Restore these variables at the end of the block."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
