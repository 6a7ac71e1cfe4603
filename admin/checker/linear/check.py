"""The verdict on a history, key by key: by the zone test if it applies, else by search."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from admin.checker.clip import clip
from admin.checker.linear import sets, zones
from admin.checker.linear.bank import Bank
from admin.checker.linear.explain import explain
from admin.checker.linear.models import (
    Atom,
    Counter,
    GrowingSet,
    Model,
    Register,
    Sentinel,
    look_atoms,
)
from admin.checker.linear.search import STEPS_MAX, LinearSearch, SearchConclusion, search
from admin.checker.linear.texts import Text
from admin.checker.operation import Frozen, Operation, by_key, freeze, happened
from admin.checker.verdict import Result, Verdict, Violation, conclude, merge

LINEARIZABLE = "linearizable"

NO_ORDER = "no order of these operations explains the answers"


def check(
    operations: Iterable[Operation],
    model_of: Callable[[Frozen], Model | None] = lambda _key: Register(),
    *,
    steps_max: int = STEPS_MAX,
) -> Verdict:
    """Check every key of a history; keys without a model are skipped."""
    verdicts: list[Verdict] = []
    for key, found in by_key(happened(operations)).items():
        model = model_of(key)
        if model is not None:
            verdicts.append(check_key(key, found, model, steps_max=steps_max))
    return merge(LINEARIZABLE, verdicts)


def check_key(
    key: Frozen, operations: Sequence[Operation], model: Model, *, steps_max: int = STEPS_MAX
) -> Verdict:
    """The verdict on one object. The operations took effect or may have taken effect."""
    if isinstance(model, Register) and zones.applies(operations, freeze(model.initial)):
        return _by_zones(key, operations, model, steps_max)
    if isinstance(model, GrowingSet) and sets.applies(operations, model.initial):
        return _by_order(key, operations, model, steps_max)
    found = search(operations, model, steps_max=steps_max)
    facts = len(operations)
    match found.found:
        case SearchConclusion.ORDER:
            return conclude(LINEARIZABLE, facts=facts, violations=(), steps=found.steps)
        case SearchConclusion.GAVE_UP:
            note = f"key {clip(key)}: undecided after {found.steps} steps"
            return Verdict(
                invariant=LINEARIZABLE,
                result=Result.UNKNOWN,
                facts=facts,
                steps=found.steps,
                note=note,
            )
        case SearchConclusion.NO_ORDER:
            odd = model.unwritten(operations) if isinstance(model, Register) else None
            if odd is None:
                violation = _explained(key, NO_ORDER, operations, model, found)
            else:
                alone, value = search([odd[0]], model, steps_max=steps_max), clip(odd[1])
                violation = _explained(key, f"nobody wrote {value}", [odd[0]], model, alone)
            return conclude(LINEARIZABLE, facts=facts, violations=(violation,), steps=found.steps)


def check_register(
    operations: Iterable[Operation], *, initial: object = None, steps_max: int = STEPS_MAX
) -> Verdict:
    """`write` and `read` on many keys."""
    return check(operations, lambda _key: Register(freeze(initial)), steps_max=steps_max)


def check_cas_register(
    operations: Iterable[Operation], *, initial: object = None, steps_max: int = STEPS_MAX
) -> Verdict:
    """`write`, `read` and `cas` on many keys."""
    return check_register(operations, initial=initial, steps_max=steps_max)


def check_kv(
    operations: Iterable[Operation], *, initial: str = "", steps_max: int = STEPS_MAX
) -> Verdict:
    """`put`, `append` and `get` of texts on many keys."""
    return check(operations, lambda _key: Text(initial), steps_max=steps_max)


def check_set(
    operations: Iterable[Operation],
    *,
    initial: Iterable[object] = (),
    steps_max: int = STEPS_MAX,
) -> Verdict:
    """`add` of elements and `read` of all of them, on many keys."""
    first = tuple(freeze(each) for each in initial)
    return check(operations, lambda _key: GrowingSet(first), steps_max=steps_max)


def check_counter(
    operations: Iterable[Operation], *, initial: int = 0, steps_max: int = STEPS_MAX
) -> Verdict:
    """`add` of numbers and `read` of their sum, on many keys."""
    return check(operations, lambda _key: Counter(initial), steps_max=steps_max)


def check_bank(
    operations: Iterable[Operation],
    *,
    opening: Mapping[str, int] | None = None,
    overdraft: bool = True,
    steps_max: int = STEPS_MAX,
) -> Verdict:
    """`transfer` and `read` of all balances; one object for all accounts."""
    bank = (
        Bank(Sentinel.ANY, overdraft) if opening is None else Bank.of(opening, overdraft=overdraft)
    )
    return check(operations, lambda _key: bank, steps_max=steps_max)


def _by_zones(
    key: Frozen, operations: Sequence[Operation], model: Register, steps_max: int
) -> Verdict:
    found = zones.clash(operations, freeze(model.initial))
    if found is None:
        return conclude(LINEARIZABLE, facts=len(operations), violations=())
    proof = search(found.witness, model, steps_max=steps_max)
    violation = _explained(key, found.message, found.witness, model, proof)
    return conclude(LINEARIZABLE, facts=len(operations), violations=(violation,))


def _by_order(
    key: Frozen, operations: Sequence[Operation], model: GrowingSet, steps_max: int
) -> Verdict:
    found = sets.torn(operations, model.initial)
    if found is None:
        return conclude(LINEARIZABLE, facts=len(operations), violations=())
    kept = {("element", element) for element in found.elements}
    few = model.without(operations, frozenset(model.atoms(operations)) - kept - _looks(operations))
    violation = _explained(
        key, found.message, few, model, search(few, model, steps_max=steps_max), whole=operations
    )
    return conclude(LINEARIZABLE, facts=len(operations), violations=(violation,))


def _explained(
    key: Frozen,
    message: str,
    operations: Sequence[Operation],
    model: Model,
    found: LinearSearch,
    *,
    whole: Sequence[Operation] = (),
) -> Violation:
    """A violation with its short proof; `whole` has the full operations if these were reduced."""
    assert found.found is not SearchConclusion.ORDER, operations
    why = explain(operations, model, found)
    values = {each.number: each.value for each in whole or operations}
    if any(values[each.number] != each.value for each in why.witness):
        message += "; they are shown as far as they concern what is left"
    return Violation(
        invariant=LINEARIZABLE,
        message=message,
        key=key,
        witness=why.witness,
        stuck=why.stuck,
        opening=why.opening,
    )


def _looks(operations: Sequence[Operation]) -> frozenset[Atom]:
    return frozenset(look_atoms(operations))
