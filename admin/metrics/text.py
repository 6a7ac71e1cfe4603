"""The exposition format of Prometheus, version 0.0.4."""

from collections.abc import Iterable, Iterator

from admin.metrics.families import FAMILIES, Family, Labels, MetricType
from qsync.histogram import BOUNDS, Spread
from qsync.status.record import NodeStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKET_STEP = 3
"""Every third bucket is shown: two a decade are enough for an alert, and a third of the series."""


def expose(nodes: Iterable[NodeStatus]) -> str:
    """All metrics of these nodes; each value bears the labels `cluster` and `node`."""
    lines: list[str] = []
    found = list(nodes)
    for family in FAMILIES:
        lines += (f"# HELP {family.name} {family.about}", f"# TYPE {family.name} {family.kind}")
        for node in found:
            lines += _lines(family, node)
    return "\n".join(lines) + "\n"


def _lines(family: Family, node: NodeStatus) -> Iterator[str]:
    own = {"cluster": node.cluster.name, "node": node.name}
    if family.kind is MetricType.HISTOGRAM:
        yield from _buckets(family.name, own, family.spread(node))
        return
    for labels, value in family.points(node):
        yield sample(family.name, {**own, **labels}, value)


def sample(name: str, labels: Labels, value: float) -> str:
    """One line."""
    return f"{name}{_labels(labels)} {_number(value)}"


def _buckets(name: str, own: Labels, spread: Spread) -> Iterator[str]:
    seen = 0
    counts = iter(spread.counts)
    for at, bound in enumerate(BOUNDS):
        seen += next(counts, 0)
        if at % BUCKET_STEP == 0:
            yield f"{name}_bucket{_labels({**own, 'le': _number(bound)})} {seen}"
    yield f"{name}_bucket{_labels({**own, 'le': '+Inf'})} {spread.count}"
    yield f"{name}_sum{_labels(own)} {_number(spread.seconds)}"
    yield f"{name}_count{_labels(own)} {spread.count}"


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
