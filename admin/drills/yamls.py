"""YAML whose every value knows its line and column, and readers that collect all complaints."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import yaml

from qsync.config.source import Problem, SettingOrigin
from qsync.options.value_kinds import nearest

T = TypeVar("T")
_NULL = "tag:yaml.org,2002:null"


@dataclass(slots=True)
class Complaints:
    """What is wrong with one file; empty when nothing is."""

    where: str
    found: list[Problem] = field(default_factory=list)

    def add(
        self, node: yaml.Node | None, key: str, reason: str, *, meant: str | None = None
    ) -> None:
        """Something at a place of the file."""
        value = node.value if isinstance(node, yaml.ScalarNode) and node.value != key else None
        mark = None if node is None else node.start_mark
        place = (
            SettingOrigin(self.where)
            if mark is None
            else SettingOrigin(self.where, mark.line + 1, mark.column + 1)
        )
        self.found.append(
            Problem(place=place, key=key, value=value, reason=reason, suggestion=meant)
        )


@dataclass(frozen=True, slots=True)
class Spot:
    """One value of the file. The readers complain and give None when it is not what was asked."""

    node: yaml.Node
    key: str
    complaints: Complaints

    def complain(self, reason: str, *, meant: str | None = None) -> None:
        """At this place."""
        self.complaints.add(self.node, self.key, reason, meant=meant)

    @property
    def scalar(self) -> bool:
        """A single value."""
        return isinstance(self.node, yaml.ScalarNode)

    @property
    def table(self) -> bool:
        """Options with names."""
        return isinstance(self.node, yaml.MappingNode)

    def text(self) -> str | None:
        """A single value, as it was written."""
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag == _NULL:
            self.complain("must be a single value")
            return None
        found: str = self.node.value
        return found

    def read(self, parse: Callable[[str], T]) -> T | None:
        """A single value through a parser that raises ValueError with the reason."""
        text = self.text()
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.complain(str(error))
            return None

    def word(self, known: Sequence[str], what: str) -> str | None:
        """One of these words."""
        text = self.text()
        if text is None or text in known:
            return text
        self.complain(f"is no {what}; there are {', '.join(known)}", meant=nearest(text, [*known]))
        return None

    def items(self) -> list["Spot"]:
        """The items of a list; one single value counts as a list of one."""
        if isinstance(self.node, yaml.SequenceNode):
            children: list[yaml.Node] = self.node.value
            return [Spot(child, self.key, self.complaints) for child in children]
        if self.scalar and self.text() is not None:
            return [self]
        self.complain("must be a list")
        return []

    def members(self) -> list[tuple[yaml.ScalarNode, "Spot"]]:
        """The named values of a table, in order; complains about one that is given twice."""
        if not isinstance(self.node, yaml.MappingNode):
            self.complain("must hold options, `name: value`")
            return []
        return list(self._members(self.node))

    def _members(self, table: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, "Spot"]]:
        seen: set[str] = set()
        pairs: list[tuple[yaml.Node, yaml.Node]] = table.value
        for name, value in pairs:
            if not isinstance(name, yaml.ScalarNode):
                self.complaints.add(name, self.key or "the file", "has an option without a name")
                continue
            if name.value in seen:
                self.complaints.add(name, name.value, "is given twice")
                continue
            seen.add(name.value)
            yield name, Spot(value, name.value, self.complaints)

    def known(self, names: Sequence[str], what: str) -> dict[str, "Spot"]:
        """The named values; complains about names that are not among these."""
        found: dict[str, Spot] = {}
        for name, value in self.members():
            if name.value in names:
                found[name.value] = value
            else:
                reason = f"there is no such {what}; there are {', '.join(names)}"
                meant = nearest(name.value, list(names))
                self.complaints.add(name, name.value, reason, meant=meant)
        return found


def compose(text: str, complaints: Complaints) -> Spot | None:
    """The whole file; None when it is empty or no YAML, which is complained about."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = complaints.where
        place = (
            SettingOrigin(where)
            if mark is None
            else SettingOrigin(where, mark.line + 1, mark.column + 1)
        )
        reason = f"is not YAML: {getattr(error, 'problem', None) or error}"
        complaints.found.append(Problem(place=place, key="the file", value=None, reason=reason))
        return None
    if root is None:
        complaints.add(None, "the file", "is empty")
        return None
    return Spot(root, "the file", complaints)
