"""What a client of a load writes down of a transaction: the very request, whatever became of it."""

import random
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest
from typing_extensions import override

from admin.workload.clients import Workload
from admin.workload.history import History, HistoryLine, OutcomeType
from admin.workload.tally import ReceiptPlace
from admin.workload.worker import Worker, WorkerConfig, WorkerGate
from election.messages import Index, Term
from qsync.client import retry_policy
from qsync.client.blocking import Client
from qsync.client.calls import ClientCall
from qsync.client.core import Core
from qsync.client.pending_request import PendingRequest
from qsync.client.rows import Receipt
from qsync.client.targets import SeedAddresses
from qsync.client.transaction import Transaction
from qsync.data.sessions import PLACE_BYTES
from qsync.errors import Conflict, QsyncError, SessionExpired
from qsync.record import Lsn

T = TypeVar("T")
End = Callable[[PendingRequest], QsyncError]


class Scripted(Client):
    """A client whose requests are numbered, never sent, and end as the test says."""

    def __init__(self, *ends: End) -> None:
        core = Core(SeedAddresses(addresses=("127.0.0.1:1",)), dice=random.Random(7))
        core.numbering.opened(core.numbering.id + bytes(PLACE_BYTES))
        super().__init__(core, timeout=1.0)
        self._ends = list(ends)
        self.asked: list[str] = []

    @override
    def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:
        raise self._ends.pop(0)(self._begin(call, timeout))

    @override
    def resolve(self, token: str, *, timeout: float | None = None, again: bool = True) -> Receipt:
        self.asked.append(token)
        return Receipt(term=Term(3), index=Index(9), lsn=Lsn(8), acks=2, seconds=0.1)


def unknown(ask: PendingRequest) -> QsyncError:
    return retry_policy.unknown(ask, "no definite answer")


def refused(_: PendingRequest) -> QsyncError:
    return Conflict("somebody else was there before")


def expired(_: PendingRequest) -> QsyncError:
    return SessionExpired("long ago")


def write(tx: Transaction, number: int) -> None:
    tx.space("s").replace([number])


def give_up(tx: Transaction, number: int) -> None:
    write(tx, number)
    raise Conflict("it is not worth it")


def did(client: Scripted, *changes: Callable[[Transaction, int], None]) -> tuple[Workload, str]:
    """A load in which one client does these, and the session that it began in."""
    load = Workload([], history=History(), clients=0, seed=1)
    orders = WorkerConfig(seeds=[], number=1, seed=1, think=0.0, acts=())
    gate = WorkerGate(stop=threading.Event(), is_open=threading.Event())
    worker = Worker(orders, history=load.history, tally=load.tally, gate=gate)
    session = client.session
    for change in changes:
        worker.change(client, "write", "k", lambda number: number, change)
    return load, session


def said(lines: list[HistoryLine]) -> list[tuple[OutcomeType, object, int | None, int | None]]:
    return [(each.type, each.session, each.seq, each.log_index) for each in lines]


def test_an_outcome_that_is_known_later_is_of_the_same_request() -> None:
    client = Scripted(unknown, refused)
    load, session = did(client, write, write)
    assert load.resolve() == 1
    assert client.asked == [f"{session}:1"]
    assert said(load.history.lines) == [
        (OutcomeType.INVOKE, session, 1, None),
        (OutcomeType.INVOKE, session, 2, None),
        (OutcomeType.FAIL, session, 2, None),
        (OutcomeType.OK, session, 1, 9),
    ]


def test_what_was_given_up_before_it_was_sent_has_no_number() -> None:
    load, session = did(Scripted(refused), write, give_up)
    assert said(load.history.lines) == [
        (OutcomeType.INVOKE, session, 1, None),
        (OutcomeType.FAIL, session, 1, None),
        (OutcomeType.INVOKE, None, None, None),
        (OutcomeType.FAIL, None, None, None),
    ]


@pytest.mark.parametrize("end", [unknown, expired])
def test_what_nobody_will_ever_say_has_the_number_by_which_a_log_may(end: End) -> None:
    load, session = did(Scripted(end), write)
    assert load.history.give_up("the run ended") == 1
    assert said(load.history.lines) == [
        (OutcomeType.INVOKE, session, 1, None),
        (OutcomeType.INFO, session, 1, None),
    ]


def test_clients_that_are_paused_wait_for_nobody_and_do_nothing() -> None:
    load = Workload([], history=History(), clients=1, seed=1)
    load.tally.ack(1, ReceiptPlace(client=1, term=1, index=1), 0.01)
    assert load.tally.waiting() > 0
    load.pause()
    assert load.is_paused
    load.start()  # it would die of having nobody to connect to
    assert load.tally.waiting() == 0
    load.stop()
    load.resume()
    assert not load.is_paused
    assert load.tally.waiting() > 0


def test_of_a_cluster_that_is_gone_nobody_is_asked_what_became_of_a_write() -> None:
    client = Scripted(unknown)
    load, _ = did(client, write)
    load.begin_anew()
    assert load.resolve() == 0
    assert client.asked == []
    assert len(load.tally.unknown) == 1
