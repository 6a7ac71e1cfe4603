"""Lua in the shell: values without loss, questions as calls, a sandbox, interrupts."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.exits import StoppedByGuard
from cli.shell.failures import ChunkInterrupted, LuaFailed, LuaSyntax
from cli.shell.refused import REFUSED, refusal_of
from cli.shell.runtime import CallableMap
from cli.shell.values import KEEP, Double, NamedRow
from qsync.errors import DuplicateKey, NotLeader, QsyncError
from tests.unit.lua import Bench, space


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ----------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("1 + 1", [2]),
        ("10 / 2", [5]),
        ("1 / 3", [1 / 3]),
        ("9007199254740993", [9007199254740993]),
        ("2^53", [2.0**53]),
        ("'a', nil, true", ["a", None, True]),
        ("{}", [{}]),
        ("{1, 2, nil, 4}", [[1, 2, None, 4]]),
        ("{a = {b = 1}, [3] = 'x'}", [{"a": {"b": 1}, 3: "x"}]),
        ("'\\xff'", [b"\xff"]),
        ("box.NULL, {box.NULL, 1}", [None, [None, 1]]),
        ("box.double(5)", [Double(5.0)]),
        ("box.tuple.new{}", [[]]),
        ("x = 5", []),
        ("local x = 5; return x, x", [5, 5]),
        ("print", ["<function>"]),
    ],
)
def test_a_chunk_returns_its_values(bench: Bench, source: str, values: list[object]) -> None:
    assert bench.run(source) == values


def _something(value: object) -> bool:
    """A map of Lua's has no place for nothing."""
    return value is not None


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False).filter(lambda x: not x.is_integer())
    | st.text()
    | st.just(b"\xff\x00"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(min_size=1) | st.integers(0, 9), inner.filter(lambda x: x is not None)
        )
    ),
    max_leaves=8,
)


@given(values)
def test_values_go_through_lua_unchanged(value: object) -> None:
    bench = Bench(answers={"info": lambda *_: value})
    assert bench.one("return box.info.x") == value
    bench.run("box.watch_once(box.info.x)")
    assert bench.asked[-1][2] == [value]


def test_a_tuple_has_its_fields_by_number_and_name(bench: Bench) -> None:
    bench.answers |= {
        "space": lambda *_: space("t", "id", "name"),
        "get": lambda *_: NamedRow([1, "ann", None], ("id", "name")),
    }
    assert bench.run("local t = box.space.t:get(1) return t[1], t.name, #t, t:tomap()") == [
        1,
        "ann",
        3,
        {"id": 1, "name": "ann"},
    ]
    assert bench.one("box.space.t:get(1)") == NamedRow([1, "ann", None], ("id", "name"))


def test_a_table_that_holds_itself_is_refused(bench: Bench) -> None:
    with pytest.raises(LuaFailed, match="nested deeper than 64"):
        bench.run("local t = {} t[1] = t return t")


def test_a_map_is_shown_in_the_order_in_which_it_came(bench: Bench) -> None:
    names = [f"k{at}" for at in range(50, 0, -1)]
    bench.answers["info"] = lambda *_: CallableMap(dict.fromkeys(names, 1))
    found = bench.one("box.info.x")
    assert isinstance(found, dict)
    assert list(found) == names


# -------------------------------------------------------------------------------------- questions


def test_members_are_asked_for_when_they_are_looked_at(bench: Bench) -> None:
    bench.answers["info"] = lambda key=None: (
        CallableMap({"len": 3}) if key else CallableMap({"all": 1})
    )
    assert bench.run("box.info.synchro.len, box.info().all, box.info.memory().len") == [3, 1, 3]
    assert bench.one("box.info") == {"all": 1}
    assert bench.verbs == ["info"] * 4


