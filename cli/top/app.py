"""The running screen: one task paints, one reads keys, and what was asked for is done beside."""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import trio
from rich.console import Console, RenderableType
from rich.live import Live as LiveScreen

from admin.cluster import leadership, sides
from admin.cluster.leadership import ClusterVerb
from admin.cluster.moment import MomentWriter
from admin.cluster.picture import ClusterPicture
from cli.top import keys
from cli.top.draw import UNICODE, Signs
from cli.top.layout import Screen, screen
from cli.top.sources import ScreenSource
from cli.top.view import (
    Do,
    NameConfirmation,
    Preview,
    Save,
    Seek,
    ToggleRecording,
    ViewState,
    Wish,
    press,
)
from qsync.errors import QsyncError, Unavailable

_FONTS = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
"""A saved screen fetches nothing from anywhere: the viewer's own fixed-width font does."""
RECORD_S = 1.0
"""A recording has one sample per second."""
ACT_S = 15.0
"""How long a switchover may take before we say that it is not known."""


class App:
    """The mutable state of the screen. `view` is replaced, never changed."""

    def __init__(
        self,
        console: Console,
        source: ScreenSource,
        view: ViewState,
        *,
        fps: float,
        signs: Signs = UNICODE,
    ) -> None:
        self.view = view
        self.picture: ClusterPicture = source.picture(trio.current_time())
        self.writer: MomentWriter | None = None
        self._console = console
        self._source = source
        self._period = 1 / fps
        self._signs = signs
        self._wake = trio.Event()
        self._written_at = float("-inf")

    async def run(self, *, keys_from: int | None, seconds: float = float("inf")) -> None:
        """Run until `q`, or for this many seconds. The terminal is restored."""
        live = LiveScreen(console=self._console, screen=True, auto_refresh=False)
        with live, trio.move_on_after(seconds):
            if keys_from is None:
                await self._paint(live)
                return
            with keys.cbreak(keys_from):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._listen, keys_from, nursery)
                    await self._paint(live)
                    nursery.cancel_scope.cancel()

    def close(self) -> None:
        """End a recording."""
        if self.writer is not None:
            self.writer.close()

    async def _paint(self, live: LiveScreen) -> None:
        while not self.view.quitting:
            now = trio.current_time()
            if not self.view.frozen:
                self.picture = self._source.picture(now)
            self._record(now)
            live.update(self._screen(), refresh=True)
            with trio.move_on_after(self._period):
                await self._wake.wait()
            self._wake = trio.Event()

    def _screen(self, *, width: int | None = None, height: int | None = None) -> RenderableType:
        size = self._console.size
        on = Screen(
            width=width or size.width,
            height=height or size.height,
            mode=self._mode(),
            signs=self._signs,
        )
        return screen(self.picture, self.view, on)

    def _mode(self) -> str:
        words = [self._source.words]
        if self.view.frozen:
            words.append("FROZEN")
        if self.writer is not None:
            words.append(f"REC {self.writer.count}")
        if self.view.read_only:
            words.append("read-only")
        return "  ".join(words)

    def _record(self, now: float) -> None:
        if self.writer is not None and now >= self._written_at + RECORD_S:
            self._written_at = now
            self.writer.write(self.picture.moment)

    # -- keys and what they ask for

    async def _listen(self, fd: int, nursery: trio.Nursery) -> None:
        async for key in keys.read(fd):
            self.view, wish = press(self.view, key, self.picture)
            if wish is not None:
                self._grant(wish, nursery)
            self._wake.set()

    def _grant(self, wish: Wish, nursery: trio.Nursery) -> None:
        match wish:
            case Preview() | Do():
                nursery.start_soon(self._beside, wish)
            case Save():
                self._tell(self._save())
            case ToggleRecording():
                self._tell(self._toggle_recording())
            case Seek(by):
                self._source.seek(by)
                self.picture = self._source.picture(trio.current_time())

    def _tell(self, message: str) -> None:
        self.view = replace(self.view, message=message)
        self._wake.set()

    async def _beside(self, wish: Preview | Do) -> None:
        """Ask a node without keeping the screen waiting."""
        try:
            address = self._address(wish.node)
            if isinstance(wish, Do):
                done = await trio.to_thread.run_sync(_perform, address, wish.verb)
                self._tell(f"{wish.verb} {wish.node}: {done}")
                return
            would = await trio.to_thread.run_sync(leadership.would, address, wish.verb)
        except QsyncError as error:
            self._tell(f"{wish.verb} {wish.node}: {error}")
            return
        if would.get("refused"):
            why = leadership.in_words(would, self.picture.survey)
            self._tell(f"{wish.verb} {wish.node}: {why}")
            return
        ask = NameConfirmation(
            verb=wish.verb,
            node=wish.node,
            consequence=leadership.in_words(would, self.picture.survey),
        )
        self.view = replace(self.view, ask=ask, message="")
        self._wake.set()

    def _address(self, name: str) -> str:
        found = self.picture.survey
        known = {each.name: each.address for each in found.silent}
        known |= dict(sides.places(found.samples).values())
        if name not in known:
            raise Unavailable(f"no node knows {name} any more")
        return known[name]

    def _save(self) -> str:
        size = self._console.size
        paper = Console(
            record=True,
            width=size.width,
            height=size.height,
            file=io.StringIO(),
            force_terminal=True,
        )
        paper.print(self._screen())
        path = Path(f"qsync-top-{_stamp()}.svg")
        try:
            drawn = paper.export_svg(title=f"qsync top {self.picture.cluster}")
            path.write_text(_FONTS.sub("", drawn), "utf-8")
        except OSError as error:
            return f"{path} cannot be written: {error.strerror}"
        return f"saved {path.absolute()}"

    def _toggle_recording(self) -> str:
        if self.writer is not None:
            writer, self.writer = self.writer, None
            writer.close()
            return f"recorded {writer.count} moments to {writer.path.absolute()}"
        try:
            self.writer = MomentWriter(Path(f"qsync-top-{_stamp()}.jsonl.gz"))
        except QsyncError as error:
            return str(error)
        return f"recording to {self.writer.path.absolute()}; r again to stop"


def _perform(address: str, verb: ClusterVerb) -> str:
    leadership.perform(address, verb, timeout=ACT_S)
    return "done"


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
