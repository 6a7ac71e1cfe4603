"""What a program gives to a call is taken as it is meant, or refused: never left out."""

import math
import re
import sys
from collections import deque
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import cbor2
import pytest

from qsync.client import arguments, calls, operations, options, questions
from qsync.client.draft import TransactionDraft
from qsync.client.rows import changes_of, encode_row, key_of, named
from qsync.data import schema, tuples
from qsync.data.operation_kinds import ReadKind
from qsync.errors import ConfigError, NoSuchIndex, NoSuchSpace, WrongKey, WrongTuple
from qsync.member import MemberAction, MemberRole
from qsync.wire import limits, requests
from qsync.wire.frames import Frames
from qsync.wire.verbs import GetRequest, Request, WriteRequest
from tests.unit.test_client_core import Stage


@pytest.mark.parametrize(
    "changes",
    [
        {"balance": 5},
        ("=", "owner", "bob"),
        ["=owner"],
        [("=", "balance", 5), "owner"],
        [{"balance": 5}],
        "",
        b"=a",
        None,
        7,
        [7],
        [()],
        [("=",)],
    ],
)
def test_what_is_no_list_of_changes_is_refused(changes: object) -> None:
    """An update without a change succeeds, so a change that was dropped would look done."""
    with pytest.raises(WrongTuple, match="update operation"):
        changes_of(changes)  # type: ignore[arg-type]  # the mistake


def test_changes_may_come_in_any_list() -> None:
    wanted: list[object] = [["+", "balance", 1], ["#", 3, 1]]
    assert changes_of([("+", "balance", 1), ["#", 3, 1]]) == wanted
    assert changes_of(tuple(wanted)) == wanted  # type: ignore[arg-type]  # lists, all of them
    assert changes_of([]) == []


@pytest.mark.parametrize("row", [{"id": 1}, {1: "ann"}, {1, 2}, frozenset([1]), "ab", b"ab", 1])
def test_what_has_no_order_of_fields_is_no_tuple(row: object) -> None:
    """Of a map only the names of its fields would be stored."""
    with pytest.raises(WrongTuple, match="list of fields"):
        encode_row(row)  # type: ignore[arg-type]  # the mistake


def test_a_tuple_may_come_as_any_sequence() -> None:
    assert encode_row((1, "a")) == encode_row([1, "a"]) == encode_row({1: 1, "a": 2}.keys())  # type: ignore[arg-type]  # the mistake


INTO: dict[str, Callable[[object], object]] = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "deque": lambda inner: deque([inner]),
    "map": lambda inner: {"a": inner},
    "set": lambda inner: frozenset([inner]),
    "key of a map": lambda inner: MappingProxyType({inner: 1}),
    "tag": lambda inner: cbor2.CBORTag(70_000, inner),
}
HASHED = {"set", "key of a map"}


def nested(levels: int, kind: str = "list") -> object:
    """A value in that many containers."""
    value: object = 7
    for level in range(levels):
        value = INTO["tuple" if kind in HASHED and level < levels - 1 else kind](value)
    return value


@pytest.mark.parametrize("kind", INTO)
def test_a_tuple_is_nested_as_deep_as_nodes_read_it_and_no_deeper(kind: str) -> None:
    """The encoder would go on until the process ends for want of stack."""
    levels = limits.DEPTH_MAX - 2 if kind == "set" else limits.DEPTH_MAX - 1  # a tagged array
    assert len(tuples.decode(encode_row([1, nested(levels, kind)]))) == 2
    for deeper in (limits.DEPTH_MAX, 20_000):
        with pytest.raises(WrongTuple, match="more than 64 deep"):
            encode_row([1, nested(deeper, kind)])


def test_a_list_that_holds_itself_is_no_tuple() -> None:
    endless: list[object] = [1]
    endless.append(endless)
    with pytest.raises(WrongTuple, match="more than 64 deep"):
        encode_row(endless)


