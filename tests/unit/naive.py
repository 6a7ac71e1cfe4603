"""A second opinion on small histories: every order there is, tried one after another."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from admin.checker.operation import CompletionType, Operation


def op(
    number: int, f: str, value: object, begun: int, ended: int | None, *, process: int = 0
) -> Operation:
    kind = CompletionType.INFO if ended is None else CompletionType.OK
    return Operation(
        number=number, process=process, f=f, value=value, begun=begun, ended=ended, kind=kind
    )


Naive = Callable[[object, str, object], tuple[bool, object]]


def naive_register(state: object, f: str, value: object) -> tuple[bool, object]:
    if f == "read":
        return state == value, state
    if f == "write":
        return True, value
    assert isinstance(value, list)
    if f == "cas-unequal":
        return state != value[0], state
    return state == value[0], value[1]


def naive_text(state: object, f: str, value: object) -> tuple[bool, object]:
    assert isinstance(state, str)
    assert isinstance(value, str)
    match f:
        case "get":
            return state == value, state
        case "put":
            return True, value
        case _:
            return True, state + value


def naive_set(state: object, f: str, value: object) -> tuple[bool, object]:
    assert isinstance(state, frozenset)
    if f == "read":
        assert isinstance(value, list)
        return state == frozenset(value) and len(state) == len(value), state
    return True, state | {value}


def naive_counter(state: object, f: str, value: object) -> tuple[bool, object]:
    assert isinstance(state, int)
    assert isinstance(value, int)
    return (state == value, state) if f == "read" else (True, state + value)


def naive_bank(state: object, f: str, value: object) -> tuple[bool, object]:
    assert isinstance(state, tuple)
    if f == "read":
        return {"a": state[0], "b": state[1]} == value, state
    assert isinstance(value, list)
    moved = value[2] if value[0] == "a" else -value[2]
    return True, (state[0] - moved, state[1] + moved)


def has_order(operations: Sequence[Operation], state: object, step: Naive) -> bool:
    """Every order there is, one after another."""
    must = [each for each in operations if each.ended is not None]
    if not must:
        return True
    first_end = min(each.ended for each in must if each.ended is not None)
    for at, each in enumerate(operations):
        if each.begun <= first_end:
            legal, after = step(state, each.f, each.value)
            if legal and has_order([*operations[:at], *operations[at + 1 :]], after, step):
                return True
    return False


@st.composite
def spans(draw: st.DrawFn, what: st.SearchStrategy[tuple[str, object]]) -> list[Operation]:
    """A few operations at random places, at most three of them unknown."""
    size = draw(st.integers(1, 7))
    asked = draw(st.lists(what, min_size=size, max_size=size))
    places = draw(st.permutations(range(2 * size)))
    lost = draw(st.integers(0, 2**size - 1))
    built: list[Operation] = []
    for at, (f, value) in enumerate(asked):
        begun, ended = sorted(places[2 * at : 2 * at + 2])
        unknown = f not in {"read", "get", "cas-unequal"} and lost >> at & 1
        built.append(op(at, f, value, begun, None if unknown else ended))
    return sorted(built, key=lambda each: each.begun)


small = st.integers(0, 2)
REGISTERS = st.one_of(
    st.tuples(st.just("read"), st.one_of(st.none(), small)),
    st.tuples(st.just("write"), small),
    st.tuples(st.just("cas"), st.lists(small, min_size=2, max_size=2)),
    st.tuples(st.just("cas-unequal"), st.lists(small, min_size=2, max_size=2)),
)
PIECES = st.sampled_from(["a", "b", "c", "ab"])
TEXTS = st.one_of(
    st.tuples(st.just("get"), st.sampled_from(["", "a", "b", "ab", "ba", "abc", "cab", "aa"])),
    st.tuples(st.sampled_from(["put", "append", "append"]), PIECES),
)
SETS = st.one_of(
    st.tuples(st.just("read"), st.lists(small, unique=True)), st.tuples(st.just("add"), small)
)
COUNTERS = st.one_of(
    st.tuples(st.just("read"), st.integers(-1, 3)), st.tuples(st.just("add"), st.integers(-1, 2))
)
BANKS = st.one_of(
    st.tuples(st.just("read"), st.integers(3, 7).map(lambda a: {"a": a, "b": 10 - a})),
    st.tuples(
        st.just("transfer"),
        st.tuples(st.sampled_from([["a", "b"], ["b", "a"]]), st.integers(1, 2)).map(
            lambda pair: [*pair[0], pair[1]]
        ),
    ),
)
