"""Sets of seeds written as ranges: `1-400,402`."""

from collections.abc import Iterable, Iterator


def parse(text: str) -> list[range]:
    """Parse the ranges of a text, in its order. Raises ValueError with the reason."""
    return [_range(part) for part in text.split(",")] if text else []


def show(seeds: Iterable[int]) -> str:
    """Return the text of a set of seeds."""
    return ",".join(
        f"{each[0]}-{each[-1]}" if len(each) > 1 else f"{each[0]}" for each in _runs(seeds)
    )


def _range(part: str) -> range:
    first, dash, last = part.strip().partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise ValueError(f"{part!r} is neither a number nor a range A-B")
    until = int(last) if dash else int(first)
    if until < int(first):
        raise ValueError(f"{part!r} ends before it begins")
    return range(int(first), until + 1)


def _runs(seeds: Iterable[int]) -> Iterator[range]:
    first = last = None
    for seed in sorted(set(seeds)):
        if first is None or last is None:
            first = seed
        elif seed != last + 1:
            yield range(first, last + 1)
            first = seed
        last = seed
    if first is not None and last is not None:
        yield range(first, last + 1)
