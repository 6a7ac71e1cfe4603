"""How many make a quorum, as a formula over N, and how far a quorum has come."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

from election.messages import VOTERS_MAX, Index, Replica

EXPRESSION_CHARS_MAX = 200


class QuorumError(ValueError):
    """The expression cannot be used as a quorum; the text says why."""


def majority(voters: int) -> int:
    """The smallest number such that any two groups of it have a member in common."""
    return voters // 2 + 1


def reached(indexes: Iterable[Index], quorum: int) -> Index:
    """The largest index that at least `quorum` of these reach; 0 if there are fewer of them."""
    ordered = sorted(indexes, reverse=True)
    return ordered[quorum - 1] if 1 <= quorum <= len(ordered) else Index(0)


@dataclass(frozen=True, slots=True)
class Quorum:
    """A quorum for every size of the replica set: `Quorum("N / 2 + 1").of(5) == 3`.

    Checked for all sizes when made. Below a majority it is refused, unless `unsafe`: two such
    quorums may have no member in common, and then what one confirmed the other does not know.
    A plain number is meant for the set as it is, so `of` lifts it to a majority of a larger one.
    """

    expression: str
    unsafe: bool = False
    sizes: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tree = _read(self.expression)
        sizes = tuple(_size(tree, self.expression, voters) for voters in range(1, VOTERS_MAX + 1))
        fixed = not any(isinstance(node, ast.Name) and node.id == "N" for node in ast.walk(tree))
        for voters, size in enumerate(sizes, start=1):
            if size < majority(voters) and not self.unsafe and not fixed:
                raise QuorumError(
                    f"quorum {self.expression!r} is {size} of {voters} voters, below the majority"
                    f" {majority(voters)}: confirmed transactions could be lost"
                )
        object.__setattr__(self, "sizes", sizes)

    def of(self, voters: int) -> int:
        """The quorum for a number of voters."""
        assert 1 <= voters <= VOTERS_MAX
        size = self.sizes[voters - 1]
        return size if self.unsafe else max(size, majority(voters))

    def misfit(self, voters: int) -> str | None:
        """Why it must not be set for this number of voters; completes "the quorum Q ..."."""
        asked = self.sizes[voters - 1]
        if asked > voters:
            return f"asks {asked} of {voters} voters: nothing could ever be confirmed"
        return self.shortfall(voters)

    def shortfall(self, voters: int) -> str | None:
        """Why it would not count as it is: it is below the majority, so that counts instead."""
        asked, least = self.sizes[voters - 1], majority(voters)
        if asked < least and not self.unsafe:
            return f"is {asked} of {voters} voters, below the majority {least}"
        return None

    def is_unsafe_for(self, voters: int) -> bool:
        """Is it below a majority? Every status must say so."""
        return self.of(voters) < majority(voters)

    def __str__(self) -> str:
        return self.expression


def parse(expression: str | int, *, unsafe: bool = False) -> Quorum:
    """A quorum from the configuration: a number or arithmetic over N."""
    return Quorum(str(expression), unsafe)


def describe(indexes: Mapping[Replica, Index], quorum: int) -> str:
    """A chart of how far each has come, and the line up to which a quorum has."""
    border = reached(indexes.values(), quorum)
    lines = [f"quorum {quorum} of {len(indexes)} reaches {border}"]
    top = max(indexes.values(), default=Index(0))
    for replica, index in sorted(indexes.items()):
        bar = "#" * (index * _BAR_CHARS // top if top else 0)
        mark = "*" if index >= border and border else " "
        lines.append(f"{replica:>2} {mark} {bar:<{_BAR_CHARS}} {index}")
    return "\n".join(lines)


_BAR_CHARS = 20
_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "min": min,
    "max": max,
    "floor": lambda args: Fraction(floor(_only(args))),
    "ceil": lambda args: Fraction(ceil(_only(args))),
    "abs": lambda args: abs(_only(args)),
}


def _read(expression: str) -> ast.expr:
    if len(expression) > EXPRESSION_CHARS_MAX:
        raise QuorumError(f"a quorum expression has at most {EXPRESSION_CHARS_MAX} characters")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise QuorumError(f"quorum {expression!r} is not arithmetic over N") from error


def _size(tree: ast.expr, expression: str, voters: int) -> int:
    try:
        size = floor(_evaluate(tree, Fraction(voters)))
    except ZeroDivisionError as error:
        raise QuorumError(f"quorum {expression!r} divides by zero{_where(tree, voters)}") from error
    if 1 <= size <= VOTERS_MAX:
        return size
    raise QuorumError(f"quorum {expression!r} is out of 1..{VOTERS_MAX}{_where(tree, voters)}")


def _where(tree: ast.expr, voters: int) -> str:
    """For which of the numbers of voters that are tried; nothing if it is the same for all."""
    if any(isinstance(node, ast.Name) and node.id == "N" for node in ast.walk(tree)):
        return f" for N = {voters}, and must hold for every number of voters up to {VOTERS_MAX}"
    return ""


def _evaluate(node: ast.expr, voters: Fraction) -> Fraction:
    """Exact, and closed: what is not listed here does not exist."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _number(value)
        case ast.Name(id="N"):
            return voters
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_evaluate(left, voters), _evaluate(right, voters))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, voters)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if (
            name in _FUNCTIONS and args
        ):
            return _FUNCTIONS[name]([_evaluate(arg, voters) for arg in args])
        case _:
            raise QuorumError(f"quorum: {ast.unparse(node)!r} is not arithmetic over N")


def _number(value: float) -> Fraction:
    text = repr(value)
    if text in ("inf", "nan"):
        raise QuorumError("quorum: a number is too large")
    return Fraction(text)


def _only(args: list[Fraction]) -> Fraction:
    if len(args) == 1:
        return args[0]
    raise QuorumError("quorum: floor, ceil and abs take one argument")
