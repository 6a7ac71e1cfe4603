"""Runs `qsync top`: one picture, lines, or a screen, over live nodes or a recording."""

import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from admin.cluster import documents, short
from admin.cluster.lag import behind
from admin.cluster.moment import MomentWriter
from admin.cluster.picture import ClusterPicture
from admin.cluster.sampler import Sampler
from admin.cluster.short import clock, seconds
from admin.cluster.unreachable import nobody_answers
from cli.groups import first_of
from cli.output import WIDTH_ELSEWHERE, console, document, style, text
from cli.top.app import App
from cli.top.draw import ASCII, UNICODE, Signs
from cli.top.layout import Screen, lines
from cli.top.sources import LiveSource, ScreenSource, Tape
from cli.top.view import ViewState

HEADER_EVERY = 20
_COLUMNS = (
    ("time", 8),
    ("health", 8),
    ("leader", 8),
    ("term", 5),
    ("margin", 6),
    ("up", 5),
    ("limbo", 6),
    ("oldest", 6),
    ("writes/s", 8),
    ("p99", 6),
    ("reads/s", 8),
    ("lag", 6),
    ("unknown", 7),
    ("lost", 5),
)


def header() -> str:
    """The names of the columns."""
    return " ".join(f"{name:>{width}}" for name, width in _COLUMNS)


def row(picture: ClusterPicture) -> str:
    """One moment."""
    node, found, rates = picture.leader, picture.verdict, picture.rates
    slow = picture.commit.quantile(0.99)
    lag = max((behind(picture.survey, each) for each in picture.survey.samples), default=0)
    values = (
        clock(picture.moment.time),
        found.health.value,
        "-" if node is None else node.name[:8],
        str(found.term),
        str(found.margin),
        f"{len(picture.survey.samples)}/{picture.survey.voters}",
        "-" if node is None else short.amount(node.synchro.queue.len),
        "-" if node is None or not node.synchro.queue.len else seconds(node.synchro.queue.age),
        short.amount(rates.writes),
        seconds(slow),
        short.amount(rates.reads),
        short.amount(lag),
        str(rates.unknown),
        str(rates.lost_async),
    )
    return " ".join(f"{v:>{width}}" for v, (_, width) in zip(values, _COLUMNS, strict=True))


_HEIGHT_ELSEWHERE = 50
_FIRST_S = 1.5
"""How long the first answers may take before the screen shows who is missing."""
_SETTLE_S = 1.0
"""Rates need two looks at some distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The options of the command line."""

    target: list[str]
    once: bool
    record: Path | None
    replay: Path | None
    rate: float
    seconds: float
    read_only: bool


def run(order: Order) -> None:
    """Until `q`, the end of the time, or an interrupt."""
    with ExitStack() as stack:
        writer = None
        if order.record is not None:
            writer = MomentWriter(order.record)
            stack.callback(writer.close)
        source: ScreenSource
        if order.replay is not None:
            source = Tape(order.replay)
        else:
            source = LiveSource(Sampler(order.target, period=1 / order.rate))
        interrupted = False
        failed: OSError | None = None
        try:
            if order.once:
                trio.run(_once, source, writer)
            elif style().as_json or not console().is_terminal or console().is_dumb_terminal:
                trio.run(_lines, source, writer, order.seconds)
            else:
                trio.run(_screen, source, writer, order)
        except* KeyboardInterrupt:
            interrupted = True
        except* OSError as group:
            failed = first_of(group, OSError)
    if interrupted:
        raise KeyboardInterrupt
    if failed is not None:
        raise failed  # alone, as callers know it


@asynccontextmanager
async def _asking(source: ScreenSource) -> AsyncIterator[None]:
    """While a live source is shown, its nodes are asked; begins when all have answered or not."""
    if not isinstance(source, LiveSource):
        yield
        return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(source.sampler.run)
        with trio.move_on_after(_FIRST_S):
            await source.sampler.first()
        yield
        nursery.cancel_scope.cancel()


async def _once(source: ScreenSource, writer: MomentWriter | None) -> None:
    async with _asking(source):
        picture = source.picture(0.0)
        if picture.moment.answers:
            await trio.sleep(_SETTLE_S)
            picture = source.picture(_SETTLE_S)
    if not picture.moment.answers:
        raise nobody_answers(picture.survey.silent)
    if writer is not None:
        writer.write(picture.moment)
    if style().as_json:
        _document(picture)
    else:
        _print(picture)


async def _lines(source: ScreenSource, writer: MomentWriter | None, seconds: float) -> None:
    """One line a second: JSON, or columns with a header now and then."""
    number = 0
    async with _asking(source):
        with trio.move_on_after(seconds):
            while True:
                next_at = trio.current_time() + 1.0
                picture = source.picture(trio.current_time())
                if writer is not None:
                    writer.write(picture.moment)
                if style().as_json:
                    _document(picture)
                else:
                    if number % HEADER_EVERY == 0:
                        text(header())
                    text(row(picture))
                number += 1
                if source.over:
                    break
                await trio.sleep_until(next_at)


async def _screen(source: ScreenSource, writer: MomentWriter | None, order: Order) -> None:
    view = ViewState(read_only=order.read_only, replaying=isinstance(source, Tape))
    async with _asking(source):
        app = App(console(), source, view, fps=order.rate, signs=_signs())
        app.writer = writer
        try:
            keys_from = sys.stdin.fileno() if sys.stdin.isatty() else None
            await app.run(keys_from=keys_from, seconds=order.seconds)
        finally:
            app.close()


def _print(picture: ClusterPicture) -> None:
    out = console()
    width = out.width if out.is_terminal else WIDTH_ELSEWHERE
    height = out.height if out.is_terminal else _HEIGHT_ELSEWHERE
    out.width = width
    shown = lines(picture, ViewState(), Screen(width=width, height=height, signs=_signs()))[:-1]
    while shown and not shown[-1].plain.strip():
        shown.pop()
    for line in shown:
        line.rstrip()
        out.print(line)


def _signs() -> Signs:
    return ASCII if style().plain or console().options.ascii_only else UNICODE


def _document(picture: ClusterPicture) -> None:
    document("top", **documents.picture_members(picture))