def test_spaces_and_their_indexes_have_the_methods_of_a_space(bench: Bench) -> None:
    bench.answers["space"] = lambda *_: space()
    bench.run("box.space.t:replace{1}")
    bench.run("box.space.t.index.second:get('x')")
    bench.run("box.space.t.index[0]:replace{2}")
    bench.run("box.space['t']:select({1}, {iterator = 'GE', limit = 5})")
    assert [each for each in bench.asked if each[1] != "space"] == [
        (0, "replace", [512, 0, [1]]),
        (0, "get", [512, 1, "x"]),
        (0, "replace", [512, 0, [2]]),
        (0, "select", [512, 0, [1], {"iterator": "GE", "limit": 5}]),
    ]


def test_a_dot_in_the_place_of_a_colon_is_explained(bench: Bench) -> None:
    bench.answers["space"] = lambda *_: space()
    with pytest.raises(LuaFailed, match=r"use space:replace\(\.\.\.\) instead of space\.replace"):
        bench.run("box.space.t.replace{1}")


def test_pairs_goes_over_pages(bench: Bench) -> None:
    bench.answers["space"] = lambda *_: space()
    pages = [[NamedRow([at]) for at in range(1000)], [NamedRow([1000])]]
    bench.answers["select"] = lambda *_: pages.pop(0)
    source = "local n = 0 for _, t in box.space.t:pairs() do n = n + t[1] end return n"
    assert bench.one(source) == sum(range(1001))
    assert bench.asked[-1][2][3] == {"limit": 1000, "after": NamedRow([999])}


def test_atomic_commits_or_rolls_back(bench: Bench) -> None:
    assert bench.run("box.atomic({is_sync = true}, function(a) return a, 2 end, 1)") == [1, 2]
    assert bench.asked == [(0, "begin", [{"is_sync": True}]), (0, "commit", [None])]
    bench.asked.clear()
    with pytest.raises(LuaFailed, match="boom"):
        bench.run("box.atomic(function() error('boom') end)")
    assert bench.verbs == ["begin", "rollback"]


def test_another_connection_has_spaces_and_transactions_of_its_own(bench: Bench) -> None:
    from cli.shell.runtime import MultipleValues  # noqa: PLC0415 - beside its use

    bench.answers |= {"connect": lambda *_: MultipleValues((7, "h:1")), "space": lambda *_: space()}
    bench.run("c = netbox.connect('h')\nc:begin()\nc.space.t:replace{1}\nc:commit()")
    assert bench.asked[1:] == [
        (7, "begin", [None]),
        (7, "space", ["t"]),
        (7, "replace", [512, 0, [1]]),
        (7, "commit", [None]),
    ]


def test_a_placeholder_of_a_pasted_text_arrives_as_such(bench: Bench) -> None:
    bench.answers["cfg"] = lambda *_: {"a": 1}
    bench.run("box.cfg{a = box.KEEP}")
    assert bench.asked == [(0, "cfg", [{"a": KEEP}])]


def test_questions_may_be_asked_inside_of_coroutines(bench: Bench) -> None:
    bench.answers["info"] = lambda *_: 5
    source = """
    local co = coroutine.wrap(function(a)
        local b = coroutine.yield(a + box.info.x)
        return b * box.info.x
    end)
    return co(1), co(10)"""
    assert bench.run(source) == [6, 50]


def test_print_shows_values_as_lua_would_write_them(bench: Bench) -> None:
    bench.answers["print"] = lambda *args: bench.said.append(str(args))
    bench.run("print('a', {1, {b = 2}}, nil)")
    assert bench.asked == [(0, "print", ["a", [1, {"b": 2}], None])]
    bench.run("table.sort({2, 1}, function(a, b) print(a) return a < b end)")
    assert bench.said[-1] == "1"


