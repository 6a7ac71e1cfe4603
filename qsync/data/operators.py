"""Update operations on the fields of a tuple: `= + - & | ^ # ! :`, applied one after another."""

from collections.abc import Callable, Sequence

from qsync.data import keys
from qsync.data.schema import SpaceDefinition, known_names
from qsync.errors import WrongOperation

FIELDS_MAX = 1 << 16
"""A tuple cannot be made to have more fields than this."""
OPERATORS_MAX = 4000
"""In one update. Each may copy a long text, and all other requests wait for it."""


def update(space: SpaceDefinition, fields: Sequence[object], ops: object) -> list[object]:
    """The fields after `ops`, each `[operator, field, argument...]`.

    A field is a number from 1 (from the end if negative) or a name.
    """
    if not isinstance(ops, list | tuple):
        raise WrongOperation("update operations come as an array")
    if len(ops) > OPERATORS_MAX:
        raise WrongOperation(
            f"an update has at most {OPERATORS_MAX} operations, not {len(ops)}",
            hint="replace the row, or update it in several steps",
        )
    after = list(fields)
    for op in ops:
        if not isinstance(op, list | tuple) or len(op) < 3 or not _is_operator(op[0]):
            raise WrongOperation(f"{op!r} is not an update operation [operator, field, argument]")
        operator, ref, *arguments = op
        count, apply = _OPERATORS[operator]
        if len(arguments) != count:
            raise WrongOperation(f'operator "{operator}" takes {count} argument(s)')
        at = _place(space, after, ref)
        apply(operator, after, at, arguments)
        if len(after) > FIELDS_MAX:
            raise WrongOperation(f"a tuple has at most {FIELDS_MAX} fields")
    return after


def _is_operator(word: object) -> bool:
    return isinstance(word, str) and word in _OPERATORS


def _place(space: SpaceDefinition, fields: Sequence[object], ref: object) -> int:
    """Return the field of an operation, from 0. It may be beyond the end: `_reach` decides."""
    if isinstance(ref, str):
        at = space.field_number(ref)
        if at is None:
            names = [each.name for each in space.fields]
            raise WrongOperation(
                f'space "{space.name}" has no field "{ref}"', hint=known_names(ref, names)
            )
    elif isinstance(ref, int) and not isinstance(ref, bool) and ref != 0:
        at = ref - 1 if ref > 0 else len(fields) + ref
        if at < 0:
            raise WrongOperation(f"there is no field {ref}")
    else:
        raise WrongOperation(f"{ref!r} is not a field: fields are numbered from 1, or named")
    # Fields of the format that the tuple does not have yet count as nil.
    if at > len(fields) and at < len(space.fields) and isinstance(fields, list):
        fields.extend([None] * (at - len(fields)))
    return at


def _reach(fields: Sequence[object], at: int) -> object:
    if at < len(fields):
        return fields[at]
    raise WrongOperation(f"the tuple has no field {at + 1}")


def _assign(_operator: str, fields: list[object], at: int, arguments: Sequence[object]) -> None:
    if at == len(fields):
        fields.append(arguments[0])
        return
    _reach(fields, at)
    fields[at] = arguments[0]


def _insert(_operator: str, fields: list[object], at: int, arguments: Sequence[object]) -> None:
    if at > len(fields):
        _reach(fields, at)
    fields.insert(at, arguments[0])


def _remove(_operator: str, fields: list[object], at: int, arguments: Sequence[object]) -> None:
    count = arguments[0]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise WrongOperation("# takes the number of fields to delete")
    _reach(fields, at)
    del fields[at : at + count]


def _calculate(operator: str, fields: list[object], at: int, arguments: Sequence[object]) -> None:
    held, given = _reach(fields, at), arguments[0]
    for value in (held, given):
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise WrongOperation(
                f'"{operator}" on field {at + 1} needs numbers, not {keys.describe(value)}'
            )
    assert isinstance(held, int | float)
    assert isinstance(given, int | float)
    try:
        result = held + given if operator == "+" else held - given
    except OverflowError as error:
        raise WrongOperation(f"field {at + 1} would overflow") from error
    if isinstance(result, int) and not keys.INTEGER_MIN <= result <= keys.INTEGER_MAX:
        raise WrongOperation(f"field {at + 1} would overflow 64 bits")
    fields[at] = result


def _mix(operator: str, fields: list[object], at: int, arguments: Sequence[object]) -> None:
    held, given = _reach(fields, at), arguments[0]
    for value in (held, given):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise WrongOperation(f'"{operator}" on field {at + 1} needs unsigned integers')
    assert isinstance(held, int)
    assert isinstance(given, int)
    match operator:
        case "&":
            fields[at] = held & given
        case "|":
            fields[at] = held | given
        case _:
            fields[at] = held ^ given


def _splice(_operator: str, fields: list[object], at: int, arguments: Sequence[object]) -> None:
    """`[":", field, start from 1, characters to cut, text to put there]`."""
    held = _reach(fields, at)
    start, cut, new = arguments
    if not (
        (isinstance(held, str) and isinstance(new, str))
        or (isinstance(held, bytes) and isinstance(new, bytes))
    ):
        raise WrongOperation(f'":" on field {at + 1} needs text in the field and as argument')
    if not isinstance(start, int) or not isinstance(cut, int) or start == 0:
        raise WrongOperation('":" takes a start from 1, a count and a text')
    first = start - 1 if start > 0 else len(held) + start + 1
    if not 0 <= first <= len(held):
        raise WrongOperation(f'":" on field {at + 1} starts outside of the text')
    last = first + cut if cut >= 0 else max(first, len(held) + cut)
    fields[at] = held[:first] + new + held[last:]  # type: ignore[operator]  # both text or both bytes


_Apply = Callable[[str, list[object], int, Sequence[object]], None]
_OPERATORS: dict[object, tuple[int, _Apply]] = {
    "=": (1, _assign),
    "!": (1, _insert),
    "#": (1, _remove),
    ":": (3, _splice),
    **dict.fromkeys("+-", (1, _calculate)),
    **dict.fromkeys("&|^", (1, _mix)),
}