def test_keys_and_updates_are_nested_as_deep_as_nodes_read_them_and_no_deeper() -> None:
    """A node hangs up on what is deeper, and with it on every other call of the client."""
    key, change = key_of(nested(60)), ["=", 2, nested(59)]
    for operation in (operations.update("t", key, [change]), operations.delete("t", key)):
        write = WriteRequest(1, b"", 0, 0, 0, [operation], reads=[[ReadKind.KEY, "t", 0, key]])
        read_back = requests.decode(payload_of(write))
        assert isinstance(read_back, WriteRequest)
        assert list(read_back.ops) == [operation]
    read = GetRequest(1, "t", 0, key)
    assert requests.decode(payload_of(read)) == read
    for deeper in (1, 20_000):
        with pytest.raises(WrongKey, match=r"deep|depth"):
            key_of(nested(60 + deeper))
        with pytest.raises(WrongTuple, match=r"deep|depth"):
            changes_of([("=", 2, nested(59 + deeper))])


UNREADABLE = [re.compile("a"), [1 << 1024], {(n,): 1 for n in range(1001)}, [cbor2.CBORTag(28, 1)]]


@pytest.mark.parametrize("value", UNREADABLE, ids=["pattern", "number", "keys", "tag"])
def test_what_no_node_reads_is_no_key_and_no_change(value: object) -> None:
    with pytest.raises(WrongKey, match="not a value that can be sent"):
        key_of([value])
    with pytest.raises(WrongTuple, match="not a value that can be sent"):
        changes_of([("=", 2, value)])


def payload_of(request: Request) -> bytes:
    (payload,) = Frames().feed(requests.encode(request))
    return payload


WRITE = [operations.truncate("t")]


def test_an_option_that_a_call_does_not_have_is_refused() -> None:
    """A write whose misspelt token was ignored would be done a second time."""
    with pytest.raises(ConfigError, match=r"no option 'tokn'.*is_sync, timeout, token, wait"):
        options.write(WRITE, {"tokn": "00:1"})  # type: ignore[typeddict-unknown-key]  # the mistake
    with pytest.raises(ConfigError, match="no option 'wiat'"):
        TransactionDraft({"wiat": "none"})  # type: ignore[typeddict-unknown-key]  # the mistake
    with pytest.raises(ConfigError, match="no option 'tokn'"):
        TransactionDraft({}).end({"tokn": "00:1"})  # type: ignore[typeddict-unknown-key]  # the mistake
    with pytest.raises(ConfigError, match=r"no option 'is_sync'.*timeout, token"):
        options.change(WRITE[0], {"is_sync": True})  # type: ignore[typeddict-unknown-key]  # the mistake
    with pytest.raises(ConfigError, match=r"no option 'limit'.*at_least, consistency, timeout"):
        options.level({"limit": 1})  # type: ignore[typeddict-unknown-key]  # the mistake
    with pytest.raises(ConfigError, match="no option 'reverse'"):
        options.level({"reverse": True}, options.RANGE)  # type: ignore[typeddict-unknown-key]  # the mistake


def test_a_token_names_one_write_and_not_many() -> None:
    """The first one would be done, and all others answered as done already."""
    with pytest.raises(ConfigError, match="no option 'token'"):
        options.writes([WRITE[0]], {"token": "00:1"})  # type: ignore[typeddict-unknown-key]  # the mistake
    assert len(list(options.writes([WRITE[0], WRITE[0]], {"wait": "submit"}))) == 2


def test_a_count_has_no_limit_and_a_read_in_a_transaction_no_consistency() -> None:
    with pytest.raises(ConfigError, match="no option 'limit'"):
        options.level({"limit": 1}, options.COUNT)  # type: ignore[typeddict-unknown-key]  # the mistake
    with pytest.raises(ConfigError, match="no option 'consistency'"):
        options.check({"consistency": "local"}, options.PAGE)


@pytest.mark.parametrize("token", ["", " ", 7, "x", "00", "00:0"])
def test_what_is_no_token_is_refused(token: object) -> None:
    """An empty one, of a variable that is not set, would begin a new write."""
    with pytest.raises(ConfigError, match="is no token"):
        options.write(WRITE, {"token": token})  # type: ignore[typeddict-item]  # the mistake


@pytest.mark.parametrize("given", [{"is_sync": "no"}, {"wait": "never"}, {"wait": None}])
def test_values_of_options_are_checked(given: options.WriteOptions) -> None:
    with pytest.raises(ConfigError, match=next(iter(given))):
        options.write(WRITE, given)