def test_a_tuple_from_a_map_has_no_field_that_the_format_lacks(bench: Bench) -> None:
    bench.answers["space"] = lambda *_: space()
    with pytest.raises(LuaFailed, match="space t has no field 'nmae'"):
        bench.run("return box.space.t:frommap{nmae = 'ann'}")
    bench.answers["space"] = lambda *_: space("t", "id", "ok", "name")
    assert bench.one("return box.space.t:frommap{id = 1, ok = false}") == [1, False, None]


def test_a_trigger_that_fails_changes_neither_the_outcome_nor_the_other_triggers(
    bench: Bench,
) -> None:
    bench.answers["is_in_txn"] = lambda *_: True
    source = """
    local told = {}
    box.begin()
    box.on_commit(function() error('boo') end)
    box.on_commit(function() told[#told + 1] = 'second' end)
    local committed = pcall(box.commit)
    local value = box.atomic(function() box.on_commit(function() error{code = 1} end) return 7 end)
    local ok, why = pcall(box.atomic, function()
        box.on_rollback(function() error('hides it') end)
        error('why', 0)
    end)
    return committed, told, value, ok, why
    """
    assert bench.run(source) == [True, ["second"], 7, False, "why"]
    assert bench.said[0] == "a function of box.on_commit failed: shell:4: boo"
    assert len(bench.said) == 3


# ----------------------------------------------------------------------------------------- errors


def refuse(*_: object) -> object:
    raise DuplicateKey("taken", hint="try another")


def test_an_error_of_the_cluster_can_be_caught_and_read(bench: Bench) -> None:
    bench.answers |= {"space": lambda *_: space(), "insert": refuse}
    assert bench.run(
        "local ok, e = pcall(box.space.t.insert, box.space.t, {1})"
        "return ok, e.name, e.message, tostring(e), e.outcome, e.hint"
    ) == [False, "DUPLICATE_KEY", "taken", "taken", "rolled_back", "try another"]


def test_an_error_that_nobody_catches_is_the_very_same(bench: Bench) -> None:
    bench.answers |= {"space": lambda *_: space(), "insert": refuse}
    with pytest.raises(DuplicateKey, match="taken") as caught:
        bench.run("local function f() box.space.t:insert{1} end f()")
    assert caught.value.hint == "try another"
    with pytest.raises(DuplicateKey):
        bench.run("local ok, e = pcall(function() box.space.t:insert{1} end) error(e)")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("error('boo')", "shell:1: boo"),
        ("error({message = 'm'})", "m"),
        ("error()", "an error without a message"),
        ("coroutine.yield(1)", "attempt to yield from outside a coroutine"),
        ("box.info.x = 1", "'x' cannot be assigned here"),
        ("require('sockets')", "the shell has no module 'sockets'"),
    ],
)
def test_errors_of_lua_have_their_message(bench: Bench, source: str, message: str) -> None:
    with pytest.raises(LuaFailed) as caught:
        bench.run(source)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("source", "unfinished"),
    [("x =", True), ("for i = 1, 2 do", True), ("f(", True), ("x = = 1", False), ("end", False)],
)
def test_what_only_lacks_its_end_is_told_apart(bench: Bench, source: str, unfinished: bool) -> None:
    with pytest.raises(LuaSyntax) as caught:
        bench.runtime.compile(source)
    assert caught.value.unfinished is unfinished


# ----------------------------------------------------------------------------------------- fibers


