"""What people write: quorums, files, variables, arguments. A value or a refusal, and soon."""

import contextlib
import time
from collections.abc import Callable, Iterator

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.commands.data import Json, JsonList
from cli.options import Duration
from election.quorum import QuorumError, majority, parse
from qsync import units
from qsync.config import NodeConfig
from qsync.config.kinds import Address
from qsync.errors import ConfigError, QsyncError
from qsync.wire import requests
from qsync.wire.verbs import WriteRequest

SECONDS_MAX = 6.0
"""Of the processor, however busy it is: what takes longer, hangs. The worst example takes one."""


@contextlib.contextmanager
def soon() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < SECONDS_MAX


# --------------------------------------------------------------------------------------- quorums

ARITHMETIC = st.recursive(
    st.sampled_from(["N", "1", "2", "0", "0.5", "1e300", "9" * 60, "1e-300", "True", "None", "x"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<<", "@"]), inner)
        .map(lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"),
        inner.map(lambda one: f"-{one}"),
        inner.map(lambda one: f"not {one}"),
        st.tuples(st.sampled_from(["min", "max", "floor", "ceil", "abs", "pow", "eval"]), inner)
        .map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"max({parts[0]}, {parts[1]})"),
        inner.map(lambda one: f"[{one} for N in ({one},)]"),
        inner.map(lambda one: f"{one}.real"),
        inner.map(lambda one: f"f'{{{one}}}'"),
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.one_of(ARITHMETIC, st.text(max_size=30), st.text(alphabet="N()+-*/%.0129e ,", max_size=200))
)
@example("-" * 199 + "N")
@example("~" + "-" * 190 + "N")
@example("not " * 49 + "N")
@example("(" * 100 + "N" + ")" * 99)
@example("(" * 99 + "N" + ")" * 99)
@example("[" * 199)
@example("N" + ".a" * 90)
@example("N" + "(N)" * 60)
@example("N if " * 30 + "N" + " else N" * 15)
@example("lambda:" * 28 + "N")
@example("1e308*" * 28 + "N")
@example("9" * 199)
@example("0x" + "f" * 190)
@example("1_0" * 60)
@example("1e" + "9" * 190)
@example("N\0")
@example("N #\udc80")
@example("'\\d'")
@example("1if N else 2")
@example("0777")
@example("1j")
@example("...")
@example("ⅠN")
@example("N:=1")
@example("ᴺ")
def test_an_expression_is_a_quorum_or_is_refused_soon(expression: str) -> None:
    with soon():
        try:
            quorum = parse(expression)
        except QuorumError as error:
            assert str(error)  # noqa: PT017 - it may also be one
            return
        for voters in range(1, 32):
            assert majority(voters) <= quorum.of(voters) <= 31
        assert parse(quorum.expression) == quorum


# ------------------------------------------------------------------------------- files of settings

SECTIONS = ["node", "cluster", "election", "replication", "store", "limits", "peers", "listen", "x"]
OPTIONS = ["id", "name", "dir", "timeout", "mode", "synchro_quorum", "address", "tag", "map_size"]
SCALARS = st.one_of(
    st.sampled_from([
        "1", "5s", "off", "~", "null", "2**70", "9" * 5000, "127.0.0.1:3301", "[::1]:1", "N",
        '"\\0"', '"\\ud800"', '"\\u2028"', "!!binary aGk=", "!!python/object/apply:os.system [x]",
        "*a", "&a 1", "1e400", ".nan", "- 1", "? a", "{a: 1}", "[1, 2]", "|\n  text", "%", "@x",
        "`",
    ]),
    st.text(max_size=8),
)  # fmt: skip
FLOW = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(st.sampled_from(OPTIONS), inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        ),
    ),
    max_leaves=6,
)
FILES = st.lists(
    st.tuples(st.sampled_from([*SECTIONS, *(f"peers.{n}.id" for n in "0²٣")]), FLOW).map(
        lambda line: f"{line[0]}: {line[1]}\n"
    ),
    max_size=5,
).map("".join)
LAUGHS = "a: &a [x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)


