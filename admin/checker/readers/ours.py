"""Our own `history.jsonl`: a JSON object a line, in Jepsen's vocabulary."""

from admin.checker.operation import Operation, operations
from admin.workload.history import parse


def read(text: str) -> list[Operation]:
    """The operations of a history. Raises ValueError with the first invalid line."""
    return operations(parse(text.splitlines()))
