"""YAML files that people write: every value has its line and column; all problems are reported."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml

from qsync.errors import ConfigError
from qsync.options.value_kinds import nearest

T = TypeVar("T")
FILE_BYTES_MAX = 64 * 1024
"""The maximum size of a file; YAML takes long to parse."""
_NULL = "tag:yaml.org,2002:null"


class SettingOrigin(NamedTuple):
    """The source of a setting. `line` and `column` count from 1; 0 means not in a file."""

    where: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.where}:{self.line}:{self.column}" if self.line else self.where

    @property
    def source(self) -> str:
        """Its group: one file, the variables, or the flags."""
        return self.where if self.line else self.where.rpartition(" ")[0]


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
    """Return all problems as one error; `details` holds the first one."""
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


@dataclass(slots=True)
class YamlProblems:
    """The problems of one file, in `found`."""

    where: str
    found: list[Problem] = field(default_factory=list)

    def add(
        self, node: yaml.Node | None, key: str, reason: str, *, meant: str | None = None
    ) -> None:
        """Report a problem at a place of the file; without a node, of the whole file."""
        value = node.value if isinstance(node, yaml.ScalarNode) and node.value != key else None
        place = self.place(None if node is None else node.start_mark)
        self.found.append(
            Problem(place=place, key=key, value=value, reason=reason, suggestion=meant)
        )

    def place(self, mark: yaml.Mark | None) -> SettingOrigin:
        """Return the place of a mark of the parser."""
        if mark is None:
            return SettingOrigin(self.where)
        return SettingOrigin(self.where, mark.line + 1, mark.column + 1)


@dataclass(frozen=True, slots=True)
class YamlValue:
    """One value of the file. Its readers report a problem and return None if it does not fit."""

    node: yaml.Node
    key: str
    problems: YamlProblems

    def complain(self, reason: str, *, meant: str | None = None) -> None:
        """Report a problem at this place."""
        self.problems.add(self.node, self.key, reason, meant=meant)

    @property
    def place(self) -> SettingOrigin:
        """The place where it begins."""
        return self.problems.place(self.node.start_mark)

    @property
    def scalar(self) -> bool:
        """A single value."""
        return isinstance(self.node, yaml.ScalarNode)

    @property
    def table(self) -> bool:
        """Options with names."""
        return isinstance(self.node, yaml.MappingNode)

    @property
    def null(self) -> bool:
        """Nothing was written."""
        return self.scalar and self.node.tag == _NULL

    def text(self) -> str | None:
        """A single value, as it was written."""
        if not isinstance(self.node, yaml.ScalarNode) or self.null:
            self.complain("must be a single value")
            return None
        found: str = self.node.value
        return found

    def read(self, parse: Callable[[str], T]) -> T | None:
        """Parse a single value with a function that raises ValueError with the reason."""
        text = self.text()
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.complain(str(error))
            return None

    def word(self, known: Sequence[str], what: str) -> str | None:
        """Return the value, which must be one of these words."""
        text = self.text()
        if text is None or text in known:
            return text
        self.complain(f"is no {what}; there are {', '.join(known)}", meant=nearest(text, [*known]))
        return None

    def children(self) -> "list[YamlValue] | None":
        """Return the items of a list; None without a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            return None
        children: list[yaml.Node] = self.node.value
        return [YamlValue(child, self.key, self.problems) for child in children]

    def items(self) -> "list[YamlValue]":
        """The items of a list; one single value counts as a list of one."""
        found = self.children()
        if found is not None:
            return found
        if self.scalar and self.text() is not None:
            return [self]
        self.complain("must be a list")
        return []

    def pairs(self) -> "Iterator[tuple[YamlValue, YamlValue]]":
        """Names and values of a table as they are written; of anything else none."""
        pairs: list[tuple[yaml.Node, yaml.Node]] = self.node.value if self.table else []
        for name, value in pairs:
            key = name.value if isinstance(name, yaml.ScalarNode) else "?"
            yield YamlValue(name, key, self.problems), YamlValue(value, key, self.problems)

    def members(self) -> "list[tuple[YamlValue, YamlValue]]":
        """The named values of a table, in order; complains about one that is given twice."""
        if not self.table:
            self.complain("must hold options, `name: value`")
        found: dict[str, tuple[YamlValue, YamlValue]] = {}
        for name, value in self.pairs():
            if not name.scalar:
                self.problems.add(name.node, self.key, "has an option without a name")
            elif name.key in found:
                name.complain("is given twice")
            else:
                found[name.key] = name, value
        return list(found.values())

    def known(self, names: Sequence[str], what: str) -> "dict[str, YamlValue]":
        """The named values; complains about names that are not among these."""
        found: dict[str, YamlValue] = {}
        for name, value in self.members():
            if name.key in names:
                found[name.key] = value
            else:
                reason = f"there is no such {what}; there are {', '.join(names)}"
                name.complain(reason, meant=nearest(name.key, list(names)))
        return found


def read_text(path: Path) -> str:
    """Read a file, up to just beyond the maximum size. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        # One that is too long may be cut in the middle of a letter; `compose` refuses it.
        return raw.decode(errors="strict" if len(raw) <= FILE_BYTES_MAX else "replace")
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}", details={"file": str(path)}
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text", details={"file": str(path)}) from error


def read_whole(text: str, where: str, read: Callable[[YamlValue], T | None]) -> T:
    """Return what `read` makes of YAML text. Raises ConfigError with every problem in it."""
    problems = YamlProblems(where)
    root = compose(text, problems, may_be_empty=False)
    found = None if root is None else read(root)
    if problems.found:
        raise refusal(problems.found)
    assert found is not None
    return found


def compose(text: str, problems: YamlProblems, *, may_be_empty: bool) -> YamlValue | None:
    """Parse the file; None if it is empty or not YAML, which is reported."""
    if len(text.encode(errors="replace")) > FILE_BYTES_MAX:
        problems.add(None, "the file", f"is longer than {FILE_BYTES_MAX} bytes")
        return None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        place = problems.place(getattr(error, "problem_mark", None))
        reason = f"is not YAML: {getattr(error, 'problem', None) or error}"
        problems.found.append(Problem(place=place, key="the file", value=None, reason=reason))
        return None
    except RecursionError:
        problems.add(None, "the file", "is nested too deep")
        return None
    if root is None:
        if not may_be_empty:
            problems.add(None, "the file", "is empty")
        return None
    return YamlValue(root, "the file", problems)
