"""A violation as a section of a page: the message, and the rows or operations that prove it."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from admin.checker.clip import clip
from admin.checker.exhibit import EvidenceRow
from admin.checker.operation import FOREVER, NOBODY, Operation
from admin.checker.report.places import PlacedViolation
from admin.checker.verdict import Violation
from admin.html import page
from admin.html.timeline import LEFT, ROW, TimeScale, svg

STYLE = """
.op { fill: var(--good); opacity: .85; } .op.unknown { opacity: .35; } .op.stuck { fill: var(--bad);
  opacity: 1; } .opword { fill: var(--ink); } section.witness { border-top: 1px solid var(--soft); }
section.witness:target { background: var(--faint); } code.odd { color: var(--bad); }
.rows td { padding-right: 1.1rem; }
"""
DRAWN_MAX = 60
"""With more operations than this only the list is shown, without a drawing."""
ROWS_OPEN_MAX = 20
"""The rest of a longer list is collapsed."""
_LETTER = 6.4
_NAMES = frozenset({"node", "generation", "life", "index", "lsn", "sample", "number", "time_mono"})
"""Columns that identify a row: a difference in them is not highlighted."""


def section(place: int, placed: PlacedViolation, *, anchor: str, title: str) -> Iterable[str]:
    """With its own anchor, for links."""
    found = placed.violation
    when = "" if placed.at is None else f' <span class="muted small">{placed.at:.2f} s</span>'
    yield f'<section class="witness" id="{anchor}-{place}">'
    yield f"<h3>{place}. {escape(found.invariant)}{when}</h3>"
    yield f'<p class="muted small">Promised: {escape(title)}.</p>'
    yield f"<p>{escape(found.message_of_key)}</p>"
    if found.opening:
        yield f'<p class="muted">Before: {escape(found.opening)}</p>'
    if found.witness:
        yield from _operations(found)
    for table in dict.fromkeys(each.table for each in found.rows):
        yield _rows(table, [each for each in found.rows if each.table == table])
    yield "</section>"


def _rows(table: str, rows: Sequence[EvidenceRow]) -> str:
    names = list(dict.fromkeys(name for each in rows for name in each.row))
    odd = {name for name in names if len({str(each.row.get(name)) for each in rows}) > 1} - _NAMES
    cells = [[_cell(each.row.get(name), odd=name in odd) for name in names] for each in rows]
    heads = [escape(name) for name in names]
    shown = page.table(heads, cells)
    return f'<div class="rows small"><p class="muted">{escape(table)}</p>{shown}</div>'


def _cell(value: object, *, odd: bool) -> str:
    """Values that are not the same in all rows are highlighted."""
    kind = ' class="odd"' if odd else ""
    return "" if value is None else f"<code{kind}>{escape(str(value))}</code>"


def _operations(found: Violation) -> Iterable[str]:
    if len(found.witness) <= DRAWN_MAX:
        yield _drawing(found)
    names = list(found.names) or [""] * len(found.witness)
    rows = []
    for name, each in zip(names, found.witness, strict=True):
        stuck = '<span class="bad">no order explains this</span>'
        mark = stuck if each.number == found.stuck else ""
        rows.append((escape(name), _who(each), _did(each), f"{each.begun}", _until(each), mark))
    heads = ("", "who", "what", "from", "to", "")
    yield page.table(heads, rows[:ROWS_OPEN_MAX])
    if len(rows) > ROWS_OPEN_MAX:
        words = f"{len(rows) - ROWS_OPEN_MAX} more operations"
        yield page.folded(words, page.table(heads, rows[ROWS_OPEN_MAX:]))


def _drawing(found: Violation) -> str:
    """One row per process (or transaction without one); history positions from left to right."""
    names = list(found.names) or [""] * len(found.witness)
    rows: dict[str, list[Operation]] = {}
    for name, each in zip(names, found.witness, strict=True):
        rows.setdefault(_who(each) or name, []).append(each)
    ends = [each.ended for each in found.witness if each.ended and each.ended < FOREVER]
    places = sorted({*(each.begun for each in found.witness), *ends})
    at = {place: float(rank) for rank, place in enumerate(places)}
    scale = TimeScale(len(places) + 0.5)
    parts = []
    for row, (name, mine) in enumerate(rows.items()):
        parts.append(f'<text x="0" y="{row * 2 * ROW + 30:.1f}">{escape(name)}</text>')
        mine.sort(key=lambda each: each.begun)
        lefts = [scale.x(at[each.begun]) for each in mine]
        for each, right in zip(mine, [*lefts[1:], scale.right + LEFT], strict=True):
            known = each.ended is not None and each.ended in at
            ended = at[each.ended] if known and each.ended is not None else scale.length
            bar = _Bar(row, at[each.begun], ended, right)
            parts += _op(each, scale, bar, stuck=each.number == found.stuck)
    return svg(max(1, len(rows)) * 2 * ROW + 8, "the operations that prove it", parts)


class _Bar(NamedTuple):
    """The bar of an operation; its text ends where the next bar of the row begins."""

    row: int
    begun: float
    ended: float
    words_end: float


def _op(each: Operation, scale: TimeScale, bar: _Bar, *, stuck: bool) -> Iterable[str]:
    left = scale.x(bar.begun)
    right = max(scale.x(bar.ended), left + 4)
    kinds = "op" + (" stuck" if stuck else "") + ("" if each.ended is not None else " unknown")
    top = bar.row * 2 * ROW
    yield (
        f'<rect class="{kinds}" x="{left:.1f}" y="{top + 20:.1f}" height="12" rx="2" '
        f'width="{right - left:.1f}"><title>{_who(each)}: {_did(each)}</title></rect>'
    )
    room = max(4, int((bar.words_end - left) / _LETTER))
    whole = _plain(each)
    short = escape(whole if len(whole) <= room else f"{whole[: room - 1]}\u2026")
    yield f'<text class="opword" x="{left:.1f}" y="{top + 15:.1f}">{short}</text>'


def _who(each: Operation) -> str:
    return "" if each.process == NOBODY else f"process {each.process}"


def _plain(each: Operation) -> str:
    failed = " (failed)" if each.kind.value == "fail" else ""
    return f"{each.f} {clip(each.value)}{failed}"


def _did(each: Operation) -> str:
    return escape(_plain(each))


def _until(each: Operation) -> str:
    if each.ended is None:
        return "?"
    return "it did happen" if each.ended >= FOREVER else f"{each.ended}"