@pytest.mark.parametrize(
    ("source", "values"),
    [
        (
            "f = F.new(function(a) return a, 2 end, 1) f:set_joinable(true) return f:join()",
            [True, 1, 2],
        ),
        ("f = F.new(error, 'no') f:set_joinable(true) return f:join()", [False, "no"]),
        (
            "f = F.create(function() F.sleep(60) end) f:cancel() F.yield() return f:status()",
            ["dead"],
        ),
        (
            "f = F.create(F.sleep, 60) f:wakeup() F.yield() return f:status()",
            ["dead"],
        ),
        (
            "c = F.cond() F.create(function() r = c:wait(60) end) c:signal() F.yield() return r",
            [True],
        ),
        ("return F.cond():wait(0)", [False]),
        (
            "c = F.channel(1) return c:put(1), c:put(2, 0), c:get(), c:get(0)",
            [True, False, 1, None],
        ),
        (
            "c = F.channel() F.create(function() c:put(7) end) return c:get(), c:has_writers()",
            [7, False],
        ),
        (
            "c = F.channel() F.new(c.close, c) return c:get(), c:put(1), c:is_closed()",
            [None, False, True],
        ),
        (
            "f = F.new(F.sleep, 60) f:set_joinable(true) return f:join(0)",
            [False, "timed out"],
        ),
        (
            "F.self():name('me') return F.name(), F.self():status(), F.find(7)",
            ["me", "running", None],
        ),
    ],
)
def test_fibers_wait_for_each_other(bench: Bench, source: str, values: list[object]) -> None:
    assert bench.run(f"local F, f, c, r = require('fiber') {source}") == values


def test_a_fiber_asks_as_a_session_of_its_own(bench: Bench) -> None:
    bench.run(
        "require('fiber').create(function() box.begin() end) box.begin() require('fiber').yield()"
    )
    assert [verb for conn, verb, _ in bench.asked] == ["begin", "begin"]
    assert sorted(conn < 0 for conn, _, _ in bench.asked) == [False, True]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("box.NULL == nil", True),
        ("nil == box.NULL", True),
        ("box.NULL ~= nil", False),
        ("nil ~= box.NULL", False),
        ("nil == nil", True),
        ("5 == nil", False),
        ("'nil' ~= nil", True),
        ("false == nil", False),
        ("({}) ~= nil and print ~= nil", True),
        ("x == box.NULL", True),
        ("box.NULL ~= x", False),
        ("not box.NULL", False),
        ("'x == nil'", "x == nil"),
        ("[==[x == nil]==]", "x == nil"),
        ("1 -- x == nil", 1),
        ("#{nil == nil, box.NULL == nil}", 2),
        ("load('return ... == nil')(box.NULL)", True),
        ("load('return x == nil', 'c', 't', {})()", True),
        ("load('return x == nil', 'c', 't', {x = 1})()", False),
        ("(function(...) return select('#', ...) == 2 and ... == nil end)(box.NULL, 1)", True),
        ("1 < 2 == (2 ~= nil)", True),
        ("box.NULL == nil == true", True),
    ],
)
def test_null_equals_nil_as_in_tarantool(bench: Bench, source: str, value: object) -> None:
    assert bench.run(source) == [value]


def test_a_chunk_that_compares_with_nil_keeps_its_lines_and_its_end(bench: Bench) -> None:
    with pytest.raises(LuaFailed, match=r"shell:3: here"):
        bench.run("local x\nif x == nil then\nerror('here')\nend -- the end")
    with pytest.raises(LuaSyntax) as caught:
        bench.run("if x == nil then")
    assert caught.value.unfinished


def test_a_failure_of_a_fiber_that_nobody_joins_is_said(bench: Bench) -> None:
    bench.run("require('fiber').create(error, 'of its own')")
    assert bench.said[0].endswith("failed: of its own")


def test_a_fiber_that_nobody_can_wake_is_an_error_and_no_hang(bench: Bench) -> None:
    with pytest.raises(LuaFailed, match="none is left to wake them"):
        bench.run("require('fiber').cond():wait()")


def test_errors_have_tarantools_code_and_fields(bench: Bench) -> None:
    details: dict[str, object] = {
        "reasons": [["election", "", ""]],
        "leader_id": 2,
        "term": 7,
        "state": "follower",
    }

    def refused(*_: object) -> object:
        raise NotLeader("no", details=details)

    bench.answers["info"] = refused
    source = """local ok, e = pcall(function() return box.info.x end)
    return e.code == box.error.READONLY, e.name, e.reason, e.term, e.state, e.leader_id, e.type,
        box.error.last() == e, box.error.is(e), e:unpack().code"""
    assert bench.run(source) == [
        *(True, "NOT_LEADER", "election", 7, "follower", 2, "ClientError", True, True, 7)
    ]
    with pytest.raises(NotLeader):
        bench.run("local ok, e = pcall(function() return box.info.x end) e:raise()")


