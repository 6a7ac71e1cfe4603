"""Clients that write, and other clients that resolve their unknown writes by token."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

import trio

from admin.campaign import spaces
from admin.campaign.book import CampaignHistory
from admin.campaign.checker import WritePlace
from qsync.client import options
from qsync.client.aio import AsyncClient, connect_async
from qsync.client.numbering import Token
from qsync.client.operations import Operation
from qsync.client.pending_request import PendingRequest
from qsync.client.rows import Receipt
from qsync.errors import GivenUp, Outcome, QsyncError
from qsync.wire.verbs import WriteRequest

THINK_S = 0.02
TIMEOUT_S = 3.0
WRITES_MAX = 300
"""How many writes a client does before another client replaces it."""
AGAIN_S = 1.0
AGAIN_SHARE = 0.05
"""The share of answered writes that another client sends again, with their token."""
COUNTED_SHARE, NOTED_SHARE = 0.7, 0.2
"""Writes with a counter, and asynchronous ones. The rest is synchronous, in that space, too."""


@dataclass(slots=True)
class Sent:
    """A write, and what is needed to ask for it again. `answers`: how often it was definite."""

    value: int
    ops: list[Operation]
    is_sync: bool | None
    token: str = ""
    answers: int = 0
    asks: list[PendingRequest] = field(default_factory=list)

    def named(self) -> None:
        """Note the token of the first attempt."""
        request = self.asks[0].request if self.asks else None
        if not self.token and isinstance(request, WriteRequest):
            self.token = str(Token(request.session, request.seq))


class Writing:
    """All writers and askers of a campaign. `gate`: None, or what they wait for."""

    def __init__(self, addresses: Sequence[str], book: CampaignHistory, *, seed: int) -> None:
        self.recent: deque[int] = deque(maxlen=200)
        """Values of the last writes, for reads."""
        self.refused: deque[int] = deque(maxlen=50)
        self.receipts: deque[tuple[Receipt, int, int, int]] = deque(maxlen=100)
        """The record of a counted write: counter, number and value."""
        self.doubts: deque[Sent] = deque()
        self.under_way = 0
        self._addresses = addresses
        self._book = book
        self._seed = seed
        self._gate: trio.Event | None = None
        self._resolving = False

    def close_gate(self) -> None:
        """Let no client begin another write."""
        if self._gate is None:
            self._gate = trio.Event()

    def open_gate(self) -> None:
        """Let all clients go on."""
        if self._gate is not None:
            self._gate.set()
            self._gate = None

    async def write_for_ever(self, number: int) -> None:
        """Write for ever, with one client after the other."""
        dice = Random(f"{self._seed} writer {number}")  # noqa: S311 - replays, hides nothing
        lives = 0
        while True:
            lives += 1
            try:
                async with connect_async(self._addresses, timeout=TIMEOUT_S) as db:
                    for _ in range(WRITES_MAX):
                        await self._pass()
                        await self._write(db, dice, f"client {number}.{lives}")
                        await trio.sleep(THINK_S)
            except QsyncError:
                await trio.sleep(dice.random() * AGAIN_S)

    async def ask_for_ever(self) -> None:
        """Resolve unknown writes for ever, over one connection after the other."""
        lives = 0
        while True:
            lives += 1
            try:
                async with connect_async(self._addresses, timeout=TIMEOUT_S) as db:
                    for _ in range(len(self.doubts)):
                        await self._pass()
                        if self.doubts:  # there is another asker
                            await self._ask(db, self.doubts.popleft(), f"asker {lives}")
            except QsyncError:
                pass  # no node to connect to; the unknown writes wait
            await trio.sleep(AGAIN_S)

    async def ask_the_rest(self) -> None:
        """Resolve all unknown writes at the end: twice, each time by another client."""
        for turn in range(2):
            async with connect_async(self._addresses, timeout=TIMEOUT_S * 3) as db:
                for _ in range(len(self.doubts)):
                    await self._ask(db, self.doubts.popleft(), f"last asker {turn}")
        self._book.figures.counts["never resolved"] = sum(not each.answers for each in self.doubts)

    async def _pass(self) -> None:
        while self._gate is not None:
            await self._gate.wait()

    async def _write(self, db: AsyncClient, dice: Random, by: str) -> None:
        kind = dice.random()
        counter = dice.randrange(spaces.COUNTERS) if kind < COUNTED_SHARE else None
        is_sync = None if kind < COUNTED_SHARE + NOTED_SHARE else True
        strong = counter is not None or is_sync is True
        value = self._book.invoke(counter=counter, strong=strong, client=by)
        ops = spaces.noted(value) if counter is None else spaces.counted(value, counter)
        sent = Sent(value=value, ops=ops, is_sync=is_sync)
        self.under_way += 1
        try:
            await self._send(db, sent, by)
        finally:
            self.under_way -= 1
        if sent.answers:
            self.recent.append(value)
            # One that was refused without a doubt was never begun: asking for it would begin it.
            if not self._book.checker.look_out(value) and dice.random() < AGAIN_SHARE:
                # Before our next request says that this answer need not be kept any more.
                async with connect_async(self._addresses, timeout=TIMEOUT_S) as other:
                    await self._ask(other, sent, f"{by}, elsewhere")
        elif sent.token:
            self.doubts.append(sent)

    async def _ask(self, db: AsyncClient, sent: Sent, by: str) -> None:
        """Retry as another client until it is answered, and then once more.

        Every second time only request the outcome: then a write that did not happen is given up.
        """
        before = sent.answers
        self.under_way += 1
        self._book.figures.counts["asked again"] += 1
        self._resolving = not self._resolving
        try:
            await self._send(db, sent, by, resolving=self._resolving)
        finally:
            self.under_way -= 1
            if not before:
                self.doubts.append(sent)  # until it is answered, and then once more
        if sent.answers > before:
            self._book.figures.counts["answered twice" if before else "resolved"] += 1

    async def _send(self, db: AsyncClient, sent: Sent, by: str, *, resolving: bool = False) -> None:
        asked: options.WriteOptions = {"is_sync": sent.is_sync}
        if sent.token:
            asked["token"] = sent.token
        call = replace(options.write(sent.ops, asked), begun=sent.asks.append)
        try:
            receipt = await (db.resolve(sent.token, again=False) if resolving else db.run(call))
        except QsyncError as error:
            sent.named()
            self._book.figures.counts["given up"] += isinstance(error, GivenUp)
            if error.outcome is Outcome.UNKNOWN:
                why, first = f"{error.code}: {error.message}", len(sent.asks) == 1 and not resolving
                self._book.unknown(sent.value, sent.token, why, by=by, first=first)
            else:
                sent.answers += 1
                self.refused.append(sent.value)
                self._book.refuse(sent.value, f"{error.code}: {error.message}", by=by)
            return
        sent.named()
        sent.answers += 1
        self._committed(sent, receipt, by)

    def _committed(self, sent: Sent, receipt: Receipt, by: str) -> None:
        place = WritePlace(receipt.term, receipt.index)
        number: int | None = None
        if sent.ops[0][1] == spaces.COUNTED and receipt.row is not None:
            counter, number = int(str(receipt.row[0])), int(str(receipt.row[1]))
            self.receipts.append((receipt, counter, number, sent.value))
        self._book.figures.counts["acks"] += 1
        self._book.commit(sent.value, place, number, by=by, token=sent.token or None)
