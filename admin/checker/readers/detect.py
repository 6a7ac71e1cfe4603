"""Detects the format of a history by its content, and reads its operations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from admin.checker.operation import Operation
from admin.checker.readers import jepsen_edn, jepsen_text, ours, porcupine_kv
from admin.checker.readers.edn import EdnError

HEAD = 64 * 1024
"""How many characters are enough to detect the format."""


class HistoryFormat(StrEnum):
    """Formats of histories that can be read."""

    OURS = "history"
    JEPSEN_EDN = "jepsen-edn"
    JEPSEN_TEXT = "jepsen-text"
    PORCUPINE_KV = "porcupine-kv"


FORMATS: dict[HistoryFormat, Callable[[str], list[Operation]]] = {
    HistoryFormat.OURS: ours.read,
    HistoryFormat.JEPSEN_EDN: jepsen_edn.read,
    HistoryFormat.JEPSEN_TEXT: jepsen_text.read,
    HistoryFormat.PORCUPINE_KV: porcupine_kv.read,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedHistory:
    """The content of a file."""

    format: HistoryFormat
    operations: Sequence[Operation]


def read(text: str, format: HistoryFormat | None = None) -> DetectedHistory:
    """Read a history; without a format it is detected. Raises ValueError."""
    known = recognised(text) if format is None else format
    try:
        return DetectedHistory(format=known, operations=FORMATS[known](text))
    except EdnError as error:
        raise ValueError(f"this is no {known}: {error}") from error


def recognised(text: str) -> HistoryFormat:
    """The format of a text. Raises ValueError if it is unknown."""
    head = text[:HEAD]
    first = next(
        (line for each in head.splitlines() if (line := each.strip()) and line[0] != ";"), ""
    )
    if jepsen_text.LINE.search(head):
        return HistoryFormat.JEPSEN_TEXT
    if first.startswith("{") and first[1:].lstrip().startswith('"'):
        return HistoryFormat.OURS
    if first.startswith(("{", "[", "(", "#")):
        texts = ":key" in head and (":f :get" in head or ":f :append" in head or ":f :put" in head)
        return HistoryFormat.PORCUPINE_KV if texts else HistoryFormat.JEPSEN_EDN
    raise ValueError(
        "this is not a history: expected JSON lines, Jepsen's EDN, its printed log, or Porcupine's "
        "logs of get, put and append"
    )
