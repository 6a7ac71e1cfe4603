"""How many operations a second the history checkers decide, on keys of a hundred operations.

Run by hand: `.venv/bin/python -m tests.bench.checker_speed [keys]`.
"""

import sys
import time
from collections.abc import Callable

from admin.checker import linear
from admin.checker.verdict import Result
from tests.unit import histories

SIZE = 100
MAKERS: dict[str, tuple[Callable[[], histories.Apply], linear.Model]] = {
    "register, unique values (zones)": (
        lambda: histories.register(values=None, cas=False),
        linear.Register(),
    ),
    "register, 5 values": (lambda: histories.register(values=5, cas=False), linear.Register()),
    "compare-and-set, 5 values": (
        lambda: histories.register(values=5, cas=True),
        linear.Register(),
    ),
    "compare-and-set, unique values": (
        lambda: histories.register(values=None, cas=True),
        linear.Register(),
    ),
    "text with append": (histories.text, linear.Text()),
    "set": (histories.growing_set, linear.GrowingSet()),
    "counter": (histories.counter, linear.Counter()),
    "bank": (histories.bank, linear.Bank(overdraft=True)),
}


def main(keys: int) -> None:
    """Print a line for each kind of object."""
    print(f"{keys} keys of {SIZE} operations, 5 clients, 2 % unknown outcomes")
    for name, (make, model) in MAKERS.items():
        found = list(histories.many_keys(1, keys, SIZE, make))
        begun = time.process_time()
        passed = sum(
            linear.check_key(None, operations, model).result is Result.PASS for operations in found
        )
        seconds = time.process_time() - begun
        assert passed == keys, f"{name}: {passed} of {keys} passed"
        print(f"{name:32} {keys * SIZE / seconds:10,.0f} operations/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