@given(
    st.one_of(FILES, st.text(max_size=80), st.text(alphabet="{}[]&*!|>%@:-,?'\"\n a1", max_size=80))
)
@example("[" * 5_000)
@example("{a: " * 5_000)
@example("- " * 5_000)
@example("? " * 5_000)
@example("peers: &a [*a]")
@example("peers: &a\n- *a\n")
@example("node: &a {dir: *a}")
@example(LAUGHS)
@example("peers: [" + "{id: 1, name: n, address: 'h:1'}, " * 3_000 + "]")
@example("peers: [&a {id: 1, name: n, address: 'h:1'}" + ", *a" * 30_000 + "]")
@example("x" * 100_000)
@example("a" * 100_000 + ": 1")
@example("cluster: {tag: '" + "x" * 100_000 + "'}")
@example("election: {timeout: " + "9" * 100_000 + "h}")
@example("node: {id: " + "9" * 100_000 + "}")
@example("replication: {synchro_quorum: '" + "-" * 190 + "N'}")
@example("peers.².id: 1")
@example("peers.0.id: 1")
@example('node: {dir: "\\0"}')
@example('cluster: {tag: "\\ud800"}')
@example('cluster: {tag: "\\x7f\\x85\\ufeff\\u2028"}')
@example("listen: 'ⅰ:٣'")
@example("<<: {a: 1}")
@example("\ufeffnode: {id: 1}")
@example("--- 1\n--- 2")
@example("!!set {a}")
@example('node: {name: "a\\nb"}')
def test_a_file_is_a_configuration_or_every_problem_has_its_place(text: str) -> None:
    with soon():
        try:
            config = NodeConfig.loads(text, where="node.yaml")
        except ConfigError as error:
            assert "node.yaml" in error.message  # noqa: PT017 - it may also be one
            assert error.details["reason"]  # noqa: PT017 - the same
            return
        again = NodeConfig.loads(config.to_yaml(), where="written.yaml")
        assert again == config


@given(
    st.dictionaries(
        st.sampled_from(["QSYNC_NODE__ID", "QSYNC_PEERS", "QSYNC_LISTEN", "QSYNC_X__Y", "QSYNC_A"]),
        st.one_of(st.text(max_size=20), st.text(alphabet="1:@,n.0", max_size=40)),
    ),
    st.dictionaries(
        st.sampled_from(["node.id", "peers", "listen", "peers.0.id", "x", "election.timeout"]),
        st.one_of(st.text(max_size=20), st.text(alphabet="1:@,n.0s", max_size=40)),
    ),
)
@example({}, {"peers": ",".join(f"{n}:n{n}@h:{n}" for n in range(2_000))})
def test_variables_and_flags_make_a_configuration_or_are_refused(
    env: dict[str, str], flags: dict[str, str]
) -> None:
    with soon(), contextlib.suppress(ConfigError):
        NodeConfig.load(None, env, flags)


PARSERS: list[Callable[[str], object]] = [units.duration, units.size, Address.parse]


@pytest.mark.parametrize("parser", PARSERS)
@given(text=st.one_of(st.text(max_size=20), st.text(alphabet="0123456789.smhKMiB:[]", max_size=30)))
@example(text="9" * 100_000 + "s")
@example(text="0." + "9" * 100_000 + "TiB")
@example(text="٣s")
@example(text="²B")
@example(text="[]:1")
@example(text="h:" + "9" * 5_000)
def test_a_text_is_a_value_or_a_value_error(parser: Callable[[str], object], text: str) -> None:
    with soon(), contextlib.suppress(ValueError):
        parser(text)


# ------------------------------------------------------------------------------------- arguments


@given(
    st.one_of(
        st.text(max_size=20),
        st.text(alphabet='[]{}",:0123456789.-+eENaInfity\\u', max_size=30),
        st.recursive(
            st.sampled_from(
                ["1", "null", '"a"', "NaN", "-Infinity", "1e999", '"\\ud800"', "9" * 30]
            ),
            lambda inner: st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
            max_leaves=6,
        ),
    )
)
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example("9" * 5_000)
@example("[" + "9" * 5_000 + "]")
@example('["\\ud800"]')
@example("[NaN, Infinity, 1e999]")
@example("[1" + "0" * 400 + "]")
def test_an_argument_is_a_value_that_can_be_sent_or_is_refused(text: str) -> None:
    for kind in (Json(), JsonList("[1]")):
        with soon(), contextlib.suppress(click.UsageError, QsyncError):
            value = kind.convert(text, None, None)
            requests.encode(WriteRequest(1, b"", 0, 0, 0, [[5, "space", 0, [value]]]))


@given(st.text(max_size=20))
@example("²")
@example("٣.٣")
@example("1" * 400)
def test_a_duration_of_the_command_line_is_seconds_or_is_refused(text: str) -> None:
    with contextlib.suppress(click.UsageError):
        assert Duration().convert(text, None, None) >= 0
