"""Kinds of load: the checks of each kind compare answers with the final rows."""

import pytest

from admin.checker.verdict import Result
from admin.drills import expectations, reader
from admin.workload import proof
from admin.workload.catalogue import LOADS
from admin.workload.history import History, OutcomeType
from admin.workload.load_names import JOURNAL, QUEUE, SPACES, LoadKind
from admin.workload.proof import Proof
from admin.workload.tally import ReceiptPlace, WriteTally

SAME = {"n1": {"s": "d"}, "n2": {"s": "d"}}


def place(term: int, index: int) -> ReceiptPlace:
    return ReceiptPlace(client=1, term=term, index=index)


def prove(tally: WriteTally, history: History, journal: set[int]) -> Proof:
    return proof.prove(tally, history.lines, journal=journal, balances={}, digests=SAME)


def did(
    history: History, f: str, key: str | None, value: object, kind: OutcomeType = OutcomeType.OK
) -> None:
    process = history.new_process()
    history.invoke(process, f, key=key, value=value)
    history.complete(process, kind, value=value)


@pytest.mark.parametrize("kind", LoadKind)
def test_every_kind_of_load_has_something_to_do_and_spaces_that_are_known(kind: LoadKind) -> None:
    load = LOADS[kind]
    assert load.about
    assert all(share > 0 for _, share in load.acts)
    assert {*load.spaces, JOURNAL} <= SPACES.keys()


def test_an_asynchronous_write_may_be_lost_unless_one_behind_it_was_acknowledged() -> None:
    tally, history = WriteTally(), History()
    tally.ack(1, place(3, 10), 0.01, sync=False)
    tally.ack(2, place(3, 11), 0.01)
    tally.ack(3, place(3, 12), 0.01, sync=False)
    tally.ack(4, place(2, 5), 0.01, sync=False)
    did(history, "add", QUEUE, 2)
    did(history, "read", QUEUE, [2])
    assert prove(tally, history, {2}).lost == (1,)
    assert prove(tally, history, {1, 2}).lost == ()
    assert prove(tally, history, {1}).lost == (2,)


def test_a_set_that_lost_an_element_is_not_linearizable() -> None:
    history = History()
    did(history, "add", "set 0", 1)
    did(history, "add", "set 0", 2)
    did(history, "read", "set 0", [1])
    assert prove(WriteTally(), history, set()).linearity.result is Result.FAIL
    history = History()
    did(history, "add", "set 0", 1)
    did(history, "add", "set 0", 2, OutcomeType.INFO)
    did(history, "read", "set 0", [1])
    assert prove(WriteTally(), history, set()).linearity.result is Result.PASS


def test_a_list_that_lost_what_somebody_appended_is_found_by_its_dependencies() -> None:
    def history(last: list[int]) -> History:
        made = History()
        did(made, "txn", None, [["append", 1, 10]])
        did(made, "txn", None, [["r", 1, [10]], ["append", 1, 11]])
        did(made, "txn", None, [["r", 1, last]])
        return made

    assert prove(WriteTally(), history([10, 11]), set()).linearity.result is Result.PASS
    assert prove(WriteTally(), history([11]), set()).linearity.result is Result.FAIL
    assert prove(WriteTally(), history([10]), set()).linearity.result is Result.FAIL


def test_money_is_counted_only_where_there_is_a_bank() -> None:
    assert prove(WriteTally(), History(), set()).total_conserved
    path = reader.find("leader-kill")
    drill = reader.load(path, {"workload.kind": "set"})
    assert drill.load.kind is LoadKind.SET
    assert not LOADS[drill.load.kind].has_bank
    assert expectations.checks(drill) == [
        "linearizable",
        "replicas_identical",
        "rolled_back_invisible",
        "one_leader_per_term",
    ]
    assert "total_conserved" in expectations.checks(reader.load(path))
