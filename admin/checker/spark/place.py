"""Where Spark runs: in this process's Java, on a cluster, behind Connect, or in a given session."""

import os
from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import urlsplit

from admin.checker.spark.failures import NoSpark
from qsync.lookups import connected

LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
_REACH_S = 10.0
_PORTS = {"spark": 7077, "sc": 15002}
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""spark-submit started Java before this process, and its setting says where Spark runs."""


class SessionMode(Enum):
    """How to get a session."""

    LOCAL = auto()
    CLUSTER = auto()
    CONNECT = auto()
    SUBMITTED = auto()


@dataclass(frozen=True, slots=True)
class SparkUrl:
    """`url` as Spark writes it; empty if spark-submit has it."""

    way: SessionMode
    url: str = ""

    @classmethod
    def of(cls, url: str | None) -> "SparkUrl":
        """The place that the user named, or the default."""
        if url is None:
            return (
                cls(SessionMode.SUBMITTED)
                if SUBMITTED in os.environ
                else cls(SessionMode.LOCAL, LOCAL)
            )
        if url.startswith("sc://"):
            return cls(SessionMode.CONNECT, url)
        here = url == "local" or url.startswith("local[")
        return cls(SessionMode.LOCAL if here else SessionMode.CLUSTER, url)

    @property
    def is_here(self) -> bool:
        """Whether all of it runs on this machine, with our files, interpreter and packages."""
        return self.way is SessionMode.LOCAL

    @property
    def listens_on_loopback(self) -> bool:
        """Whether the driver needs to be reached by loopback only."""
        addresses = self._addresses()
        named = bool(addresses) and {host for host, _ in addresses} <= _HERE
        return self.is_here or named or self.url.startswith("local-cluster[")

    def describe(self) -> str:
        """For people."""
        return self.url or "the Spark of spark-submit"

    def reach(self) -> None:
        """Raises NoSpark at once if nothing listens; Spark itself would try for many minutes."""
        why: OSError | None = None
        addresses = self._addresses()
        for address in addresses:
            try:
                connected(*address, _REACH_S).close()
            except OSError as error:
                why = error
            else:
                return
        if addresses:
            raise NoSpark(
                f"nothing answers at {self.url}: {why}",
                hint="is it the address that the cluster's web page shows?",
            )

    def _addresses(self) -> list[tuple[str, int]]:
        """Return the addresses in the URL; some forms have none and read them from files."""
        scheme, _, rest = self.url.partition("://")
        if scheme not in _PORTS:
            return []
        found = []
        for each in rest.split("/")[0].split(","):
            try:
                parts = urlsplit(f"//{each.split(';')[0]}")
                port = parts.port
            except ValueError as error:
                raise NoSpark(f"{self.url} is not an address of Spark: {error}") from error
            if not parts.hostname:
                raise NoSpark(f"{self.url} is not an address of Spark: it names no host")
            found.append((parts.hostname, port or _PORTS[scheme]))
        return found


_HERE = {LOOPBACK, "localhost", "::1"}
