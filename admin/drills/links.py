"""Which directed links a step means."""

from collections.abc import Collection, Sequence

from admin.links.rules import DirectedLink


def across(
    names: Sequence[str], inside: Collection[str], outside: Collection[str], way: str
) -> list[DirectedLink]:
    """Between two groups, or between one and everybody else; `way` as seen from `inside`.

    Both directed links are meant by `both`. A link carries the answers on its connections, too, so
    that one cut link makes one node unable to reach the other, and not the other way round.
    """
    others = outside or [name for name in names if name not in inside]
    out = [DirectedLink(here, there) for here in inside for there in others if here != there]
    back = [DirectedLink(there, here) for here in inside for there in others if here != there]
    both = dict.fromkeys(out + back)  # each once, also where the groups overlap
    return {"out": out, "in": back, "both": list(both)}[way]


def ring(names: Sequence[str]) -> list[DirectedLink]:
    """What has to be cut so that everybody reaches only neighbours; of three, two are apart."""
    size = len(names)
    if size == 3:  # noqa: PLR2004 - in a ring of three all are neighbours
        return _pairs([(names[0], names[1])])
    return _pairs(
        [
            (one, two)
            for at, one in enumerate(names)
            for to, two in enumerate(names)
            if at < to and min(to - at, size - to + at) > 1
        ]
    )


def bridge(names: Sequence[str], middle: str) -> list[DirectedLink]:
    """What has to be cut so that two halves reach each other only by way of one node."""
    rest = [name for name in names if name != middle]
    half = len(rest) // 2
    return _pairs([(one, two) for one in rest[:half] for two in rest[half:]])


def _pairs(pairs: list[tuple[str, str]]) -> list[DirectedLink]:
    return [link for one, two in pairs for link in (DirectedLink(one, two), DirectedLink(two, one))]
