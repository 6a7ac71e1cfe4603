"""Readers that keep a connection to each node open and never wait for an answer to ask again.

A node that was stopped finds all their questions when it wakes up: what it answers then must be
true at that moment, not at the moment when it fell asleep.
"""

from random import Random

import trio

from admin.campaign import spaces
from admin.campaign.book import CampaignHistory
from admin.campaign.checker import NOWHERE, WritePlace
from admin.campaign.wire import RequestTimedOut, Wire, wired
from admin.campaign.writing import Writing
from qsync.client.rows import decode_row, key_of, level_of
from qsync.errors import QsyncError
from qsync.wire import replies
from qsync.wire.verbs import GetRequest, ReadLevel

EVERY_S = 0.03
PATIENCE_S = 20.0
"""How long to wait for an answer: longer than any node is stopped."""
OPEN_MAX = 400
AGAIN_S = 0.3
LEVELS = ("linearizable", "lease", "local", "receipt", "lookup", "gone")
SHARES = (35, 30, 10, 10, 10, 5)


class Reading:
    """All readers of a campaign."""

    def __init__(self, book: CampaignHistory, writing: Writing, *, seed: int) -> None:
        self._book = book
        self._writing = writing
        self._seed = seed

    async def read_for_ever(self, name: str, address: str) -> None:
        """Read from one node, over one connection as long as it lasts."""
        dice = Random(f"{self._seed} reader {name}")  # noqa: S311 - replays, hides nothing
        while True:
            try:
                async with wired(address) as wire, trio.open_nursery() as nursery:
                    while not wire.broken.is_set():
                        if wire.open < OPEN_MAX:
                            nursery.start_soon(self._read, wire, name, dice)
                        await trio.sleep(EVERY_S)
            except (RequestTimedOut, QsyncError):
                await trio.sleep(AGAIN_S)

    async def _read(self, wire: Wire, name: str, dice: Random) -> None:
        (level,) = dice.choices(LEVELS, SHARES)
        try:
            match level:
                case "receipt":
                    await self._at_least(wire, name, dice)
                case "lookup" | "gone":
                    await self._look_for(wire, name, dice, gone=level == "gone")
                case _:
                    await self._count(wire, name, dice.randrange(spaces.COUNTERS), level)
        except RequestTimedOut:
            self._book.figures.counts["reads without an answer"] += 1
        except QsyncError:
            self._book.figures.counts["reads refused"] += 1

    async def _count(self, wire: Wire, name: str, counter: int, level: str) -> None:
        floor = 0 if level == "local" else None
        look = self._book.look(counter, level, name, floor)
        begun, newest = self._book.elapsed, self._newest(level)
        row, seen = await _get(wire, spaces.COUNTED, counter, level_of(level, None))
        self._book.reach(f"a {level} read of {name}", newest, seen)
        if row is not None or look.floor:
            self._book.show(look, begun, *((row[1], row[2]) if row else (0, 0)))

    async def _at_least(self, wire: Wire, name: str, dice: Random) -> None:
        """Read with the receipt of a write, which must be shown with all writes before it."""
        if not self._writing.receipts:
            return
        receipt, counter, number, _ = dice.choice(list(self._writing.receipts))
        floor = WritePlace(receipt.term, receipt.index)
        look = self._book.look(counter, "at_least", name, number)
        begun = self._book.elapsed
        row, seen = await _get(wire, spaces.COUNTED, counter, level_of("", receipt))
        self._book.reach(f"a read of {name} with a receipt", floor, seen)
        self._book.show(look, begun, *((row[1], row[2]) if row else (0, 0)))

    def _newest(self, level: str) -> WritePlace:
        """Return the newest known write, which a read must show; none for a `local` read."""
        return NOWHERE if level == "local" else self._book.checker.newest

    async def _look_for(self, wire: Wire, name: str, dice: Random, *, gone: bool) -> None:
        """Look for one write: one that was answered recently, or one that was refused."""
        values = self._writing.refused if gone else self._writing.recent
        if not values:
            return
        value = dice.choice(list(values))
        checker = self._book.checker
        space = spaces.NOTES if checker.written[value].counter is None else spaces.JOURNAL
        level = dice.choice(["local"] if gone else ["linearizable", "lease"])
        out, must = checker.look_out(value), checker.look_for(value) and level != "local"
        newest = self._newest(level)
        row, seen = await _get(wire, space, value, level_of(level, None))
        who = f"a {level} read of {name}"
        self._book.reach(who, newest, seen)
        self._book.find(value, who, must=must, gone=out, found=row is not None)


async def _get(
    wire: Wire, space: str, key: int, level: ReadLevel
) -> tuple[list[int] | None, WritePlace]:
    parts = key_of(key)
    values = await wire.ask(
        lambda number: GetRequest(number, space, 0, parts, level), patience=PATIENCE_S
    )
    found, seen = replies.read_row(values)
    row = None if found is None else [int(str(field)) for field in decode_row(found)]
    return row, WritePlace(seen.term, seen.index)