@pytest.mark.parametrize("number", [-1, "x", 1.5, True, 2**64])
@pytest.mark.parametrize("option", ["limit", "offset"])
def test_a_page_has_whole_numbers(option: str, number: object) -> None:
    """A node would take the request for a broken one, and hang up on all others."""
    with pytest.raises(ConfigError, match=f"{option} is a whole number from 0 on"):
        calls.range_of(None, **{option: number})  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("timeout", [math.nan, "5", [], b"5", 1j, True])
def test_a_time_is_a_number_of_seconds(timeout: object) -> None:
    """What is not a number is never over: the call would wait for ever."""
    with pytest.raises(ConfigError, match="timeout is a number of seconds, not"):
        arguments.seconds_of("timeout", timeout)


@pytest.mark.parametrize("timeout", [0, -1, 0.5, 10**400, -(10**400), math.inf, -math.inf])
def test_any_number_of_seconds_is_a_time(timeout: float) -> None:
    found = arguments.seconds_of("timeout", timeout)
    assert isinstance(found, float)
    assert found in (timeout, math.copysign(sys.float_info.max, max(-1, min(1, timeout))))


def test_a_role_of_a_member_may_be_a_text_and_is_one_of_three() -> None:
    def asked(role: Any) -> Request:
        return calls.change_member(MemberAction.SET_ROLE, 1, 5.0, role=role).make(1)

    assert asked("voter") == asked(MemberRole.VOTER)
    with pytest.raises(ConfigError, match="there is no role 'king'"):
        asked("king")


def test_at_least_takes_a_receipt() -> None:
    with pytest.raises(ConfigError, match="at_least is the receipt of a write, not 5"):
        options.level({"at_least": 5})  # type: ignore[typeddict-item]  # the mistake


def test_a_space_of_the_longest_name_can_be_asked_for() -> None:
    longest = "x" * schema.NAME_CHARACTERS_MAX
    assert len(longest) == limits.SPACE_CHARS_MAX
    keys: list[list[object]] = [[1], [[1]]]  # read at once, and by the general decoder
    for key in keys:
        asked = GetRequest(1, longest, 0, key)
        assert requests.decode(payload_of(asked)) == asked


@pytest.mark.parametrize("name", ["", "x" * 257, None, -1, 1.5, True, b"t", 2**32])
def test_what_can_be_no_space_is_not_asked_for(name: object) -> None:
    with pytest.raises(NoSuchSpace, match="there is no space"):
        named(name)  # type: ignore[arg-type]  # the mistake
    assert named("t") == "t"
    assert named(512) == 512


@pytest.mark.parametrize("name", ["", "x" * 257, None, -1, 1.5, True, b"t", 2**32])
def test_what_can_be_no_index_is_not_asked_for(name: Any) -> None:
    asked: list[Callable[[], object]] = [
        lambda: calls.get("t", 1, index=name),
        lambda: calls.get_at("t", 1, name),
        lambda: calls.range_of(1, index=name),
    ]
    for ask in asked:
        with pytest.raises(NoSuchIndex, match="there is no index"):
            ask()


def test_a_key_has_no_more_parts_than_an_index_may_have() -> None:
    most = [1] * limits.KEY_PARTS_MAX
    assert key_of(most) == most
    with pytest.raises(WrongKey, match="a key of 256 parts"):
        key_of([*most, 1])


@pytest.mark.parametrize(
    "call",
    [
        calls.select("t", calls.range_of(1, iterator="backwards")),
        calls.info(5),  # type: ignore[arg-type]  # the mistake
        calls.dry_run("x" * 256),
        calls.digest(-1),
        calls.log(-1, 1, 1),
        calls.log(1, "all", 1),  # type: ignore[arg-type]  # the mistake
        calls.demote(32, 1.0),
        calls.promote(-1.0),
        questions.changes(-1, None, [], 1.0),
        questions.changes("now", None, [], 1.0),  # type: ignore[arg-type]  # the mistake
        questions.watch("x" * 256, None, 1.0),
        questions.trace(-1, 0.0),
        questions.options({1: 1}),  # type: ignore[dict-item]  # the mistake
        questions.rights("x" * 256),
    ],
)
def test_a_question_that_no_node_reads_is_not_sent(call: calls.ClientCall[object]) -> None:
    """The node would hang up, and leave the calls of other tasks without an answer."""
    stage = Stage("a:1")
    link = stage.opened()
    with pytest.raises(ConfigError, match="nothing was sent"):
        stage.ask(call)
    assert stage.heard(link) == []
    assert stage.open
