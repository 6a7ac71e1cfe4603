"""Whatever nodes say, every call of a client ends in time, and what it says of a write is true."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsync.wire.frames import frame
from tests.examples import scaled
from tests.fuzz import hostile
from tests.fuzz.any_node import Company

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
