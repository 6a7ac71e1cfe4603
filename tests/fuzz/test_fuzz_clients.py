"""Whatever nodes say, every call of a client ends in time, and what it says of a write is true."""

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from qsync.client.aio import AsyncClient
from qsync.errors import QsyncError
from qsync.wire.frames import frame
from qsync.wire.verbs import Request
from tests.examples import scaled
from tests.fuzz import hostile
from tests.fuzz.any_node import Company
from tests.node.memory_nodes import in_memory

LONG = 20_000
STEPS = ["ask", "ask", *["write"] * 3, "resolve", "time", "garbage", "hang up"]
DRAWN = st.lists(st.sampled_from([*STEPS, *["shake"] * 3, *["reply"] * 9]), min_size=5, max_size=40)
GARBAGE = st.one_of(
    st.binary(max_size=8),
    hostile.VALUES.map(hostile.dumps).map(frame),
    hostile.BOMBS.map(frame),
)


def step(company: Company, what: str, data: st.DataObject) -> None:
    links = sorted(company.doors)
    link = data.draw(st.sampled_from(links)) if links else 0
    match what:
        case "ask":
            company.ask()
        case "write":
            company.write()
        case "resolve":
            company.resolve()
        case "time":
            company.pass_time(data.draw(st.sampled_from([0.01, 0.3, 1.5, 4.0])))
        case "shake" if link:
            company.shake_hands(link)
        case "reply" if link:
            company.reply(link)
        case "garbage" if link:
            company.say(link, data.draw(GARBAGE))
        case "hang up" if link:
            company.hang_up(link)
        case _:
            company.pass_time(0.01)


def live(data: st.DataObject) -> None:
    company = Company(data, direct=data.draw(st.booleans()))
    for what in data.draw(DRAWN):
        step(company, what, data)
        company.play()
        assert list(company.judge()) == []
    if data.draw(st.booleans()):
        company.pass_time(20.0)
    else:
        company.core.close(company.now)
        company.play()
        assert company.doors == {}
    assert list(company.judge()) == []
    assert company.asks == []


@given(st.data())
@settings(max_examples=scaled(200))
def test_whatever_nodes_say_calls_end_in_time_and_tell_the_truth(data: st.DataObject) -> None:
    live(data)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@given(st.data())
@settings(max_examples=LONG)
def test_the_same_many_times(data: st.DataObject) -> None:
    live(data)


async def follow(db: AsyncClient) -> None:
    feed = db.watch("s", after=0)
    for _ in range(3):
        await anext(feed)


async def listen(db: AsyncClient) -> None:
    values = db.watch_key("box.status")
    for _ in range(3):
        await anext(values)


async def commit(db: AsyncClient) -> None:
    async with db.transaction() as tx:
        await tx.space("s").get(1)
        tx.space("s").replace([1])


PROGRAMS: dict[str, Callable[[AsyncClient], Awaitable[object]]] = {
    "put": lambda db: db.space("s").replace([1]),
    "many": lambda db: db.space("s").replace_many([[1], [2], [3]]),
    "get": lambda db: db.space("s").get(1),
    "count": lambda db: db.space("s").count(),
    "status": lambda db: db.status(),
    "next value": lambda db: db.schema.next_value("q"),
    "info": lambda db: db.info("id"),
    "consumers": lambda db: db.consumers.list(),
    "register": lambda db: db.consumers.register("c"),
    "users": lambda db: db.users.list(),
    "promote": lambda db: db.promote(timeout=1.0),
    "commit": commit,
    "follow": follow,
    "listen": listen,
}
SAID = st.one_of(st.sampled_from(["good", "nothing", "end"]), GARBAGE, hostile.VALUES)


@given(st.lists(st.sampled_from(sorted(PROGRAMS)), min_size=1, max_size=6), st.data())
@settings(max_examples=scaled(60))
def test_whatever_a_node_says_a_program_meets_errors_of_the_library_only(
    names: list[str], data: st.DataObject
) -> None:
    async def program() -> None:
        async with in_memory(timeout=3.0) as (node, db):
            honest = node.answer

            def answer(request: Request) -> bytes | None:
                match said := data.draw(SAID):
                    case "good":
                        return honest(request)
                    case "nothing" | "end":
                        return b"" if said == "nothing" else None
                    case bytes():
                        return said
                    case _:
                        return frame(hostile.dumps([request.id, 0, said]))

            for name in names:
                begun, node.answer = trio.current_time(), answer
                try:
                    await PROGRAMS[name](db)
                except QsyncError:
                    pass
                assert trio.current_time() - begun <= 15.0  # five calls of three seconds
            node.answer = honest  # it was started again, so its connections have ended
            for stream in node.streams:
                await stream.aclose()
            await db.space("s").replace([9])

    trio.run(program, clock=trio.testing.MockClock(autojump_threshold=0))
