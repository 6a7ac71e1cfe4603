"""The sources of settings: YAML with lines and columns, QSYNC_ variables, flags; all as text."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from qsync.config.aliases import ALIASES, canonical
from qsync.config.sections import REPLICA_MAX
from qsync.config.yaml_file import (
    Problem,
    SettingOrigin,
    YamlProblems,
    YamlValue,
    compose,
    read_text,
)
from qsync.options.value_kinds import nearest

PREFIX = "QSYNC_"
_SECRET = "secret"  # noqa: S105 - a part of names of options
"""In the name of an option, even a misspelled one, this word keeps its value hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One option as it was written."""

    key: str
    text: str
    place: SettingOrigin


@dataclass(slots=True, kw_only=True)
class SettingsReader:
    """Collects settings and problems. `known` are the options, `peers.*.id` for list members."""

    known: Collection[str]
    settings: dict[str, Setting] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    """The options of the present file so far, by our names."""

    def file(self, path: Path) -> None:
        """Read a YAML file."""
        self.text(read_text(path), where=str(path))

    def text(self, text: str, *, where: str) -> None:
        """Read YAML text."""
        root = compose(text, YamlProblems(where, self.problems), may_be_empty=True)
        self._seen = set()
        if root is not None:
            self._mapping(root, "")

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
        """Report more members than are possible, and return whether they fit."""
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
        reason += "" if meant else "; `qsync config init` prints all of them"
        shown = None if _SECRET in f"{key} {meant}".lower() else value
        return Problem(place=place, key=key, value=shown, reason=reason, suggestion=meant)

    def _sections(self) -> list[str]:
        return sorted({key.partition(".")[0] for key in self.known if "." in key})

    # ------------------------------------------------------------------------------ YAML values

    def _mapping(self, found: YamlValue, key: str) -> None:
        if found.null:
            return  # a section whose options are all commented out
        if not found.table:
            what = f"section {key}" if key else "the file"
            reason = "must hold options, one `name: value` a line"
            self._refuse(found.place, what, reason)
        for name, value in found.pairs():
            self._pair(name, value, key)

    def _pair(self, name: YamlValue, value: YamlValue, parent: str) -> None:
        written = f"{parent}.{name.key}" if parent else name.key
        key = canonical(written)
        if key in self._seen:
            reason = "is given twice" if key == written else f"is {key}, which is given already"
            self._refuse(name.place, written, reason)
        self._seen.add(key)
        if key == "peers":
            self._sequence(value, key)
        elif key in self._sections():
            self._mapping(value, key)
        elif general(key) in self.known:
            self._scalar(value, key)
        else:
            text = value.node.value if value.scalar else None
            self.problems.append(self._unknown(key, text, name.place))

    def _sequence(self, found: YamlValue, key: str) -> None:
        if found.null:
            return
        items = found.children()
        if items is None:
            reason = "must be a list: `- {id: 1, name: n1, address: 127.0.0.1:3301}`"
            self._refuse(found.place, key, reason)
        elif self._fit(len(items), found.place):
            for number, item in enumerate(items):
                self._mapping(item, f"{key}.{number}")

    def _scalar(self, found: YamlValue, key: str) -> None:
        if found.null:
            self._refuse(found.place, key, "has no value; remove the line to get the default")
        elif found.scalar:
            self._set(key, found.node.value, found.place)
        else:
            self._refuse(found.place, key, "must be a single value")

    def _refuse(self, place: SettingOrigin, key: str, reason: str) -> None:
        self.problems.append(Problem(place=place, key=key, value=None, reason=reason))


def general(key: str) -> str:
    """Return the option of a key: `peers.*.id` for `peers.0.id`."""
    return ".".join("*" if part.isdecimal() else part for part in key.split("."))


def _is_text(text: str) -> bool:
    """Return whether a text can be a file name or a field of a message: no NUL, no surrogate."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
