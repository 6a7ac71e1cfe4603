"""Names: one class of one name, called as the field calls it."""

import ast
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


def classes() -> dict[str, list[str]]:
    """Public classes of the sources, with the modules that define them."""
    found = defaultdict[str, list[str]](list)
    for path in tree.modules():
        if tree.name(path).startswith(tree.PACKAGES):
            for node in tree.parse(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(tree.name(path))
    return found


def test_no_two_public_classes_have_one_name() -> None:
    assert {name: where for name, where in classes().items() if len(where) > 1} == {}


def test_no_public_class_is_named_by_a_participle_alone() -> None:
    assert PARTICIPLES & classes().keys() == set()


def test_no_function_is_named_by_a_bare_verb_or_participle() -> None:
    found = {
        (tree.name(path), node.name)
        for path in tree.modules()
        if tree.name(path).startswith(tree.PACKAGES) and not tree.name(path).startswith(SPARED)
        for node in ast.walk(tree.parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in BARE
    }
    assert found == TARANTOOLS


def test_messages_between_members_are_called_as_in_the_field() -> None:
    known = classes()
    for module, names in FIELD.items():
        assert {name for name in names if known.get(name) == [module]} == names
