"""Faults in answers to clients and to readers of the feed."""

from admin.evidence.tables import Row
from tests.spark.spoiling import Case, Lacks, first, middle, num, plants

# -- requests


@plants("once")
def applied_twice(case: Case) -> None:
    """A request that was retried took effect twice"""
    gone = case.rolled_back(1)
    kept = [row for row in case.kinds(1, "TXN") if num(row, "index") not in gone]
    row = middle([row for row in kept if row.get("seq") and row["flags"] == 3])
    case.append("TXN", session=row["session"], seq=row["seq"])
    case.confirm_all()


@plants("receipts-kept")
def receipt_of_another_term(case: Case) -> None:
    """A receipt names a term that no log has at its index"""
    row = middle(case.receipts())
    row["term"] = num(row, "term") + 7


@plants("receipt-own")
def receipt_of_another_request(case: Case) -> None:
    """A receipt names the entry of another request"""
    row = middle(case.receipts())
    row["seq"] = num(row, "seq") + 100_000


@plants("receipt-own")
def receipt_of_two_requests(case: Case) -> None:
    """Two requests have a receipt of the same entry"""
    kept = [row for row in case.tables["ops"] if row["type"] == "ok" and row.get("seq")]
    row = first(row for row in kept if row["f"] == "txn" and row.get("log_index"))
    other = first(
        each
        for each in case.receipts()
        if each["term"] == row["term"] and num(each, "index") > num(row, "index")
    )
    row["log_index"] = other["log_index"]


@plants("receipt-own")
def receipt_of_another_key(case: Case) -> None:
    """The entry of an acknowledged write changes another key in all logs"""
    row = middle([row for row in case.receipts() if row.get("key_hash")])
    for node in case.nodes:
        entry = case.entry(node, num(row, "log_index"))
        entry["key_hash"] = num(entry, "key_hash") ^ 1


@plants("failures-gone")
def failure_that_happened(case: Case) -> None:
    """A write that definitely failed took effect"""
    read = {repr(row.get("value")) for row in case.tables["ops"] if row["f"] == "read"}
    row = first(
        row for row in case.receipts() if row["f"] == "write" and repr(row["value"]) not in read
    )
    if any(e["f"] == "cas" and e["key"] == row["key"] for e in case.tables["ops"]):
        raise Lacks("a write that nobody saw")
    row["type"] = "fail"


@plants("rolled-back-hidden", "linearizable", "failures-have-no-effect")
def rolled_back_and_read(case: Case) -> None:
    """A read shows a rolled-back write"""
    key = "registers 77"
    row = case.append("TXN", session="s77", seq=1)
    case.append("ROLLBACK", ref_owner=row["origin"], ref_lsn=row["lsn"])
    case.confirm_all()
    case.does("write", key, 77, session="s77", seq=1)
    case.tables["ops"][-1]["type"] = "fail"
    case.does("read", key, 77)


# -- histories


@plants("linearizable")
def stale_read(case: Case) -> None:
    """A read does not show a write that was acknowledged before it began"""
    case.does("write", "registers 99", 1)
    case.does("read", "registers 99", None)


@plants("linearizable")
def lost_update(case: Case) -> None:
    """Two clients replace the same value, and both writes are acknowledged"""
    key = "registers 99"
    case.does("write", key, 1)
    case.does("cas", key, [1, 2])
    case.does("cas", key, [1, 3])


@plants("strict-serializable")
def read_skew(case: Case) -> None:
    """A transaction sees half of another one"""
    case.does("txn", "lists", [["append", "a", 1], ["append", "b", 1]])
    case.does("txn", "lists", [["r", "a", [1]], ["r", "b", []]])
    case.does("txn", "lists", [["r", "a", [1]], ["r", "b", [1]]])


@plants("strict-serializable")
def write_skew(case: Case) -> None:
    """Two transactions each miss the other's write"""
    case.does("txn", "lists", [["r", "a", []], ["append", "b", 1]])
    case.does("txn", "lists", [["r", "b", []], ["append", "a", 1]])
    case.does("txn", "lists", [["r", "a", [1]], ["r", "b", [1]]])


@plants("linearizable", "bank-total")
def money_made(case: Case) -> None:
    """The total balance grows"""
    case.does("read", "bank", {"a": 5, "b": 5})
    case.does("transfer", "bank", ["a", "b", 1])
    case.does("read", "bank", {"a": 4, "b": 7})


@plants("monotonic-reads")
def session_goes_back(case: Case) -> None:
    """A session reads an older state than before"""
    case.does("read", "registers 99", None, session="s99", log_index=9)
    case.does("read", "registers 99", None, session="s99", log_index=8)


@plants("read-your-writes")
def receipt_not_honoured(case: Case) -> None:
    """A read with a receipt shows an older state"""
    case.does("read", "registers 99", None, floor=9, log_index=8)


@plants("read-your-writes")
def receipt_of_another_log(case: Case) -> None:
    """A read with a receipt shows a longer log of an older term"""
    given = {"floor": 9, "floor_term": 3}
    case.does("read", "registers 99", None, **given, log_index=12, term=2)


# -- feeds


@plants("feed-complete")
def feed_skips(case: Case) -> None:
    """A feed skips a change"""
    row = _answer(case, 1)
    places = _places(row)
    row["places"] = [each for each in places if each != places[-1]]


@plants("feed-complete")
def feed_repeats(case: Case) -> None:
    """A feed delivers the same changes twice"""
    row = _answer(case, 1)
    number = max(num(each, "number") for each in case.tables["feeds"]) + 1
    case.tables["feeds"].append({**row, "number": number})


@plants("feed-complete")
def feed_out_of_order(case: Case) -> None:
    """A feed delivers changes in the wrong order"""
    row = _answer(case, 2)
    row["places"] = _places(row)[::-1]


@plants("feed-complete")
def feed_gives_what_was_rolled_back(case: Case) -> None:
    """A feed delivers a transaction that was rolled back"""
    gone = case.append("TXN")
    case.append("ROLLBACK", ref_owner=gone["origin"], ref_lsn=gone["lsn"])
    case.confirm_all()
    last = [row for row in case.tables["feeds"] if row["reader"] == 1][-1]
    number = max(num(each, "number") for each in case.tables["feeds"]) + 1
    at, term = num(gone, "index"), num(gone, "term")
    case.tables["feeds"].append(
        {**last, "number": number, "after": last["upto"], "upto": at, "places": [[at, term]]}
    )


# -- what proves nothing


@plants(doubts=["times-usable"])
def clock_set_back(case: Case) -> None:
    """The clock of the clients jumps back, so their times prove nothing"""
    lines = sorted(case.tables["ops"], key=lambda row: num(row, "index"))
    for row in lines[len(lines) // 2 :]:
        row["time"] = num(row, "time") - 3_600_000_000_000


@plants(doubts=["eventful"])
def history_empty(case: Case) -> None:
    """No client did anything"""
    case.tables["ops"] = []


@plants(doubts=["eventful"])
def nothing_broke(case: Case) -> None:
    """No fault happened"""
    case.tables["nemesis"] = []


def _answer(case: Case, size: int) -> Row:
    """An answer of the feed with at least so many changes to spaces of users."""
    spaces = {row["index"]: row["space"] for row in case.kinds(1, "TXN")}
    users = {at for at, space in spaces.items() if isinstance(space, int) and space >= 512}
    return first(
        row
        for row in case.tables["feeds"]
        if len(_places(row)) >= size and all(each[0] in users for each in _places(row))
    )


def _places(row: Row) -> list[list[int]]:
    found = row["places"]
    assert isinstance(found, list)
    return found
