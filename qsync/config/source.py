"""Where settings come from: YAML with lines and columns, QSYNC_ variables, flags; all as text."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml

from qsync.config.aliases import ALIASES, canonical
from qsync.config.sections import REPLICA_MAX
from qsync.errors import ConfigError
from qsync.options.value_kinds import nearest

PREFIX = "QSYNC_"
FILE_BYTES_MAX = 64 * 1024
"""A file that is longer is none that somebody wrote; YAML takes long to read."""
_SECRET = "secret"  # noqa: S105 - a part of names of options
"""In the name of an option whose value is never shown, were it misspelled."""
_NULL = "tag:yaml.org,2002:null"


class SettingOrigin(NamedTuple):
    """Where a setting was written. `line` and `column` count from 1; 0 means not in a file."""

    where: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.where}:{self.line}:{self.column}" if self.line else self.where


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One option as it was written."""

    key: str
    text: str
    place: SettingOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, in words that complete "KEY = VALUE ..."."""

    place: SettingOrigin
    key: str
    value: str | None
    reason: str
    suggestion: str | None = None

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value!r}"
        meant = f"; did you mean {self.suggestion!r}?" if self.suggestion else ""
        return f"{self.place}: {self.key}{value}: {self.reason}{meant}"


def refusal(problems: list[Problem]) -> ConfigError:
    """All problems in one error; `details` hold the first one."""
    first = problems[0]
    return ConfigError(
        "\n".join(str(problem) for problem in problems),
        details={
            "file": first.place.where,
            "line": first.place.line,
            "column": first.place.column,
            "option": first.key,
            "value": first.value,
            "reason": first.reason,
            "suggestion": first.suggestion,
            "problems": len(problems),
        },
    )


@dataclass(slots=True, kw_only=True)
class SettingsReader:
    """Collects settings and problems. `known` are the options, `peers.*.id` for list members."""

    known: Collection[str]
    settings: dict[str, Setting] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    """What the present file has given already, by our names."""

    def file(self, path: Path) -> None:
        """Read a YAML file."""
        try:
            with path.open("rb") as file:
                raw = file.read(FILE_BYTES_MAX + 1)
            # One that is too long may be cut in the middle of a letter; it is refused below.
            text = raw.decode(errors="strict" if len(raw) <= FILE_BYTES_MAX else "replace")
        except OSError as error:
            raise ConfigError(
                f"{path}: cannot be read: {error.strerror}", details={"file": str(path)}
            ) from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: is not UTF-8 text", details={"file": str(path)}) from error
        self.text(text, where=str(path))

    def text(self, text: str, *, where: str) -> None:
        """Read YAML text."""
        if len(text.encode(errors="replace")) > FILE_BYTES_MAX:
            self._refuse_file(where, f"is longer than {FILE_BYTES_MAX} bytes")
            return
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            self.problems.append(_not_yaml(error, where))
            return
        except RecursionError:
            self._refuse_file(where, "is nested too deep")
            return
        self._seen = set()
        if root is not None:
            self._mapping(root, "", where)

    def _refuse_file(self, where: str, reason: str) -> None:
        self.problems.append(
            Problem(place=SettingOrigin(where), key="the file", value=None, reason=reason)
        )

    def environment(self, env: Mapping[str, str]) -> None:
        """Read `QSYNC_SECTION__KEY` and `QSYNC_KEY`; other QSYNC_ variables are not ours."""
        settable = [*ALIASES, *self._settable()]
        names = {PREFIX + key.upper().replace(".", "__"): canonical(key) for key in settable}
        for name in sorted(env):
            place = SettingOrigin(f"environment variable {name}")
            if name in names:
                self._add(names[name], env[name], place)
            elif name.startswith(PREFIX) and "__" in name:
                self.problems.append(
                    Problem(
                        place=place,
                        key=name,
                        value=None if _SECRET in name.lower() else env[name],
                        reason="there is no such option",
                        suggestion=nearest(name, list(names)),
                    )
                )

    def flags(self, flags: Mapping[str, str]) -> None:
        """Read dotted keys given on the command line."""
        settable = self._settable()
        for name, text in flags.items():
            key, place = canonical(name), SettingOrigin(f"flag {name}")
            if key in settable:
                self._add(key, text, place)
            else:
                self.problems.append(self._unknown(key, text, place))

    def _settable(self) -> list[str]:
        return [key for key in self.known if "*" not in key] + ["peers"]

    def _add(self, key: str, text: str, place: SettingOrigin) -> None:
        """A later setting replaces an earlier one; a list of peers replaces the whole list."""
        if key != "peers":
            self._set(key, text, place)
            return
        for old in [old for old in self.settings if old.startswith("peers.")]:
            del self.settings[old]
        items = [part for part in text.split(",") if part.strip()]
        if not self._fit(len(items), place):
            return
        for number, item in enumerate(items):
            id_, colon, rest = item.strip().partition(":")
            name, at, address = rest.partition("@")
            if not colon or not at:
                reason = "is not ID:NAME@HOST:PORT, several with commas"
                self.problems.append(Problem(place=place, key=key, value=text, reason=reason))
                return
            for part, value in (("id", id_), ("name", name), ("address", address)):
                self._set(f"peers.{number}.{part}", value, place)

    def _set(self, key: str, text: str, place: SettingOrigin) -> None:
        self.settings.pop(key, None)
        if _is_text(text):
            self.settings[key] = Setting(key=key, text=text, place=place)
        else:
            reason = "holds a character that is in no text"
            self.problems.append(Problem(place=place, key=key, value=None, reason=reason))

    def _fit(self, members: int, place: SettingOrigin) -> bool:
        """Are these so few that it makes sense to read them?"""
        if members > REPLICA_MAX:
            reason = f"has {members} members; at most {REPLICA_MAX} are possible"
            self.problems.append(Problem(place=place, key="peers", value=None, reason=reason))
        return members <= REPLICA_MAX

    def _unknown(self, key: str, value: str | None, place: SettingOrigin) -> Problem:
        plain = [known.replace("peers.*.", "") for known in self.known]
        last = key.rpartition(".")[2]
        elsewhere = [known for known in plain if known.rpartition(".")[2] == last]
        like = [*plain, *self._sections()]
        meant = elsewhere[0] if elsewhere else nearest(key, like) or nearest(last, like)
        reason = "there is no such option"
        shown = None if _SECRET in f"{key} {meant}".lower() else value
        return Problem(place=place, key=key, value=shown, reason=reason, suggestion=meant)

    def _sections(self) -> list[str]:
        return sorted({key.partition(".")[0] for key in self.known if "." in key})

    # ------------------------------------------------------------------------------- YAML nodes

    def _mapping(self, node: yaml.Node, key: str, where: str) -> None:
        if _is_null(node):
            return  # a section whose options are all commented out
        if not isinstance(node, yaml.MappingNode):
            what = f"section {key}" if key else "the file"
            reason = "must hold options, one `name: value` a line"
            self.problems.append(
                Problem(place=_place(node, where), key=what, value=None, reason=reason)
            )
            return
        for name, value in _pairs(node):
            self._pair(name, value, key, where)

    def _pair(self, name: yaml.Node, value: yaml.Node, parent: str, where: str) -> None:
        word = name.value if isinstance(name, yaml.ScalarNode) else "?"
        written = f"{parent}.{word}" if parent else word
        key, place = canonical(written), _place(name, where)
        if key in self._seen:
            reason = "is given twice" if key == written else f"is {key}, which is given already"
            self.problems.append(Problem(place=place, key=written, value=None, reason=reason))
        self._seen.add(key)
        if key == "peers":
            self._sequence(value, key, where)
        elif key in self._sections():
            self._mapping(value, key, where)
        elif general(key) in self.known:
            self._scalar(value, key, where)
        else:
            text = value.value if isinstance(value, yaml.ScalarNode) else None
            self.problems.append(self._unknown(key, text, place))

    def _sequence(self, node: yaml.Node, key: str, where: str) -> None:
        if _is_null(node):
            return
        if not isinstance(node, yaml.SequenceNode):
            reason = "must be a list: `- {id: 1, name: n1, address: 127.0.0.1:3301}`"
            self.problems.append(
                Problem(place=_place(node, where), key=key, value=None, reason=reason)
            )
            return
        items = list(_items(node))
        if self._fit(len(items), _place(node, where)):
            for number, item in enumerate(items):
                self._mapping(item, f"{key}.{number}", where)

    def _scalar(self, node: yaml.Node, key: str, where: str) -> None:
        place = _place(node, where)
        if _is_null(node):
            reason = "has no value; remove the line to get the default"
            self.problems.append(Problem(place=place, key=key, value=None, reason=reason))
        elif isinstance(node, yaml.ScalarNode):
            self._set(key, node.value, place)
        else:
            reason = "must be a single value"
            self.problems.append(Problem(place=place, key=key, value=None, reason=reason))


def general(key: str) -> str:
    """The option that a key speaks of: `peers.*.id` for `peers.0.id`."""
    return ".".join("*" if part.isdecimal() else part for part in key.split("."))


def _is_text(text: str) -> bool:
    """Can it be a name of a file, a field of a message?"""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _place(node: yaml.Node, where: str) -> SettingOrigin:
    return SettingOrigin(where, node.start_mark.line + 1, node.start_mark.column + 1)


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _NULL


def _pairs(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
    yield from pairs


def _items(node: yaml.SequenceNode) -> Iterator[yaml.Node]:
    items: list[yaml.Node] = node.value
    yield from items


def _not_yaml(error: yaml.YAMLError, where: str) -> Problem:
    mark = getattr(error, "problem_mark", None)
    place = (
        SettingOrigin(where, mark.line + 1, mark.column + 1)
        if mark is not None
        else SettingOrigin(where)
    )
    reason = str(getattr(error, "problem", None) or error)
    return Problem(place=place, key="the file", value=None, reason=f"is not YAML: {reason}")
