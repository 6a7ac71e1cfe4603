"""As much of PromQL as our alert rules use, over two scrapes a few minutes apart."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import promql_parser as promql
from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Value = Vector | float
_NAME = "__name__"


@dataclass(frozen=True)
class Scrape:
    """All series of one moment, by their labels with the name among them."""

    time: float
    series: Mapping[Labels, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, text: str, *, time: float, more: Iterable[tuple[str, dict[str, str], float]] = ()
    ) -> "Scrape":
        found: dict[Labels, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found[frozenset({**sample.labels, _NAME: sample.name}.items())] = sample.value
        for name, labels, value in more:
            found[frozenset({**labels, _NAME: name}.items())] = value
        return cls(time, found)

    def select(self, selector: promql.VectorSelector) -> Vector:
        wanted = {(each.name, each.value) for each in selector.matchers.matchers}
        if selector.name:
            wanted.add((_NAME, selector.name))
        return {labels: value for labels, value in self.series.items() if wanted <= labels}


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_COUNT: dict[str, Callable[[float, float], float]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "-": operator.sub,
    "+": operator.add,
    "%": operator.mod,
}
_AGGREGATE: dict[str, Callable[[list[float]], float]] = {"max": max, "min": min, "sum": sum}


@dataclass(frozen=True)
class Evaluator:
    """Evaluates one expression now, knowing one earlier scrape."""

    before: Scrape
    now: Scrape

    def firing(self, text: str) -> list[dict[str, str]]:
        """The labels of everything for which an alert's expression holds."""
        found = self.value(promql.parse(text))
        assert isinstance(found, dict)
        return [dict(labels) for labels in found]

    def value(self, node: promql.Expr) -> Value:
        match node:
            case promql.NumberLiteral():
                return float(node.val)
            case promql.ParenExpr():
                return self.value(node.expr)
            case promql.VectorSelector():
                return self.now.select(node)
            case promql.AggregateExpr():
                return self._aggregate(node)
            case promql.BinaryExpr():
                return self._binary(str(node.op), self.value(node.lhs), self.value(node.rhs))
            case promql.Call():
                return self._call(node.func.name, list(node.args))
            case _:
                raise NotImplementedError(type(node))

    def _aggregate(self, node: promql.AggregateExpr) -> Vector:
        inside = self.value(node.expr)
        assert isinstance(inside, dict)
        by = set(node.modifier.labels) if node.modifier is not None else set()
        groups: dict[Labels, list[float]] = {}
        for labels, value in inside.items():
            kept = frozenset(pair for pair in labels if pair[0] in by)
            groups.setdefault(kept, []).append(value)
        combine = _AGGREGATE[str(node.op)]
        return {labels: combine(values) for labels, values in groups.items()}

    def _binary(self, op: str, left: Value, right: Value) -> Value:
        if isinstance(left, float) and isinstance(right, float):
            return _COUNT[op](left, right)
        if isinstance(left, float):
            assert op in _COUNT
            assert isinstance(right, dict)
            return {_bare(labels): _COUNT[op](left, value) for labels, value in right.items()}
        theirs = right if isinstance(right, float) else {_bare(k): v for k, v in right.items()}
        found: Vector = {}
        for labels, value in left.items():
            bare = _bare(labels)
            other = theirs if isinstance(theirs, float) else theirs.get(bare)
            if other is not None and op in _COUNT:
                found[bare] = _COUNT[op](value, other)
            elif op == "or" or (other is not None and _holds(op, value, other)):
                found[labels] = value
        if op == "or":
            assert isinstance(right, dict)
            return right | found
        return found

    def _call(self, name: str, args: list[promql.Expr]) -> Value:
        if name in {"increase", "rate"}:
            (matrix,) = args
            assert isinstance(matrix, promql.MatrixSelector)
            return self._growth(matrix.vector_selector, per_second=name == "rate")
        if name == "time":
            return self.now.time
        values = [self.value(arg) for arg in args]
        if name == "histogram_quantile":
            return _quantile(*values)
        (inside,) = values
        assert isinstance(inside, dict)
        if name == "abs":
            return {_bare(labels): abs(value) for labels, value in inside.items()}
        assert name == "timestamp"
        return {_bare(labels): self.now.time for labels in inside}

    def _growth(self, selector: promql.VectorSelector, *, per_second: bool) -> Vector:
        before = self.before.select(selector)
        seconds = self.now.time - self.before.time if per_second else 1.0
        return {
            _bare(labels): (value - before[labels] if value >= before[labels] else value) / seconds
            for labels, value in self.now.select(selector).items()
            if labels in before
        }


def _holds(op: str, value: float, other: float) -> bool:
    return op == "and" or _COMPARE[op](value, other)


def _bare(labels: Labels) -> Labels:
    return frozenset(pair for pair in labels if pair[0] != _NAME)


def _quantile(share: Value, buckets: Value) -> Vector:
    assert isinstance(share, float)
    assert isinstance(buckets, dict)
    groups: dict[Labels, list[tuple[float, float]]] = {}
    for labels, value in buckets.items():
        rest = frozenset(pair for pair in labels if pair[0] != "le")
        groups.setdefault(rest, []).append((float(dict(labels)["le"]), value))
    found: Vector = {}
    for labels, pairs in groups.items():
        pairs.sort()
        wanted, low, seen = share * pairs[-1][1], 0.0, 0.0
        for bound, count in pairs:
            if pairs[-1][1] and count >= wanted:
                inner = (wanted - seen) / (count - seen) if count > seen else 0.0
                found[labels] = low + (bound - low) * inner if bound < float("inf") else low
                break
            low, seen = bound, count
    return found
