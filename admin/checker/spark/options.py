"""The options of the data source `qsync`: an unknown or invalid one is an error."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from admin.checker.spark import credentials
from admin.evidence.tables import TABLES
from qsync.errors import ConfigError

SPAN: Final = 262_144
"""The default number of entries that one task fetches from a node."""
KNOWN: Final = (
    *("table", "path", "paths", "nodes", "align", "run", "span", "begin"),
    *credentials.VARIABLES,
)
_PLACES: Final = ("path", "paths", "nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """The options after parsing."""

    table: str
    paths: tuple[str, ...]
    nodes: tuple[str, ...]
    aligned: bool
    run: str
    span: int
    begin: int
    variables: Mapping[str, str]
    """The credentials for nodes, as in the environment."""

    def placed(self) -> "SparkOptions":
        """Return them, if they name a source. Raises ConfigError."""
        if not self.paths and not self.nodes:
            raise ConfigError(
                "the data source qsync has no path and no nodes",
                hint="give the option path (or paths, a JSON list), or nodes (addresses)",
            )
        return self


def read(given: Mapping[str, str]) -> SparkOptions:
    """Read the options of a reader or a stream. Raises ConfigError."""
    asked = {name.lower(): str(value) for name, value in given.items()}
    strange = sorted(asked.keys() - set(KNOWN))
    if strange:
        raise _wrong(strange[0], "there is no such option", hint=f"known are {', '.join(KNOWN)}")
    table = asked.get("table", "wal")
    if table not in TABLES:
        raise _wrong("table", f"there is no table {table!r}", hint=f"known are {', '.join(TABLES)}")
    places = [name for name in _PLACES if asked.get(name)]
    if len(places) > 1:
        raise _wrong(places[0], f"goes without {places[1]}", hint="give one of them")
    nodes = (each.strip() for each in asked.get("nodes", "").split(","))
    return SparkOptions(
        table=table,
        paths=_paths(asked),
        nodes=tuple(each for each in nodes if each),
        aligned=_flag(asked, "align"),
        run=asked.get("run", "live"),
        span=_number(asked, "span", least=1, otherwise=SPAN),
        begin=_number(asked, "begin", least=0, otherwise=0),
        variables=credentials.of_options(asked),
    )


def _paths(asked: Mapping[str, str]) -> tuple[str, ...]:
    if asked.get("path"):
        return (asked["path"],)
    if "paths" not in asked:
        return ()
    try:
        found = json.loads(asked["paths"])
    except ValueError:
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise _wrong("paths", "is no JSON list of folders", hint='such as ["runs/1", "runs/2"]')
    return tuple(found)


def _flag(asked: Mapping[str, str], name: str) -> bool:
    said = asked.get(name, "false").lower()
    if said not in {"true", "false"}:
        raise _wrong(name, f"is neither true nor false: {said!r}")
    return said == "true"


def _number(asked: Mapping[str, str], name: str, *, least: int, otherwise: int) -> int:
    said = asked.get(name, str(otherwise))
    if not said.isdecimal() or int(said) < least:
        raise _wrong(name, f"is no whole number from {least} on: {said!r}")
    return int(said)


def _wrong(name: str, why: str, *, hint: str = "") -> ConfigError:
    return ConfigError(f"option {name} of the data source qsync: {why}", hint=hint)
