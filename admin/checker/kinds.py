"""The kind of object of a history, by its operations or by its name."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from admin.checker.linear.bank import Bank
from admin.checker.linear.models import Counter, GrowingSet, Model, Register, Sentinel
from admin.checker.linear.texts import Text
from admin.checker.operation import Frozen, Operation, by_key, freeze
from admin.checker.readers.detect import HistoryFormat
from admin.checker.readers.edn import parse


class ObjectKind(StrEnum):
    """Kinds of objects that can be checked."""

    REGISTER = "register"
    CAS_REGISTER = "cas-register"
    TEXT = "kv"
    SET = "set"
    COUNTER = "counter"
    BANK = "bank"
    LIST_APPEND = "list-append"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What is known of a history before it is read. None: detected from its content."""

    format: HistoryFormat | None = None
    kind: ObjectKind | None = None
    initial: object = None


_FS: dict[ObjectKind, frozenset[str]] = {
    ObjectKind.LIST_APPEND: frozenset({"txn", "append", "read", "r"}),
    ObjectKind.TEXT: frozenset({"get", "put", "append"}),
    ObjectKind.BANK: frozenset({"transfer", "read"}),
    ObjectKind.REGISTER: frozenset({"read", "write", "cas", "cas-unequal"}),
}
_WORDS: dict[str, ObjectKind] = {
    "list-append": ObjectKind.LIST_APPEND,
    "get/put/append": ObjectKind.TEXT,
    "cas-register": ObjectKind.CAS_REGISTER,
    "cas register": ObjectKind.CAS_REGISTER,
    "register": ObjectKind.REGISTER,
    "counter": ObjectKind.COUNTER,
    "bank": ObjectKind.BANK,
    "set": ObjectKind.SET,
}
_FORMAT_WORDS: dict[str, HistoryFormat] = {
    "text log": HistoryFormat.JEPSEN_TEXT,
    "jepsen edn": HistoryFormat.JEPSEN_EDN,
    "json": HistoryFormat.OURS,
    "get/put/append": HistoryFormat.PORCUPINE_KV,
}
"""The first given one counts: the operations of a text store may be in any format."""


def hints(text: str) -> Hints:
    """From the exact name of a format or kind, or from words such as a published list has."""
    lower = text.strip().lower()
    for name in HistoryFormat:
        if lower == name.value:
            return Hints(format=name)
    initial = re.search(r"\binitial\s+([^\s,;]+)", text)
    return Hints(
        format=next((known for words, known in _FORMAT_WORDS.items() if words in lower), None),
        kind=next((kind for words, kind in _WORDS.items() if _has(lower, words)), None),
        initial=parse(initial[1])[0] if initial else None,
    )


def is_list_append(operations: Iterable[Operation]) -> bool:
    """Transactions of appends and reads, or single ones of them."""
    fs = {each.f for each in operations}
    singles = {"append"} < fs <= _FS[ObjectKind.LIST_APPEND]
    return "txn" in fs or singles


def kind_of(operations: Iterable[Operation], beside: Collection[str] = ()) -> ObjectKind | None:
    """The kind of one object, or None if no kind has such operations.

    `beside`: the operations that the history has on any object. If the object was only read, these
    give the possible kinds, and its answers decide between them.
    """
    known = list(operations)
    fs = {each.f for each in known}
    looks = [each.value for each in known if each.f == "read" and each.value is not None]
    if fs <= _FS[ObjectKind.TEXT]:
        return ObjectKind.TEXT
    if "transfer" in fs or any(isinstance(value, dict) for value in looks):
        return ObjectKind.BANK if fs <= _FS[ObjectKind.BANK] else None
    if "add" in fs:
        numbers = all(isinstance(each.value, int) for each in known if each.f == "add")
        counts = numbers and all(isinstance(value, int) for value in looks)
        kind = ObjectKind.COUNTER if counts else ObjectKind.SET
        return kind if fs <= {"add", "read"} else None
    if fs == {"read"} and "add" in beside:
        if any(isinstance(value, list) for value in looks):
            return ObjectKind.SET
        others = _FS[ObjectKind.REGISTER].intersection(beside) - {"read"}
        if looks and all(type(value) is int and not (value and others) for value in looks):
            return ObjectKind.COUNTER
    if fs <= _FS[ObjectKind.REGISTER]:
        return ObjectKind.CAS_REGISTER if fs & {"cas", "cas-unequal"} else ObjectKind.REGISTER
    return None


def kinds_of(operations: Iterable[Operation]) -> dict[Frozen, ObjectKind | None]:
    """The kind of each key."""
    known = list(operations)
    fs = {each.f for each in known}
    return {key: kind_of(found, fs) for key, found in by_key(known).items()}


def model_of(kind: ObjectKind, initial: object = None) -> Model:
    """The sequential specification of a kind, if it has one."""
    match kind:
        case ObjectKind.REGISTER | ObjectKind.CAS_REGISTER:
            return Register(freeze(initial))
        case ObjectKind.TEXT:
            return Text(initial if isinstance(initial, str) else "")
        case ObjectKind.SET:
            first = initial if isinstance(initial, list | tuple) else ()
            return GrowingSet(tuple(freeze(each) for each in first))
        case ObjectKind.COUNTER:
            return Counter(initial if isinstance(initial, int) else 0)
        case ObjectKind.BANK:
            return Bank(Sentinel.ANY if initial is None else freeze(initial), overdraft=True)
        case ObjectKind.LIST_APPEND:
            raise ValueError("transactions are judged by their dependencies, not one by one")


def _has(text: str, words: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", text) is not None
