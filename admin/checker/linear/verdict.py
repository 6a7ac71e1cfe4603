"""The verdict on a whole history, key by key, with the few operations that prove a fault."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from admin.checker.linear.models import Model, Operation, Register
from admin.checker.linear.search import STEPS_MAX, Found, search
from admin.history import Line, Type

SHRINK_TRIES_MAX = 400
"""How many smaller histories are tried for an explanation."""


class Linearity(StrEnum):
    """`unknown`: the search reached its limit, or there was nothing to check."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyVerdict:
    """One key. `witness`: on failure a small sub-history that has no order either, by time."""

    key: object
    verdict: Linearity
    operations: int
    steps: int
    witness: tuple[Operation, ...] = ()
    stuck: int | None = None

    def describe(self) -> list[str]:
        """The witness in words, a line for each operation."""
        mark = "   <- no order explains this"
        return [f"key {self.key!r}: {self.verdict}"] + [
            f"  {describe(each)}{mark if each.number == self.stuck else ''}"
            for each in self.witness
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All keys. Nothing to check is not a pass."""

    keys: tuple[KeyVerdict, ...]

    @property
    def verdict(self) -> Linearity:
        """Fails if any key does; unknown if any is, or nothing was examined."""
        verdicts = {each.verdict for each in self.keys}
        if Linearity.FAIL in verdicts:
            return Linearity.FAIL
        if self.facts == 0 or Linearity.UNKNOWN in verdicts:
            return Linearity.UNKNOWN
        return Linearity.PASS

    @property
    def facts(self) -> int:
        """How many operations were examined."""
        return sum(each.operations for each in self.keys)

    @property
    def failures(self) -> tuple[KeyVerdict, ...]:
        """The keys that failed."""
        return tuple(each for each in self.keys if each.verdict is Linearity.FAIL)


def check(
    lines: Iterable[Line],
    model_of: Callable[[object], Model | None] = lambda _key: Register(),
    *,
    steps_max: int = STEPS_MAX,
) -> Report:
    """Check every key of a history; keys for which there is no model are passed over."""
    verdicts: list[KeyVerdict] = []
    for key, found in operations(lines).items():
        model = model_of(key)
        if model is not None and found:
            verdicts.append(check_key(key, found, model, steps_max=steps_max))
    return Report(keys=tuple(verdicts))


def check_key(
    key: object, found: Sequence[Operation], model: Model, *, steps_max: int = STEPS_MAX
) -> KeyVerdict:
    """The verdict on one key."""
    result = search(found, model, steps_max=steps_max)
    verdict = _VERDICTS[result.found]
    witness: tuple[Operation, ...] = ()
    if verdict is Linearity.FAIL:
        assert result.stuck is not None
        witness = tuple(_shrink(_until(found, result.stuck), model))
    return KeyVerdict(
        key=key,
        verdict=verdict,
        operations=len(found),
        steps=result.steps,
        witness=witness,
        stuck=result.stuck,
    )


def operations(lines: Iterable[Line]) -> Mapping[object, list[Operation]]:
    """Pair beginnings and ends, key by key. What definitely failed did not happen and is left out.

    Raises ValueError when a process begins something before its last operation ended.
    """
    keys: dict[object, list[Operation]] = {}
    open_lines: dict[int, Line] = {}
    for line in lines:
        if line.type is Type.INVOKE:
            if line.process in open_lines:
                raise ValueError(f"process {line.process} begins twice, at line {line.index}")
            open_lines[line.process] = line
            continue
        begun = open_lines.pop(line.process, None)
        if begun is None:
            raise ValueError(f"process {line.process} ends what it never began, {line.index}")
        if line.type is Type.OK:
            value = line.value if begun.f == "read" else begun.value
            _add(keys, begun, value, line.index)
        elif line.type is Type.INFO and begun.f != "read":
            _add(keys, begun, begun.value, None)
    for begun in open_lines.values():
        if begun.f != "read":
            _add(keys, begun, begun.value, None)
    return keys


def describe(operation: Operation) -> str:
    """One operation in one line."""
    end = "?" if operation.ended is None else operation.ended
    value = operation.value
    return f"[{operation.begun}..{end}] process {operation.process} {operation.f} {value!r}"


_VERDICTS = {
    Found.ORDER: Linearity.PASS,
    Found.NO_ORDER: Linearity.FAIL,
    Found.GAVE_UP: Linearity.UNKNOWN,
}


def _add(
    keys: dict[object, list[Operation]], begun: Line, value: object, ended: int | None
) -> None:
    # A JSON key may be a list; the text of it tells two of them apart as well.
    key = begun.key if isinstance(begun.key, str | int | None) else repr(begun.key)
    keys.setdefault(key, []).append(
        Operation(
            number=begun.index,
            process=begun.process,
            f=begun.f,
            value=value,
            begun=begun.index,
            ended=ended,
        )
    )


def _until(found: Sequence[Operation], stuck: int) -> list[Operation]:
    """Cut the history at the end of `stuck`: what ended later may have happened or not."""
    end = next(each.ended for each in found if each.number == stuck)
    assert end is not None
    kept: list[Operation] = []
    for each in found:
        if each.begun > end:
            continue
        if each.ended is not None and each.ended <= end:
            kept.append(each)
        elif each.f != "read":
            kept.append(replace(each, ended=None))
    return kept


def _shrink(failing: list[Operation], model: Model) -> list[Operation]:
    """Leave out groups, large handfuls first, as long as the rest still has no order."""
    tries, handful = 0, max(1, len(model.groups(failing)) // 2)
    while True:
        groups = model.groups(failing)
        smaller = None
        for at in range(0, len(groups), handful):
            if tries >= SHRINK_TRIES_MAX:
                return failing
            tries += 1
            gone = {number for group in groups[at : at + handful] for number in group}
            rest = [each for each in failing if each.number not in gone]
            if search(rest, model).found is Found.NO_ORDER:
                smaller = rest
                break
        if smaller is not None:
            failing = smaller
        elif handful > 1:
            handful = max(1, handful // 2)
        else:
            return failing
