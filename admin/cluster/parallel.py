"""The same question to many nodes at once, and an end to it when the user does not wait."""

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE_MAX: Final = 31


class _Done(NamedTuple):
    """What came of one of them."""

    place: int
    result: object = None
    error: BaseException | None = None


def each(questions: Sequence[T], ask: Callable[[T], R]) -> list[R]:
    """Return what `ask` returns for each, in their order. Raises what one of them raises.

    Ctrl-C ends it at once: a thread that still waits for a node is left alone, and the process does
    not wait for it either, as it would with an executor of the standard library.
    """
    left: SimpleQueue[tuple[int, T]] = SimpleQueue()
    done: SimpleQueue[_Done] = SimpleQueue()
    for one in enumerate(questions):
        left.put(one)

    def work() -> None:
        while (found := _next(left)) is not None:
            place, question = found
            try:
                done.put(_Done(place, ask(question)))
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                done.put(_Done(place, error=error))

    results: dict[int, R] = {}
    try:
        for _ in range(min(len(questions), AT_ONCE_MAX)):
            threading.Thread(target=work, name="ask a node", daemon=True).start()
        while len(results) < len(questions):
            place, result, error = done.get()
            if error is not None:
                raise error
            results[place] = result  # type: ignore[assignment]  # as `ask` returned it
    finally:
        while _next(left) is not None:
            pass  # nobody waits for an answer to these
    return [results[place] for place in range(len(questions))]


def _next(left: "SimpleQueue[tuple[int, T]]") -> tuple[int, T] | None:
    try:
        return left.get_nowait()
    except Empty:
        return None
