"""What Ctrl-C does while a command must not be interrupted in the midst of something."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from admin.lab.processes import interrupts
from cli.ending import interrupted_politely

Handler = signal.Handlers | Callable[..., object]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    formers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, former in formers.items():
        signal.signal(each, former)


def test_ctrl_c_is_a_call_each_time_and_raises_as_before_behind_the_block() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    calls: list[int] = []
    with interrupts(lambda: calls.append(1)):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    assert calls == [1, 1]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls: list[int] = []
    with interrupts(lambda: calls.append(1)):
        os.kill(os.getpid(), signal.SIGINT)
    assert calls == []


@pytest.mark.parametrize("of_ctrl_c", [signal.SIG_IGN, signal.default_int_handler])
def test_sigterm_that_would_interrupt_a_command_is_such_a_call(of_ctrl_c: Handler) -> None:
    """Ctrl-C is ignored in the background of a script, and SIGTERM raised in Trio's own code."""
    signal.signal(signal.SIGINT, of_ctrl_c)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    calls: list[int] = []
    with interrupted_politely():
        with interrupts(lambda: calls.append(1)):
            signal.raise_signal(signal.SIGTERM)
        assert calls == [1]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
