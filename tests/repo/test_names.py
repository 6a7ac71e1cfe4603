"""Names: one class of one name, called as the field calls it."""

import ast
import functools
from collections import defaultdict

from tests.repo import tree

PARTICIPLES = frozenset(
    {
        "Asked",
        "Brought",
        "Found",
        "Given",
        "Gone",
        "Heard",
        "Joined",
        "Kept",
        "Made",
        "Seen",
        "Told",
    }
)
"""They tell when something was, and not what it is."""
FIELD = {
    "election/messages.py": {"RequestVote", "RequestVoteResponse", "TimeoutNow"},
    "qsync/core/messages.py": {
        "Append",
        "AppendResponse",
        "Heartbeat",
        "HeartbeatResponse",
        "ReadIndex",
        "ReadIndexResponse",
        "TransferLeadership",
    },
}
"""What Raft's paper and thesis call the messages between members."""
BARE = frozenset({"asked", "begin", "note", "said", "shown", "take", "told"})
"""Names that say nothing of what is done, and to what."""
SPARED = (
    "admin/evidence/recorder.py",
    "qsync/sim/",
)
"""Where such names are still to be replaced."""
TARANTOOLS = {("admin/box/session.py", "begin")}
"""`box.begin`."""


@functools.cache
def defined() -> tuple[dict[str, list[str]], set[tuple[str, str]]]:
    """Public classes with the modules that define them, and modules with functions of bare names.

    Each source is parsed once.
    """
    classes, functions = defaultdict[str, list[str]](list), set()
    for path in tree.modules():
        module = tree.name(path)
        if not module.startswith(tree.PACKAGES):
            continue
        source = tree.parse(path)
        for node in source.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(module)
        functions |= {
            (module, node.name)
            for node in ast.walk(source)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in BARE
        }
    return dict(classes), functions


def test_no_two_public_classes_have_one_name() -> None:
    classes, _ = defined()
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}


def test_no_public_class_is_named_by_a_participle_alone() -> None:
    classes, _ = defined()
    assert PARTICIPLES & classes.keys() == set()


def test_no_function_is_named_by_a_bare_verb_or_participle() -> None:
    _, functions = defined()
    assert {each for each in functions if not each[0].startswith(SPARED)} == TARANTOOLS


def test_messages_between_members_are_called_as_in_the_field() -> None:
    known, _ = defined()
    for module, names in FIELD.items():
        assert {name for name in names if known.get(name) == [module]} == names
