"""Values of a drill file that are given beside it, such as with `--set`."""

from collections.abc import Mapping

import yaml

from qsync.config.yaml_file import YamlProblems, YamlValue, compose

PLACE = "--set"
"""Where such a value is from, in what is said of it."""
_TAG = "tag:yaml.org,2002:"
_FLAT = "options"
"""The part whose names contain dots, like the options of a node."""


def put(root: YamlValue, given: Mapping[str, str]) -> None:
    """Put the given values into the tree. Dots join names; steps are named by their number."""
    for path, text in given.items():
        problems = YamlProblems(PLACE)
        value = compose(text, problems, may_be_empty=False)
        if value is None:
            root.problems.found.extend(problems.found)
            continue
        _unmark(value.node)
        _put(root, root.node, path, value.node)


def _put(
    root: YamlValue, node: yaml.Node, path: str, value: yaml.Node, *, flat: bool = False
) -> None:
    """`flat`: the names there contain dots, like the options of a node."""
    if isinstance(node, yaml.SequenceNode):
        _put_item(root, node, path, value)
    elif isinstance(node, yaml.MappingNode):
        _put_named(root, node, path, value, flat=flat)
    else:
        root.problems.add(None, f"{PLACE} {path}", "a single value has no members")


def _put_item(root: YamlValue, node: yaml.SequenceNode, path: str, value: yaml.Node) -> None:
    first, _, rest = path.partition(".")
    place = int(first) - 1 if first.isdecimal() else -1
    if not 0 <= place < len(node.value):
        reason = f"there are {len(node.value)}, named by number from 1"
        root.problems.add(None, f"{PLACE} {path}", reason)
    elif rest:
        _put(root, node.value[place], rest, value)
    else:
        node.value[place] = value


def _put_named(
    root: YamlValue, table: yaml.MappingNode, path: str, value: yaml.Node, *, flat: bool
) -> None:
    for at, (name, inside) in enumerate(table.value):
        if name.value == path:
            table.value[at] = (name, value)
            return
        if path.startswith(f"{name.value}.") and not flat:
            rest = path.removeprefix(f"{name.value}.")
            _put(root, inside, rest, value, flat=name.value == _FLAT)
            return
    first, _, rest = path.partition(".")
    if rest and not flat:
        made = yaml.MappingNode(f"{_TAG}map", [])
        table.value.append((yaml.ScalarNode(f"{_TAG}str", first), made))
        _put(root, made, rest, value, flat=first == _FLAT)
    else:
        table.value.append((yaml.ScalarNode(f"{_TAG}str", path), value))


def _unmark(node: yaml.Node) -> None:
    """An overridden value has no line in the file."""
    node.start_mark = None
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _unmark(each)
    elif isinstance(node, yaml.MappingNode):
        for name, each in node.value:
            _unmark(name)
            _unmark(each)
