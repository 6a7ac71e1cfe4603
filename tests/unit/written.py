"""Histories as other projects write them: the way back from operations to files."""

import json
from collections.abc import Iterator, Sequence

from admin.checker.operation import CompletionType, Operation

Line = tuple[int, str, Operation]
"""A place, a type, and whose line it is."""


def lines(operations: Sequence[Operation]) -> Iterator[tuple[str, Operation]]:
    """Invocations and answers in order. Of unknown ones every other gets an `info`, at the end."""
    found: list[Line] = []
    last = 1 + max(max(each.begun, each.ended or 0) for each in operations)
    for at, each in enumerate(operations):
        found.append((each.begun, "invoke", each))
        if each.ended is not None:
            found.append((each.ended, "fail" if each.kind is CompletionType.FAIL else "ok", each))
        elif at % 2:
            found.append((last + at, "info", each))
    for _, kind, each in sorted(found, key=lambda line: line[0]):
        yield kind, each


def edn(value: object) -> str:
    """A value in Clojure's notation."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value)
        case list() | tuple():
            return "[" + " ".join(edn(each) for each in value) + "]"
        case dict():
            return "{" + ", ".join(f"{edn(k)} {edn(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)


def jepsen_maps(operations: Sequence[Operation], *, vector: bool) -> str:
    """Jepsen's maps, in a vector or one a line, with somebody who breaks things between them."""
    maps = ["{:type :info, :process :nemesis, :f :kill, :value nil}"]
    for index, (kind, each) in enumerate(lines(operations)):
        shown = shown_at(kind, each)
        maps.append(
            f"{{:index {index}, :type :{kind}, :process {each.process}, "
            f":f :{each.f}, :value {edn(shown)}}}"
        )
    return "[" + "\n ".join(maps) + "]\n" if vector else "\n".join(maps) + "\n"


def jepsen_keyed(operations: Sequence[Operation]) -> str:
    """Jepsen's maps with values of `[key value]`."""
    return "\n".join(
        f"{{:process {each.process} :type :{kind} :f :{each.f} "
        f":value {edn([each.key, shown_at(kind, each)])}}}"
        for kind, each in lines(operations)
    )


def jepsen_log(operations: Sequence[Operation]) -> str:
    """What Jepsen prints while it runs. Only there a `cas` says that it compared unequal."""
    text = ["INFO  jepsen.core - Running test"]
    for kind, each in lines(operations):
        value = ":timed-out" if kind == "info" else edn(shown_at(kind, each))
        told = f":{kind}\t:{each.f}\t{value}"
        if each.f == "cas-unequal":
            told = f":{'invoke' if kind == 'invoke' else 'fail'}\t:cas\t{edn(each.value)}"
        text.append(f"INFO  jepsen.util - {each.process}\t{told}")
    return "\n".join(text) + "\n"


def store_log(operations: Sequence[Operation]) -> str:
    """Porcupine's log of a store of texts."""
    text: list[str] = []
    for kind, each in lines(operations):
        if kind == "info":
            continue
        value = edn(shown_at(kind, each))
        text.append(
            f"{{:process {each.process}, :type :{kind}, :f :{each.f}, "
            f':key "{each.key}", :value {value}}}'
        )
    return "\n".join(text) + "\n"


def our_lines(operations: Sequence[Operation]) -> str:
    """Our own JSON lines."""
    return "".join(
        json.dumps(
            {
                "index": index,
                "time": 1000 * index,
                "process": each.process,
                "type": kind,
                "f": each.f,
                "key": each.key,
                "value": shown_at(kind, each),
                "node": "n1",
            }
        )
        + "\n"
        for index, (kind, each) in enumerate(lines(operations))
    )


def shown_at(kind: str, operation: Operation) -> object:
    """A read does not know its value when it begins, nor when it fails."""
    if operation.f in {"read", "get"} and kind != "ok":
        return None
    if operation.f == "txn" and kind != "ok":
        assert isinstance(operation.value, list)
        return [[f, key, value if f == "append" else None] for f, key, value in operation.value]
    return operation.value
