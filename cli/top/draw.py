"""Lines of text in fixed widths: rules, columns, bars, sparks. Cheap enough for four a second."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

GOOD, UNEASY, BAD, DIM, HEAD = "cyan", "yellow", "bold red", "dim", "bold"
"""No pair of red and green. Whatever a colour says, a sign or a word says too."""
Lines = list[Text]
Part = str | tuple[str, str]
"""Text, or text with a style."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters that pictures are made of."""

    rule: str
    divide: str
    sparks: str


UNICODE = Signs(rule="─", divide="│", sparks=" ▁▂▃▄▅▆▇█")
ASCII = Signs(rule="-", divide="|", sparks=" .:-=+*#@")


def line(*parts: Part) -> Text:
    """One line from texts and (text, style) pairs."""
    return Text.assemble(*parts, no_wrap=True)


def fit(text: Text, width: int) -> Text:
    """Exactly so wide: cut with an ellipsis, or filled up."""
    text.truncate(max(width, 0), overflow="ellipsis", pad=True)
    return text


def fitting(width: int, *parts: Part) -> Text:
    """One line of the parts that have room, in their order; no word of it is cut."""
    made = Text(no_wrap=True)
    for each in parts:
        more = line(each)
        if made and len(made) + len(more.plain.rstrip()) > width:
            break
        made.append_text(more)
    return fit(made, width)


def rule(title: str, width: int, signs: Signs) -> Text:
    """A line with a title in it."""
    head = f"{signs.rule}{signs.rule} {title} "
    return line((head + signs.rule * max(0, width - len(head)), DIM))


def block(lines: Lines, width: int, height: int) -> Lines:
    """Exactly this many lines of exactly this width."""
    shown = [fit(each, width) for each in lines[: max(height, 0)]]
    return shown + [line(" " * width) for _ in range(height - len(shown))]


def beside(blocks: Sequence[Lines], signs: Signs) -> Lines:
    """Blocks of the same height, side by side."""
    made: Lines = []
    for row in zip(*blocks, strict=True):
        whole = row[0].copy()
        for each in row[1:]:
            whole.append(f" {signs.divide} ", DIM)
            whole.append_text(each)
        made.append(whole)
    return made


def wrapped(text: str, width: int, height: int, style: str = "") -> Lines:
    """Text in at most this many lines; the last one is cut."""
    rows: list[str] = []
    row = ""
    for word in text.split():
        if row and len(row) + 1 + len(word) > width:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}" if row else word
    rows.append(row)
    if len(rows) > height:
        rows = [*rows[: height - 1], " ".join(rows[height - 1 :])]
    return [fit(line((each, style)), width) for each in rows[:height]]


def bar(share: float, width: int) -> str:
    """`[###-----]`."""
    full = min(width, max(0, round(share * width)))
    return "[" + "#" * full + "-" * (width - full) + "]"


def spark(values: Sequence[float], width: int, signs: Signs) -> str:
    """The last values as a small picture, the newest at the right."""
    shown = list(values)[-width:]
    top = max(shown, default=0.0)
    steps = len(signs.sparks) - 1
    drawn = "".join(signs.sparks[round(each / top * steps) if top else 0] for each in shown)
    return drawn.rjust(width)
