"""Asks many nodes the same question at once; Ctrl-C ends it without waiting for answers."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE_MAX: Final = 31


def each(questions: Sequence[T], ask: Callable[[T], R]) -> list[R]:
    """Return what `ask` returns for each, in their order. Raises what one of them raises.

    Ctrl-C ends it at once: a thread that still waits for a node is left alone, and the process does
    not wait for it either, as it would with an executor of the standard library.
    """
    answers: list[Future[R]] = [Future() for _ in questions]
    left = deque(zip(answers, questions, strict=True))

    def work() -> None:
        while True:
            try:
                answer, question = left.popleft()
            except IndexError:
                return
            try:
                answer.set_result(ask(question))
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                answer.set_exception(error)

    try:
        for _ in range(min(len(questions), AT_ONCE_MAX)):
            threading.Thread(target=work, name="ask a node", daemon=True).start()
        return [answer.result() for answer in answers]
    finally:
        left.clear()  # nobody waits for an answer to these
