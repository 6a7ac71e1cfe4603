"""The record of a node's status: each field is defined once, and sent, read and documented."""

import ast
import json
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Iterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from cli.shell import known
from qsync.histogram import Spread
from qsync.status import decode
from qsync.status.record import TOLD_AGAIN, BoxInfo, NodeStatus, as_members, names
from qsync.wire import replies
from qsync.wire.frames import Frames
from tests.repo import tree
from tests.repo.status_fields import structs


def test_every_field_says_what_it_is() -> None:
    quiet = [
        f"{kind}.{name}"
        for kind in (NodeStatus, *_all(NodeStatus))
        for name, hint in typing.get_type_hints(kind, include_extras=True).items()
        if typing.get_origin(hint) is not typing.Annotated and name not in {"errors", "asked"}
    ]
    assert quiet == []


def _all(kind: type[Struct]) -> Iterator[type[Struct]]:
    for hint in typing.get_type_hints(kind).values():
        for inner in structs(hint):
            yield inner
            yield from _all(inner)


def values(of: object) -> st.SearchStrategy[typing.Any]:
    """Whatever a field of that type may hold."""
    args, origin = typing.get_args(of), typing.get_origin(of)
    if of is Spread:
        return st.builds(Spread, st.lists(st.integers(0, 9), max_size=4).map(tuple), st.just(1.5))
    if isinstance(of, type) and issubclass(of, Struct):
        hints = typing.get_type_hints(of)
        left_out = {"errors", "asked"}
        return st.builds(of, **{name: values(hints[name]) for name in hints.keys() - left_out})
    if origin in {typing.Union, types.UnionType}:
        return st.one_of([values(each) for each in args])
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(values(args[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, args))
    if origin is dict:
        return st.dictionaries(values(args[0]), values(args[1]), max_size=2)
    plain = {
        bool: st.booleans(),
        int: st.integers(0, 1 << 40),
        float: st.integers(0, 999).map(float),
        str: st.text("abc-1.", max_size=5),
        type(None): st.none(),
    }
    return plain[typing.cast("type", of)]


@given(values(NodeStatus))
def test_what_a_node_fills_in_is_what_everybody_reads(status: NodeStatus) -> None:
    told = as_members(status)
    (payload,) = Frames().feed(replies.reply(1, told))
    _, answer = replies.decode(payload)
    assert isinstance(answer, list)
    assert decode.status(replies.read_map(answer)) == status
    assert decode.status(json.loads(json.dumps(told))) == status, "from a recording"


@given(values(NodeStatus))
def test_box_info_is_a_projection_of_the_record(status: NodeStatus) -> None:
    told = as_members(status)
    members = as_members(status, BoxInfo)
    assert members == {name: told[name] for name in names(BoxInfo)}
    info = decode.box_info(members)
    assert all(getattr(info, name) == getattr(status, name) for name in names(BoxInfo))
    assert names(BoxInfo) == known.INFO, "the shell completes the same"


@given(values(NodeStatus))
def test_what_is_told_a_second_time_at_the_top_is_kept_once(status: NodeStatus) -> None:
    told = as_members(status)
    assert not set(TOLD_AGAIN) & set(NodeStatus.__struct_fields__)
    election = msgspec.to_builtins(status.election)
    assert (told["address"], told["last"]) == (status.listen, status.signature)
    assert (told["role"], told["leader"]) == (election["state"], election["leader"] or None)
    assert all(
        told[name] == election[name] for name in set(TOLD_AGAIN) & set(election) - {"leader"}
    )


def test_what_a_node_could_not_tell_hides_nothing_else() -> None:
    status = NodeStatus(id=3, errors={"gc": "KeyError: 3"})
    told = as_members(status)
    assert told["gc"] == {"error": "KeyError: 3"}
    read = decode.status(told)
    assert (read.id, read.errors) == (3, {"gc": "KeyError: 3"})


def test_a_field_of_another_kind_costs_that_field_alone() -> None:
    told = {"synchro": {"quorum": 2, "queue": {"len": "many", "age": 1.5, "newer": 1}}, "newer": 2}
    read = decode.status(told)
    assert (read.synchro.quorum, read.synchro.queue.age, read.synchro.queue.len) == (2, 1.5, 0)
    assert "synchro.queue.len" in read.errors


FILLED_IN = ("status", "limbo_status", "member_status", "retention_status", "tls")
CONSTANT = {"GcStatus": {"is_paused"}}
"""Fields that never differ from their default."""


def test_a_node_fills_in_every_field() -> None:
    filled: dict[str, set[str]] = {}
    for module in FILLED_IN:
        for node in ast.walk(tree.parse(tree.ROOT / f"qsync/node/{module}.py")):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                given = {each.arg for each in node.keywords if each.arg}
                filled.setdefault(node.func.id, set()).update(given)
    kinds: set[type[Struct]] = {NodeStatus, *_all(NodeStatus)}
    left = {
        kind.__name__: left
        for kind in kinds
        if kind.__name__ in filled and kind.__struct_fields__
        if (left := set(kind.__struct_fields__) - filled[kind.__name__])
    }
    judged = {"NodeStatus": {"health", "asked"}}
    assert left == judged | CONSTANT


FIRST_READERS = """
import sys
import threading
from qsync.status import decode
from qsync.status.record import NodeStatus, as_members

answer = as_members(NodeStatus())
together = threading.Barrier(8)
read = []

def reader():
    together.wait()
    read.append(decode.status(answer))

threads = [threading.Thread(target=reader) for _ in range(8)]
sys.setswitchinterval(1e-6)
for each in threads:
    each.start()
for each in threads:
    each.join()
assert len(read) == 8, read
"""


def test_threads_may_read_the_first_answers_together() -> None:
    """A command asks all nodes at once, each from a thread of its own."""
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(FIRST_READERS)],
            capture_output=True,
            text=True,
            timeout=50,
            cwd=tree.ROOT,
            check=False,
        )
        assert done.returncode == 0, done
