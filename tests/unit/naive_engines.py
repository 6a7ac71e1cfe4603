"""Small databases, correct and broken ones, and random histories of their clients."""

from dataclasses import dataclass, field
from random import Random

from admin.checker.operation import CompletionType, Operation

ENGINES = ("serial", "snapshot", "last-writer", "committed", "uncommitted", "stale")
"""How transactions see one another; a serial one is never wrong, a stale one forgets the newest."""

SPOILED = ("", "", "cut", "swapped", "later", "mixed")
"""What is done to answers afterwards."""

GIVEN_UP = 0.15
FAILED = 0.1


Lists = dict[str, list[int]]


@dataclass
class _Run:
    """One transaction on its way: what is left to do, what it has read and appended."""

    at: int
    todo: list[tuple[str, str]]
    seen: Lists = field(default_factory=dict)
    steps: list[list[object]] = field(default_factory=list)
    own: Lists = field(default_factory=dict)
    begun: int = -1
    kind: CompletionType = CompletionType.OK
    ended: int | None = None
    free: int = 0


def history(random: Random, *, size: int = 5, keys: str = "xy", first: int = 0) -> list[Operation]:
    """Transactions of some engine; the last one mostly reads everything.

    `first` is the number of the first process and of the first value.
    """
    runs = [_Run(at, _plan(random, keys)) for at in range(random.randint(2, size))]
    lists: Lists = {key: [] for key in keys}
    _execute(random, runs, lists, random.choice(ENGINES), first)
    if random.random() < 0.9:
        last = _Run(len(runs), [], begun=1000, ended=1001, free=1001)
        last.steps = [["r", key, list(lists[key])] for key in keys]
        runs.append(last)
    _spoil(random, runs, lists, random.choice(SPOILED))
    return _operations(random, runs, first)


def _plan(random: Random, keys: str) -> list[tuple[str, str]]:
    size = random.choice((1, 2, 2, 3))
    return [(random.choice(("append", "r")), random.choice(keys)) for _ in range(size)]


def _execute(random: Random, runs: list[_Run], lists: Lists, engine: str, first: int) -> None:
    """Run them step by step, in turns unless the engine is serial."""
    past: list[Lists] = []
    place, value, waiting = 0, first, list(runs)
    while waiting:
        run = waiting[0] if engine == "serial" else random.choice(waiting)
        while run in waiting:
            place += 1
            if run.begun < 0:
                run.begun = place
                base = random.choice(past) if engine == "stale" and past else lists
                run.seen = {key: list(values) for key, values in base.items()}
            elif run.todo:
                value += run.todo[0][0] == "append"
                _step(run, value, lists, engine)
            else:
                _end(random, run, place, lists, engine)
                past.append({key: list(values) for key, values in lists.items()})
                waiting.remove(run)
            if engine != "serial":
                break


def _step(run: _Run, value: int, lists: Lists, engine: str) -> None:
    f, key = run.todo.pop(0)
    if f == "append":
        run.own.setdefault(key, []).append(value)
        run.steps.append(["append", key, value])
        if engine == "uncommitted":
            lists[key].append(value)
    elif engine == "uncommitted":
        run.steps.append(["r", key, list(lists[key])])
    else:
        base = lists if engine == "committed" else run.seen
        run.steps.append(["r", key, [*base[key], *run.own.get(key, [])]])


def _end(random: Random, run: _Run, place: int, lists: Lists, engine: str) -> None:
    """Commit or not, and tell the client or not."""
    chance = random.random()
    lost = engine == "snapshot" and any(lists[key] != run.seen[key] for key in run.own)
    run.kind = CompletionType.FAIL if lost or chance < FAILED else CompletionType.OK
    if engine != "uncommitted" and run.kind is CompletionType.OK:
        for key, values in run.own.items():
            lists[key] += values
    elif engine == "uncommitted" and run.kind is CompletionType.FAIL:
        for key, values in run.own.items():
            lists[key] = [each for each in lists[key] if each not in values]
    run.ended = run.free = place
    if chance > 1 - GIVEN_UP:
        # The client gave up at some time before, and may have gone on to something else.
        run.kind, run.ended = CompletionType.INFO, None
        run.free = random.randint(run.begun, place)


def _spoil(random: Random, runs: list[_Run], lists: Lists, how: str) -> None:
    reads = [step for run in runs for step in run.steps if step[0] == "r"]
    some = random.randint(1, 2)
    for step in random.sample(reads, min(some, len(reads))) if how else ():
        whole = lists[str(step[1])]
        match random.choice(("cut", "swapped", "later")) if how == "mixed" else how:
            case "cut":
                step[2] = whole[: random.randint(0, len(whole))]
            case "swapped":
                assert isinstance(step[2], list)
                random.shuffle(step[2])
            case _:
                step[2] = list(whole)


def _operations(random: Random, runs: list[_Run], first: int) -> list[Operation]:
    """With processes that do one thing after another, as far as they were told."""
    busy: list[int] = []
    found: list[Operation] = []
    for run in sorted(runs, key=lambda each: each.begun):
        idle = [process for process, until in enumerate(busy) if until < run.begun]
        if run.begun >= 1000 or not idle or random.random() < 0.3:
            idle = [len(busy)]
            busy.append(0)
        process = random.choice(idle)
        busy[process] = run.free
        found.append(
            Operation(
                number=len(found),
                process=first + process,
                f="txn",
                value=run.steps,
                begun=run.begun,
                ended=run.ended,
                kind=run.kind,
            )
        )
    return found