def test_every_refusal_says_why_and_what_to_do() -> None:
    for name, (why, instead) in REFUSED.items():
        error = refusal_of(name)
        assert why in error.message
        assert error.hint == instead


# ---------------------------------------------------------------------------------------- sandbox


@pytest.mark.parametrize(
    "name",
    ["os", "io", "package", "debug", "python", "dofile", "loadfile", "collectgarbage", "api"],
)
def test_the_world_outside_is_not_there(bench: Bench, name: str) -> None:
    assert bench.one(f"{name} == nil") is True


@pytest.mark.parametrize(
    "source",
    [
        "return string.dump(function() end)",
        "return getmetatable('').__index",
        "return getmetatable(box.space).__index",
        "return require('fiber').time.__globals__",
        "return require('clock').time.__globals__",
        "return print.__globals__",
        "return ('x').__class__.mro",
    ],
)
def test_there_is_no_way_out(bench: Bench, source: str) -> None:
    with pytest.raises(LuaFailed):
        bench.run(source)


def test_bytecode_is_not_loaded(bench: Bench) -> None:
    assert bench.run("return load('return 1 + 1')()") == [2]
    assert bench.run("return (load('\\27Lua'))") == [None]


def test_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.shell.runtime.MEMORY_MAX", 4 << 20)
    bench = Bench()
    with pytest.raises(LuaFailed, match=r"more than 4 MiB|not enough memory"):
        bench.run("local t = {} while true do t[#t + 1] = ('x'):rep(10000) .. #t end")
    assert bench.one("1 + 1") == 2


@pytest.fixture
def soon(bench: Bench) -> Iterator[None]:
    """Ctrl-C, a moment after the test has begun."""
    former = signal.signal(signal.SIGALRM, lambda *_: setattr(bench.runtime, "interrupted", True))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, former)


@pytest.mark.parametrize(
    "source",
    [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(error, function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "return ('x'):rep(10), (function() repeat until false end)()",
    ],
)
def test_a_loop_without_end_can_be_interrupted(bench: Bench, soon: None, source: str) -> None:
    with pytest.raises(ChunkInterrupted):
        bench.run(source)
    assert bench.one("1 + 1") == 2


@pytest.mark.parametrize(
    "source",
    ["box.space.t:insert{1}", "pcall(box.space.t.insert, box.space.t, {1}) while true do end"],
)
def test_the_error_of_a_request_that_took_all_the_time_is_told(bench: Bench, source: str) -> None:
    """It says why; that the time is over says only that something took long."""

    def refuse_late(*_: object) -> object:
        bench.runtime.late = lambda: StoppedByGuard("late")
        raise DuplicateKey("taken")

    bench.answers |= {"space": lambda *_: space(), "insert": refuse_late}
    with pytest.raises(DuplicateKey if "pcall" not in source else StoppedByGuard):
        bench.run(source)


def test_a_text_that_is_not_utf_8_is_refused_as_such(bench: Bench) -> None:
    """Python reads bytes of the command line and of a pipe so that it can tell them later."""
    broken = b"return 1,\n'\xff'".decode("utf-8", "surrogateescape")
    with pytest.raises(LuaSyntax, match="shell:2: this is not UTF-8 text"):
        bench.run(broken)


def test_every_failure_is_an_error_of_the_package(bench: Bench) -> None:
    for source in ("local function f() return f() + 1 end f()", "error(box)", "#nil", "{} < {}"):
        with pytest.raises(QsyncError):
            bench.run(f"return {source}" if source[0] in "#{" else source)
