"""The answers of all nodes at one moment; recorded in a file, and read again for a replay."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO

from admin.cluster import fields
from admin.cluster.fields import Answer
from admin.cluster.surveys import ClusterSurvey
from admin.cluster.unreachable import UnreachableNode
from admin.doctor.facts import Facts, NodeSettings
from qsync.disk_errors import naming
from qsync.errors import ConfigError
from qsync.status import decode

SCHEMA = "qsync/moment/1"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Raw answers, so that a newer release can show what an older one recorded.

    `time`: seconds since 1970. `answers`: STATUS by replica id. `apart`: of nodes outside
    this cluster. `events` and `settings`: by replica id, as far as known.
    """

    time: float
    answers: Mapping[int, Answer] = field(default_factory=dict)
    silent: tuple[UnreachableNode, ...] = ()
    apart: tuple[Answer, ...] = ()
    events: Mapping[int, tuple[Answer, ...]] = field(default_factory=dict)
    settings: Mapping[int, Answer] = field(default_factory=dict)

    @cached_property
    def survey(self) -> ClusterSurvey:
        """The moment as one round of answers."""
        found = tuple(decode.status(self.answers[id]) for id in sorted(self.answers))
        apart = tuple(decode.status(each) for each in self.apart)
        return ClusterSurvey(samples=found, silent=self.silent, apart=apart)

    @cached_property
    def facts(self) -> Facts:
        """The facts for the doctor."""
        settings = {id: NodeSettings(answer) for id, answer in self.settings.items()}
        return Facts(survey=self.survey, settings=settings)


class MomentWriter:
    """Appends moments to a file; `.gz` in its name compresses it."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError when the file cannot be created, or exists already."""
        self.path = path
        self.count = 0
        self._former = Moment(time=0.0)
        self._file = _open(path, "xt")

    def write(self, moment: Moment) -> None:
        """One line. Events and settings only when they changed: most lines have none."""
        former, self._former = self._former, moment
        line: dict[str, object] = {
            "schema": SCHEMA,
            "time": moment.time,
            "nodes": moment.answers,
            "silent": [[s.id, s.name, s.address, s.why] for s in moment.silent],
        }
        denied = [each.address for each in moment.silent if each.denied]
        if denied:
            line["denied"] = denied
        if moment.apart:
            line["apart"] = moment.apart
        if moment.events != former.events:
            line["events"] = moment.events
        if moment.settings != former.settings:
            line["settings"] = moment.settings
        with naming(self.path):
            self._file.write(json.dumps(line, default=str) + "\n")
        self.count += 1

    def close(self) -> None:
        """Close the file. Raises ConfigError if it cannot be written."""
        with naming(self.path):
            self._file.close()


def read(path: Path) -> list[Moment]:
    """All moments of a file. Raises ConfigError with the number of an invalid line.

    A last line that a crash of the recorder cut in half is skipped.
    """
    found: list[Moment] = []
    lines = _lines(path)
    for number, line in enumerate(lines, start=1):
        try:
            found.append(_moment(json.loads(line), found[-1] if found else Moment(time=0.0)))
        except (ValueError, TypeError, AttributeError) as error:
            if number == len(lines) and found:
                break
            raise ConfigError(f"{path}:{number}: is no recorded moment: {error}") from None
    if not found:
        raise ConfigError(f"{path}: holds no moment", hint="`qsync top --record FILE` makes one")
    return found


def _moment(line: Mapping[str, object], former: Moment) -> Moment:
    if line.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {line.get('schema')!r}, not {SCHEMA!r}")
    return Moment(
        time=fields.number(line, "time") or 0.0,
        answers=_by_id(line, "nodes"),
        silent=tuple(_silences(line)),
        apart=tuple(fields.maps(line, "apart")),
        events=_events(line) if "events" in line else former.events,
        settings=_by_id(line, "settings") if "settings" in line else former.settings,
    )


def _by_id(line: Answer, key: str) -> dict[int, Answer]:
    found = fields.mapping(line, key)
    return {int(id): fields.mapping(found, id) for id in found}


def _events(line: Answer) -> dict[int, tuple[Answer, ...]]:
    found = fields.mapping(line, "events")
    return {int(id): tuple(fields.maps(found, id)) for id in found}


def _silences(line: Answer) -> Iterator[UnreachableNode]:
    denied = fields.array(line, "denied")
    for each in fields.array(line, "silent"):
        if isinstance(each, list):
            id, name, address, why = each
            yield UnreachableNode(
                id=int(id),
                name=str(name),
                address=str(address),
                why=str(why),
                denied=address in denied,
            )


def _lines(path: Path) -> list[str]:
    try:
        with _open(path, "rt") as file:
            return file.readlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


def _open(path: Path, mode: str) -> IO[str]:
    try:
        if path.suffix == ".gz":
            return gzip.open(path, mode, encoding="utf-8")  # type: ignore[return-value]  # text
        return path.open(mode, buffering=1, encoding="utf-8")  # a crash loses half a line
    except FileExistsError:
        raise ConfigError(f"{path} exists already", hint="record to another file") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
