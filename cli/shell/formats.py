"""Values as text: for people (auto, table, vertical, yaml) and machines (json, jsonl, csv, lua)."""

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cli import valid_json
from cli.shell.values import Double, NamedRow, plain
from qsync.units import how_many

ROWS_MAX: Final = 1000
"""How many rows of one value are shown by default."""
CELL_MAX: Final = 60
"""Letters of one cell of a table."""
MEASURED_MAX: Final = 200
"""How many rows determine the widths of columns."""


class OutputFormat(StrEnum):
    """How results are shown."""

    AUTO = "auto"
    TABLE = "table"
    VERTICAL = "vertical"
    YAML = "yaml"
    JSON = "json"
    JSONL = "jsonl"
    LUA = "lua"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """`people`: a terminal, where a tree may have many lines; else one value is one line."""

    format: OutputFormat = OutputFormat.AUTO
    people: bool = False
    rows_max: int = ROWS_MAX
    width: int = 100


def render(values: Sequence[object], look: OutputStyle) -> Iterator[str]:
    """The lines of a chunk's results."""
    for at, value in enumerate(values):
        if at and look.format in {OutputFormat.YAML, OutputFormat.VERTICAL}:
            yield "---"
        yield from _RENDERERS[look.format](value, look)


def one_line(value: object) -> str:
    """Return a value as `print` shows it: text bare, anything else as Lua would write it."""
    if isinstance(value, str):
        return value
    return "nil" if value is None else _lua(value)


# -- forms


def _auto(value: object, look: OutputStyle) -> Iterator[str]:
    if not look.people:
        yield value if isinstance(value, str) else _json(value)
    elif _rows(value):
        yield from _table(value, look)
    elif isinstance(value, Mapping | list) and value:
        yield from _yaml(value, look)
    else:
        yield value if isinstance(value, str) else _json(value)


def _table(value: object, look: OutputStyle) -> Iterator[str]:
    found = _tabular(value)
    if found is None:
        yield from _auto(value, look)
        return
    names, rows = found
    shown = rows[: look.rows_max]
    cells = [[_cell(each) for each in row] + [""] * (len(names) - len(row)) for row in shown]
    numbers = [
        all(_is_number(row[at]) for row in shown if at < len(row)) for at in range(len(names))
    ]
    widths = [
        max([_width(name), *(_width(row[at]) for row in cells[:MEASURED_MAX])])
        for at, name in enumerate(names)
    ]
    yield _line(names, widths, [False] * len(names))
    yield "  ".join("-" * width for width in widths)
    for row in cells:
        yield _line(row, widths, numbers)
    yield _counted(len(rows), len(shown))


def _vertical(value: object, look: OutputStyle) -> Iterator[str]:
    found = _tabular(value)
    if found is None:
        yield from _auto(value, look)
        return
    names, rows = found
    width = max((_width(name) for name in names), default=0)
    for number, row in enumerate(rows[: look.rows_max], start=1):
        yield f"-[ row {number} ]" + "-" * max(0, width - 4)
        for name, each in zip(names, row, strict=False):
            yield f"{_pad(name, width)} | {each if isinstance(each, str) else _json(each)}"
    yield _counted(len(rows), min(len(rows), look.rows_max))


def _yaml(value: object, look: OutputStyle) -> Iterator[str]:
    from cli.shell.blocks import dumped  # noqa: PLC0415 - yaml is slow to import

    whole = _rounded(plain(value)) if look.people else plain(value)
    shown = whole[: look.rows_max] if isinstance(whole, list) and look.people else whole
    yield from dumped(shown, look.width)
    if isinstance(whole, list) and isinstance(shown, list) and len(shown) < len(whole):
        yield _counted(len(whole), len(shown))


def _as_json(value: object, _look: OutputStyle) -> Iterator[str]:
    yield _json(value)


def _jsonl(value: object, _look: OutputStyle) -> Iterator[str]:
    items = value if isinstance(value, list) and (_rows(value) or not value) else [value]
    for each in items:
        names = each.names if isinstance(each, NamedRow) else ()
        if isinstance(each, NamedRow) and names:
            yield _json(_named(each))
        else:
            yield _json(each)


