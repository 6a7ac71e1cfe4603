"""Every kind of load on real nodes: it does something, and all of it can be accounted for."""

from collections.abc import Iterator

import pytest

from admin.checker.verdict import Result
from admin.lab.lab import Lab
from admin.workload import clients, proof
from admin.workload.clients import Workload
from admin.workload.history import History, HistoryLine, OutcomeType
from admin.workload.load_names import JOURNAL, LoadKind
from admin.workload.tally import UnresolvedWrite
from qsync.client.blocking import connect
from qsync.errors import SessionExpired
from tests.live import real

pytestmark = pytest.mark.slow
ACKED = 40


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three nodes; every test recreates its spaces."""
    with real.running(tmp_path_factory.mktemp("home") / "lab", nodes=3) as made:
        yield made


@pytest.mark.parametrize("kind", LoadKind)
def test_what_the_clients_of_a_kind_were_told_is_there(home: Lab, kind: LoadKind) -> None:
    history = History()
    load = Workload(home.addresses, history=history, clients=3, seed=1, think=0.001, kind=kind)
    with connect(home.addresses, timeout=30) as client:
        clients.drop(client)
        clients.prepare(client, kind)
        load.start()
        try:
            real.until(lambda: len(load.tally.acked) >= ACKED, "writes are acknowledged")
        finally:
            load.stop()
        load.resolve()
        load.settle(client)
        assert not load.tally.unknown
        last = history.new_process()
        written, balances = proof.read_back(client, history, kind)
    history.give_up("the run ended")
    digests = proof.same_digests(home.addresses, timeout=30)
    found = proof.prove(
        load.tally, history.lines, journal=written, balances=balances, digests=digests
    )
    load.close()
    assert found.complaints() == []
    assert found.holds
    assert found.linearity.result is Result.PASS
    assert found.linearity.facts >= ACKED
    assert bool(load.tally.spontaneous) == (kind is LoadKind.QUEUE)
    changes = [each for each in history.lines if each.f != "read" and each.process < last]
    ended = [each for each in changes if each.type is not OutcomeType.INVOKE]
    sent = [(each.session, each.seq) for each in ended if each.seq]
    assert len(set(sent)) == len(sent), "no two operations have one number"
    assert all(each.seq for each in ended if each.type is OutcomeType.OK)
    assert {(each.session, each.seq) for each in changes if each.seq} == set(sent)
    looks = [each for each in history.lines if each.f == "read" and each.process < last]
    assert all(each.seq is None for each in looks)
    assert bool(places(looks)) or kind is not LoadKind.REGISTER
    assert bool(balances) == (kind in {LoadKind.MIXED, LoadKind.BANK})


def places(looks: list[HistoryLine]) -> list[HistoryLine]:
    """Reads that were given a place, which they had to show; the others name their session."""
    given = [each for each in looks if each.floor is not None]
    assert all(each.session for each in looks if each not in given)
    shown = [each for each in given if each.type is OutcomeType.OK]
    assert all(each.floor_term and each.log_index and each.term for each in shown)
    return shown


def test_what_is_unknown_at_the_end_is_settled_for_good(home: Lab) -> None:
    history = History()
    load = Workload(home.addresses, history=history, clients=0, seed=1)
    with connect(home.addresses, timeout=30) as client, connect(home.addresses) as writer:
        clients.drop(client)
        clients.prepare(client)
        writer.space(JOURNAL).insert([1, "write"])
        tokens = [f"{writer.session}:1", f"{writer.session}:2"]
        for number, token in enumerate(tokens, start=1):
            process = history.new_process()
            history.invoke(process, "write", key="register 0", value=number)
            load.tally.unknown[number] = UnresolvedWrite(
                process=process, number=number, token=token, client=writer
            )
        assert load.settle(client) == 2
        assert [(each.value, each.type) for each in history.lines[2:]] == [
            (1, OutcomeType.OK),
            (2, OutcomeType.FAIL),
        ]
        assert (load.tally.unknown, load.tally.undone) == ({}, {2})
        with pytest.raises(SessionExpired):  # as would a late copy of it
            client.space(JOURNAL).insert([2, "write"], token=tokens[1])
        assert client.space(JOURNAL).get([2]) is None
