"""The layout for any width and height: the narrow screen and the wide one."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from admin.cluster.picture import ClusterPicture
from cli.top import draw, nodes, panels
from cli.top.detail import detail
from cli.top.draw import DIM, UNEASY, UNICODE, Lines, Signs
from cli.top.view import Page, ViewState

WIDE = (160, 40)
"""From this width and height on everything is shown at once."""
ROOMY = 24
"""Lines from which on the advice may take one more."""
KEYS = "Enter detail  p promote  d demote  c clear  Space freeze  / find  ? help  q quit"
KEYS_READ_ONLY = "Enter detail  s SVG  r record  Space freeze  / find  e l x h w pages  ? help  q"
KEYS_REPLAY = "Space play, stop  left right PageUp PageDown Home End  Enter detail  ? help  q"
HELP = (
    "j k, arrows   select a node              Enter   its detail",
    "e events      l limbo and acks           x       who reaches whom",
    "h history     w what is wrong, and the fixes     /  filter the events",
    "p promote the selected node    d demote the leader    c clear the synchro queue:",
    "              each says in numbers what it would do, and waits for its name",
    "Space freeze  s save the screen as SVG   r record to a file",
    "in a replay: Space play and stop, left right, PageUp PageDown, Home End",
    "signs: * leads  ! in trouble  x down or silent  > selected",
    "Escape back   q quit",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """How large it is, what it may be drawn with, and what the first line says of the mode."""

    width: int
    height: int
    mode: str = ""
    signs: Signs = UNICODE


def screen(picture: ClusterPicture, view: ViewState, on: Screen) -> RenderableType:
    """The whole screen, every line of it."""
    return Group(*lines(picture, view, on))


def lines(picture: ClusterPicture, view: ViewState, on: Screen) -> Lines:
    """Exactly `height` lines of exactly `width` columns."""
    made = _wide if on.width >= WIDE[0] and on.height >= WIDE[1] else _narrow
    last = footer(view, on.width)
    return [*draw.block(made(picture, view, on), on.width, on.height - len(last)), *last]


def footer(view: ViewState, width: int) -> Lines:
    """What the keys do, or what happened; a question has a line above it that says what it does."""
    if view.ask is not None:
        ask = view.ask
        style = f"bold {UNEASY}"
        about = draw.line((f"{ask.verb} {ask.node}: {ask.consequence}", style))
        asks = draw.line((f"{ask.verb} {ask.node}? type its name: {ask.typed}_", style))
        return [draw.fit(about, width), draw.fit(asks, width)]
    return [_last(view, width)]


def _last(view: ViewState, width: int) -> Text:
    """The typed text, else the last event, else the keys."""
    if view.typing:
        return draw.fit(draw.line((f"/{view.filter}_", "bold")), width)
    if view.message:
        return draw.fit(draw.line((view.message, "bold")), width)
    keys = KEYS_REPLAY if view.replaying else KEYS_READ_ONLY if view.read_only else KEYS
    return draw.fit(draw.line((keys, DIM)), width)


def _narrow(picture: ClusterPicture, view: ViewState, on: Screen) -> Lines:
    """Header, sentences, three lines on the cluster, nodes, and one page below."""
    width, height = on.width, on.height - 1
    body = panels.header(picture, on.mode, width)
    body += panels.verdict(picture, width, 4 if on.height >= ROOMY else 3)
    body += panels.leader(picture, width)
    body += panels.limbo(picture, width)
    body += panels.work(picture, width, on.signs)
    body.append(draw.rule("nodes (Enter = detail)", width, on.signs))
    # A few nodes go before the page; many leave it some lines.
    room = height - len(body)
    rows = min(nodes.size(picture), room, max(room - _PAGE_MIN, _NODES_MIN))
    body += nodes.table(picture, width, rows, view.selected)
    left = height - len(body) - 1
    if left > 0:
        body.append(draw.rule(_title(view), width, on.signs))
        body += _page(picture, view, width, left)
    return body


def _wide(picture: ClusterPicture, view: ViewState, on: Screen) -> Lines:
    """Everything at once; details take the place of the events."""
    width, signs = on.width, on.signs
    body = panels.header(picture, on.mode, width)
    body += panels.verdict(picture, width, 2)
    body.append(draw.rule("cluster", width, signs))
    body += panels.leader(picture, width, wide=True)
    body += panels.limbo(picture, width)
    body += panels.quorum(picture, width)
    body.append(draw.rule("nodes (Enter = detail)", width, signs))
    rows = min(nodes.size(picture), max(6, on.height // 3))
    body += nodes.table(picture, width, rows, view.selected)
    body += _three(picture, on, height=11)
    body += _two(picture, on, height=8)
    left = on.height - 1 - len(body) - 1
    body.append(draw.rule(_title(view), width, signs))
    body += _page(picture, view, width, left)
    return body


def _three(picture: ClusterPicture, on: Screen, *, height: int) -> Lines:
    each = (on.width - 2 * _GAP) // 3
    last = on.width - 2 * _GAP - 2 * each
    return draw.beside(
        [
            _titled("limbo and acks", panels.acks(picture, each), each, height, on.signs),
            _titled("who reaches whom", panels.matrix(picture, each), each, height, on.signs),
            _titled(
                "last minute", panels.performance(picture, last, on.signs), last, height, on.signs
            ),
        ],
        on.signs,
    )


def _two(picture: ClusterPicture, on: Screen, *, height: int) -> Lines:
    left = (on.width - _GAP) * 2 // 5
    right = on.width - _GAP - left
    wrong = panels.findings(picture, right)
    return draw.beside(
        [
            _titled("leadership", panels.history(picture), left, height, on.signs),
            _titled("what is wrong, and what to do", wrong, right, height, on.signs),
        ],
        on.signs,
    )


def _titled(title: str, lines: Lines, width: int, height: int, signs: Signs) -> Lines:
    return [draw.rule(title, width, signs), *draw.block(lines, width, height - 1)]


def _title(view: ViewState) -> str:
    if view.page is Page.EVENTS and view.filter:
        return f"events with {view.filter!r}"
    return view.page.value


def _page(picture: ClusterPicture, view: ViewState, width: int, height: int) -> Lines:
    made: dict[Page, Callable[[], Lines]] = {
        Page.EVENTS: lambda: panels.events(picture, width, height, view.filter),
        Page.DETAIL: lambda: detail(picture, view.selected, width),
        Page.MATRIX: lambda: panels.matrix(picture, width),
        Page.LIMBO: lambda: panels.acks(picture, width),
        Page.HISTORY: lambda: panels.history(picture),
        Page.FINDINGS: lambda: panels.findings(picture, width),
        Page.HELP: lambda: [draw.line(each) for each in HELP],
    }
    return draw.block(made[view.page](), width, height)


_GAP = 3
_PAGE_MIN, _NODES_MIN = 5, 6
