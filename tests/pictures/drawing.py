"""What stands on a terminal, as SVG: one screen, or many that follow each other like a film."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape

import pyte
from pyte.screens import Char

CELL: Final = (8.0, 17.0)
"""Width and height of a letter, in units of the drawing."""
MARGIN: Final = 12.0
TITLE: Final = 24.0
PAPER: Final = "#12161c"
INK: Final = "#d5dae1"
PALETTE: Final[Mapping[str, str]] = {
    "black": "#2b323c",
    "red": "#f2777a",
    "green": "#8fd18a",
    "brown": "#e8c468",
    "blue": "#7aa9e8",
    "magenta": "#cf9be0",
    "cyan": "#6fcad0",
    "white": "#d5dae1",
    "brightblack": "#808a97",
    "brightred": "#ff9a96",
    "brightgreen": "#b0ecab",
    "brightbrown": "#f8dd92",
    "brightyellow": "#f8dd92",
    "brightblue": "#a6c8ff",
    "brightmagenta": "#e6bcf2",
    "brightcyan": "#9ce5ea",
    "brightwhite": "#ffffff",
}
"""The sixteen colours by pyte's names; it names all others by their six digits."""
WORDS: Final = re.compile(r"\S+(?: \S+)*")
FONT: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


@dataclass(frozen=True, slots=True)
class Span:
    """Letters of one look, from a column on."""

    column: int
    text: str
    ink: str
    paper: str | None = None
    bold: bool = False


Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole screen, and when it was there, in seconds."""

    at: float
    lines: tuple[Line, ...]


def frame(screen: pyte.Screen, at: float = 0.0) -> Frame:
    """What the screen shows now."""
    rows = range(screen.lines)
    return Frame(at, tuple(_line(screen, row) for row in rows))


def _line(screen: pyte.Screen, row: int) -> Line:
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    made, column = [], 0
    for look, same in groupby(cells, _look):
        text = "".join(cell.data for cell in same)
        ink, paper, bold = look
        if text.strip() or paper is not None:
            made.append(Span(column, text if paper else text.rstrip(), ink, paper, bold))
        column += len(text)
    return tuple(made)


def _look(cell: Char) -> tuple[str, str | None, bool]:
    ink, paper = _colour(cell.fg) or INK, _colour(cell.bg)
    return (paper or PAPER, ink, cell.bold) if cell.reverse else (ink, paper, cell.bold)


def _colour(name: str) -> str | None:
    return None if name == "default" else PALETTE.get(name, f"#{name}")


def typed(command: str) -> Line:
    """The line by which a screen was asked for."""
    return (Span(0, "$", PALETTE["green"], bold=True), Span(2, command, PALETTE["brightwhite"]))


def picture(lines: Sequence[Line], *, columns: int, title: str) -> str:
    """One screen, without the empty lines at its end."""
    kept = list(lines)
    while kept and not kept[-1]:
        kept.pop()
    body = "".join(
        f'<g transform="translate(0,{_y(row)})">{_drawn(line)}</g>'
        for row, line in enumerate(kept)
        if line
    )
    return _sheet(columns, len(kept), title, body)


def film(frames: Sequence[Frame], *, columns: int, title: str, hold: float = 4.0) -> str:
    """The frames one after the other, for ever; the last one stays for `hold` seconds.

    Each different line is drawn once. Where nothing moves, the last frame is seen.
    """
    known: dict[Line, int] = {}
    width = columns * CELL[0]
    strips = []
    for number, each in enumerate(frames):
        uses = "".join(
            f'<use href="#l{known.setdefault(line, len(known))}" y="{_y(row)}"/>'
            for row, line in enumerate(each.lines)
            if line
        )
        strips.append(f'<g transform="translate({number * width:g},0)">{uses}</g>')
    drawn = "".join(f'<g id="l{number}">{_drawn(line)}</g>' for line, number in known.items())
    rows = max(len(each.lines) for each in frames)
    begin, last = frames[0].at, len(frames) - 1
    whole = frames[-1].at - begin + hold
    steps = "".join(
        f"{100 * (each.at - begin) / whole:.2f}%{{transform:translateX({-number * width:g}px)}}"
        for number, each in enumerate(frames)
    )
    style = (
        f".f{{transform:translateX({-last * width:g}px)}}"
        f".f{{animation:f {whole:.1f}s step-end infinite}}"
        f"@keyframes f{{{steps}}}"
        "@media(prefers-reduced-motion:reduce){.f{animation:none}}"
    )
    size = f'width="{width:g}" height="{rows * CELL[1]:g}"'
    body = f'<defs>{drawn}</defs><svg {size}><g class="f">{"".join(strips)}</g></svg>'
    return _sheet(columns, rows, title, body, style)


def _y(row: int) -> str:
    return f"{row * CELL[1]:g}"


def _drawn(line: Line) -> str:
    return "".join(_paper(span) + _letters(span) for span in line)


def _paper(span: Span) -> str:
    if span.paper is None:
        return ""
    x, width = span.column * CELL[0], len(span.text) * CELL[0]
    return f'<rect x="{x:g}" width="{width:g}" height="{CELL[1]:g}" fill="{span.paper}"/>'


def _letters(span: Span) -> str:
    """Words that one space parts are one text; not all that draw SVG keep several of them."""
    look = "" if span.ink == INK else f' fill="{span.ink}"'
    bold = ' font-weight="bold"' if span.bold else ""
    return "".join(
        f'<text x="{(span.column + found.start()) * CELL[0]:g}" y="13" '
        f'textLength="{len(found[0]) * CELL[0]:g}"{look}{bold}>{escape(found[0])}</text>'
        for found in WORDS.finditer(span.text)
    )


def _sheet(columns: int, rows: int, title: str, body: str, style: str = "") -> str:
    width = columns * CELL[0] + 2 * MARGIN
    height = rows * CELL[1] + 2 * MARGIN + TITLE
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 16 * number:g}" cy="17" r="5" fill="{colour}"/>'
        for number, colour in enumerate((PALETTE["red"], PALETTE["brown"], PALETTE["green"]))
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" '
        f'font-family="{FONT}" font-size="13" fill="{INK}">'
    )
    parts = (
        head,
        f"<title>{escape(title)}</title><style>{style}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>{dots}',
        f'<text x="{width / 2:g}" y="21" text-anchor="middle">{escape(title)}</text>',
        f'<g transform="translate({MARGIN:g},{MARGIN + TITLE:g})">{body}</g></svg>',
    )
    return "\n".join(parts) + "\n"


def plain(lines: Iterable[Line]) -> str:
    """The letters alone."""
    shown = []
    for line in lines:
        text = ""
        for span in line:
            text = text.ljust(span.column) + span.text
        shown.append(text.rstrip())
    return "\n".join(shown).rstrip() + "\n"
