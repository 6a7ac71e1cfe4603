"""YAML for people: a small collection is on one line if it fits on the screen."""

import io
from typing import Final

import yaml

_WORD: Final = 12
"""Lines are broken after the word that exceeds the limit."""
_INDENT: Final = 2
_QUOTES: Final = 2
"""Columns that a text may need on top of its letters."""


def dumped(value: object, width: int) -> list[str]:
    """The lines."""
    dumper = yaml.SafeDumper(io.StringIO(), sort_keys=False, default_flow_style=None)
    node = dumper.represent_data(value)
    _fit(node, 0, 0, width)
    text: str = yaml.serialize(
        node, Dumper=yaml.SafeDumper, allow_unicode=True, width=width - _WORD
    )
    return text.removesuffix("\n...\n").rstrip("\n").split("\n")


def _fit(node: yaml.Node, column: int, indent: int, width: int) -> None:
    """A map that does not fit on one line from that column on has one line per member."""
    if isinstance(node, yaml.MappingNode):
        if node.flow_style and column + _length(node) > width:
            node.flow_style = False
        for key, value in node.value:
            _fit(value, indent + _length(key) + len(": "), indent + _INDENT, width)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _fit(each, indent + _INDENT, indent + _INDENT, width)


def _length(node: yaml.Node) -> int:
    """Columns on one line."""
    if isinstance(node, yaml.MappingNode):
        return sum(_length(key) + _length(value) + len(": , ") for key, value in node.value)
    if isinstance(node, yaml.SequenceNode):
        return sum(_length(each) + len(", ") for each in node.value)
    text = str(node.value)
    return len(text) if text.isalnum() else len(text) + _QUOTES
