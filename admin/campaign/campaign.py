"""Runs a whole campaign: a lab, its load, its faults, and the verdict."""

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import trio

from admin.campaign import drawing, healing, spaces
from admin.campaign.book import HISTORY_FILE, CampaignHistory
from admin.campaign.drawing import Strike, StrikeKind
from admin.campaign.figures import BrokenPromise, Figures
from admin.campaign.nodes import Nodes
from admin.campaign.operators import CampaignOperators
from admin.campaign.reading import Reading
from admin.campaign.strikes import Strikes
from admin.campaign.writing import Writing
from admin.cluster import settling
from admin.lab import lab
from admin.lab.lab import Lab
from admin.lab.new_directory import run_directory
from admin.lab.processes import interrupts
from admin.lab.secure import client_tls, have_users
from qsync.client.blocking import connect
from qsync.client.security import assumed
from qsync.errors import QsyncError

UP_S = 60.0
TELL_S = 10.0
WRITERS, ASKERS = 6, 2
LOOK_S = 0.3
OPTIONS = {"cluster.tag": "lab"}
"""Options of the lab: fault points may be armed, and nodes record events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlan:
    """The options of a campaign. `keep`: the new directory for all files.

    `secure`: the nodes use TLS and have users; the load runs as their administrator.
    """

    seconds: float
    nodes: int = 3
    seed: int = 1
    keep: Path | None = None
    secure: bool = False
    kinds: tuple[StrikeKind, ...] = tuple(StrikeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignResult:
    """How it ended. `keep`: where the history and the nodes' directories are, if they were kept."""

    plan: CampaignPlan
    figures: Figures
    rounds: int
    seconds: float
    keep: Path | None


Teller = Callable[[str], None]


def run(plan: CampaignPlan, tell: Teller) -> CampaignResult:
    """Run the campaign. Ends every process that it started, also when interrupted."""
    began = time.monotonic()
    with (
        run_directory(plan.keep, of="campaign") as directory,
        CampaignHistory(directory / HISTORY_FILE) as book,
    ):
        found = lab.create(
            directory / "lab",
            name="campaign",
            nodes=plan.nodes,
            options=OPTIONS,
            links=True,
            secure=plan.secure,
        )
        work = CampaignRun(plan=plan, lab=found, book=book, tell=tell)
        with interrupts(work.interrupt):
            try:
                with assumed(client_tls(found.dir)):
                    trio.run(work.run)
            finally:
                found.stop_all()
        if work.interrupted:
            raise KeyboardInterrupt
        kept = plan.keep
        if kept is None and not book.figures.clean:
            kept = Path(tempfile.mkdtemp(prefix="qsync-campaign-failed-"))
            book.flush()
            without = shutil.ignore_patterns("*.sock")
            shutil.copytree(directory, kept, dirs_exist_ok=True, ignore=without)
        return CampaignResult(
            plan=plan,
            figures=book.figures,
            rounds=work.rounds,
            seconds=round(time.monotonic() - began, 1),
            keep=kept,
        )


@dataclass(slots=True, kw_only=True)
class CampaignRun:
    """One campaign under way."""

    plan: CampaignPlan
    lab: Lab
    book: CampaignHistory
    tell: Teller
    rounds: int = 0
    doing: str = "starting"
    interrupted: bool = False
    nodes: Nodes = field(init=False)
    writing: Writing = field(init=False)
    _whole: trio.CancelScope = field(init=False, default_factory=trio.CancelScope)
    _token: trio.lowlevel.TrioToken | None = field(init=False, default=None)

    def interrupt(self) -> None:
        """End the run, wherever it is. May be called by a handler of signals, and again."""
        self.interrupted = True
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._whole.cancel, idempotent=True)

    async def run(self) -> None:
        """From the first process to the verdict, or until it is interrupted."""
        self._token = trio.lowlevel.current_trio_token()
        with self._whole:
            if not self.interrupted:
                await self._run()

    async def _run(self) -> None:
        self.nodes = Nodes(self.lab, self.book)
        self.writing = Writing(self.lab.addresses, self.book, seed=self.plan.seed)
        await trio.to_thread.run_sync(self._begin)
        async with trio.open_nursery() as always:
            always.start_soon(self.nodes.watch_for_ever)
            always.start_soon(self._tell_for_ever)
            async with trio.open_nursery() as load:
                self._load(load)
                await self._rounds(load)
                load.cancel_scope.cancel()
            await self._end()
            always.cancel_scope.cancel()

    def _begin(self) -> None:
        for node in self.nodes.all:
            self.nodes.start(node)
        settling.wait_writable(self.lab.addresses, timeout=UP_S)
        if self.plan.secure:
            have_users(self.lab.dir, self.lab.addresses)
        with connect(self.lab.addresses, timeout=UP_S) as client:
            spaces.prepare(client)

    def _load(self, load: trio.Nursery) -> None:
        for number in range(1, WRITERS + 1):
            load.start_soon(self.writing.write_for_ever, number)
        for _ in range(ASKERS):
            load.start_soon(self.writing.ask_for_ever)
        reading = Reading(self.book, self.writing, seed=self.plan.seed)
        for node in self.nodes.all:
            load.start_soon(reading.read_for_ever, node.name, node.address)

    async def _rounds(self, load: trio.Nursery) -> None:
        dice = Random(f"{self.plan.seed} nemesis")  # noqa: S311 - replays, hides nothing
        operators = CampaignOperators(self.book, self.nodes, load)
        strikes = Strikes(nodes=self.nodes, book=self.book, operators=operators)
        began = time.monotonic()
        while (left := self.plan.seconds - (time.monotonic() - began)) > 0:
            self.rounds += 1
            drawn = drawing.draw(dice, self.plan.kinds, seconds=min(left, drawing.ROUND_S))
            self.doing = ", ".join(strike.kind for strike in drawn)
            self.book.write_line(
                "round", number=self.rounds, strikes=[_told(each) for each in drawn]
            )
            async with trio.open_nursery() as round_:
                for strike in drawn:
                    round_.start_soon(strikes.perform, strike)
            self.doing = "healing"
            if not await healing.heal(self.nodes, self.book):
                return  # what comes after it would show the same again
            await healing.compare(self.nodes, self.book, self.writing, operators)
            self.book.flush()

    async def _end(self) -> None:
        """Resolve every unknown write, and compare what is stored with what was answered."""
        self.doing = "the end"
        try:
            await self.writing.ask_the_rest()
            self.book.end(await healing.stored(self.nodes))
        except QsyncError as error:
            self.book.broken(BrokenPromise.STUCK, f"what is stored cannot be read: {error}")

    async def _tell_for_ever(self) -> None:
        while True:
            await trio.sleep(TELL_S)
            self.book.flush()
            figures = self.book.figures
            self.tell(
                f"{self.book.elapsed:5.0f} s  {figures.counts['acks']} acks, "
                f"{figures.counts['linearizable reads'] + figures.counts['lease reads']} strong "
                f"reads, {figures.counts['unknown']} unknown, {figures.faults.total()} faults; "
                f"{figures.sentence()}  [{self.doing}]"
            )


def _told(strike: Strike) -> list[object]:
    return [strike.kind, strike.after, strike.lasts, strike.seed]
