"""Texts of others in HTML: escaped, printable, and never too long."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

TEXT_CHARACTERS_MAX: Final = 300
"""A longer text is cut, with an ellipsis."""
_NOT_SHOWN: Final = "\ufffd"


def clean(text: object) -> str:
    """Return text without controls and marks that reverse it; it is not HTML yet."""
    given = str(text)
    cut = given[:TEXT_CHARACTERS_MAX] + ("…" if len(given) > TEXT_CHARACTERS_MAX else "")
    return "".join(each if each.isprintable() else _NOT_SHOWN for each in cut)


def as_html(text: object) -> str:
    """Return text as HTML."""
    return escape(clean(text))


def lines(texts: Sequence[str], *, most: int) -> str:
    """A list, one text a line; how many more there are stands at its end."""
    kept = [f"<li>{as_html(each)}</li>" for each in texts[:most]]
    if len(texts) > most:
        kept.append(f'<li class="muted">and {len(texts) - most} more</li>')
    return f'<ul class="lines">{"".join(kept)}</ul>' if kept else ""


def section(name: str, title: str, parts: Iterable[str], *, live: bool = False) -> str:
    """A part of the page that is renewed as a whole. `live`: a change of it is read out."""
    about = ' aria-live="polite" aria-atomic="true"' if live else ""
    head = f"<h2>{escape(title)}</h2>" if title else ""
    return f'<section id="{name}"{about}>{head}{"".join(parts)}</section>'
