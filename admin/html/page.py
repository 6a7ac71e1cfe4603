"""The frame of all HTML reports: one self-contained file, light and dark, any width."""

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --muted: #5b6570;
  --soft: #d9dee4; --faint: #f3f5f7; --good: #1f6fb2; --bad: #c9480c; --doubt: #8a6d00; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e4e8ec; --muted: #98a3ae;
  --soft: #343c45; --faint: #1c2229; --good: #62a8e5; --bad: #ff8a50; --doubt: #e0bf4d; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 0 auto;
  padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; overflow-wrap: anywhere; }
a { color: var(--good); } p { margin: .5rem 0; }
.verdict { border-left: .4rem solid var(--bad); background: var(--faint); padding: .7rem 1rem;
  font-size: 1.1rem; } .verdict.passed { border-color: var(--good); }
.verdict.doubtful { border-color: var(--doubt); }
.muted { color: var(--muted); } .small { font-size: .87rem; }
.good { color: var(--good); } .bad, .missed { color: var(--bad); font-weight: 600; }
.doubt { color: var(--doubt); font-weight: 600; }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--soft);
  vertical-align: top; font-variant-numeric: tabular-nums; }
th { color: var(--muted); font-weight: 500; font-size: .87rem; white-space: nowrap; }
td.number, th.number { text-align: right; }
pre { overflow-x: auto; } code, pre { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; }
svg { display: block; width: 100%; min-width: 42rem; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
"""


def whole(title: str, body: Iterable[str], *, style: str = "", head: str = "") -> str:
    """The file, from the lines of its body; `head`: what else stands in its head, as HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style>{head}</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: frozenset[int] = frozenset()
) -> str:
    """Cells are HTML already; columns in `numbers` are set to the right."""
    right = [' class="number"' if at in numbers else "" for at in range(len(heads))]
    head = "".join(f"<th{mark}>{each}</th>" for mark, each in zip(right, heads, strict=True))
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{mark}>{each}</td>" for mark, each in zip(right, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def folded(words: str, body: str) -> str:
    """HTML that a click on its words opens, without a script."""
    return f"<details><summary>{words}</summary>{body}</details>"