def _csv(value: object, _look: OutputStyle) -> Iterator[str]:
    found = _tabular(value)
    names, rows = found if found is not None else (["value"], [[value]])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if each is None else _cell(each, cut=False) for each in row])
    yield from out.getvalue().rstrip("\n").split("\n")


def _as_lua(value: object, _look: OutputStyle) -> Iterator[str]:
    yield _lua(value)


_RENDERERS: Final[Mapping[OutputFormat, Callable[[object, OutputStyle], Iterator[str]]]] = {
    OutputFormat.AUTO: _auto,
    OutputFormat.TABLE: _table,
    OutputFormat.VERTICAL: _vertical,
    OutputFormat.YAML: _yaml,
    OutputFormat.JSON: _as_json,
    OutputFormat.JSONL: _jsonl,
    OutputFormat.LUA: _as_lua,
    OutputFormat.CSV: _csv,
}


# -- parts


def _rounded(value: object) -> object:
    """Numbers as people read them."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case list():
            return [_rounded(each) for each in value]
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
        case _:
            return value


def _rows(value: object) -> bool:
    """Return whether it is a tuple, or a list of them."""
    return isinstance(value, NamedRow) or (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, NamedRow) for each in value)
    )


def _tabular(value: object) -> tuple[list[str], list[list[object]]] | None:
    """Columns and rows, of tuples or of maps; None if it is not a table."""
    items = value if isinstance(value, list) else [value]
    if items and all(isinstance(each, NamedRow) for each in items):
        rows = [each for each in items if isinstance(each, NamedRow)]
        count = max(len(each.fields) for each in rows)
        names = list(rows[0].names[:count])
        names += [str(at) for at in range(len(names) + 1, count + 1)]
        return names, [each.fields for each in rows]
    if items and all(isinstance(each, Mapping) for each in items):
        maps = [each for each in items if isinstance(each, Mapping)]
        keys = list(dict.fromkeys(key for each in maps for key in each))
        return [str(key) for key in keys], [[each.get(key) for key in keys] for each in maps]
    return None


def _named(row: NamedRow) -> dict[str, object]:
    rest = range(len(row.names) + 1, len(row.fields) + 1)
    return dict(zip((*row.names, *map(str, rest)), row.fields, strict=False))


def _json(value: object) -> str:
    return valid_json.dumps(plain_json(value), _odd)


def plain_json(value: object) -> object:
    """Without wrappers, and with maps whose keys are valid in JSON."""
    return _keyed(plain(value))


def _keyed(value: object) -> object:
    match value:
        case dict():
            return {str(key): _keyed(each) for key, each in value.items()}
        case list():
            return [_keyed(each) for each in value]
        case _:
            return value


def _odd(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _lua(value: object) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case Double(number):
            return repr(number)
        case int() | float():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bytes():
            return '"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
        case NamedRow(fields, _):
            return _lua(fields)
        case list():
            return "{" + ", ".join(_lua(each) for each in value) + "}"
        case dict():
            return "{" + ", ".join(f"{_key(k)} = {_lua(each)}" for k, each in value.items()) + "}"
        case _:
            return json.dumps(str(value))


def _key(key: object) -> str:
    if isinstance(key, str) and key.isidentifier() and key.isascii():
        return key
    return f"[{_lua(key)}]"


def _cell(value: object, *, cut: bool = True) -> str:
    text = value if isinstance(value, str) else _json(value)
    text = text.replace("\n", "\\n") if cut else text
    return text[: CELL_MAX - 1] + "…" if cut and len(text) > CELL_MAX else text


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [_pad(c, w, right=r) for c, w, r in zip(cells, widths, right, strict=True)]
    return "  ".join(parts).rstrip()


def _pad(text: str, width: int, *, right: bool = False) -> str:
    room = " " * max(0, width - _width(text))
    return room + text if right else text + room


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | None) and not isinstance(value, bool)


def _counted(count: int, shown: int) -> str:
    rows = f"({how_many(count, 'row')}"
    return rows + (f"; {shown} shown, \\set rows {count} shows all)" if shown < count else ")")
