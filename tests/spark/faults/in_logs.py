"""Faults in the log of a node, or in what logs have in common."""

import itertools
from dataclasses import replace

from admin.evidence.tables import Row
from tests.spark.spoiling import Case, Lacks, first, middle, num, plants

# -- damage


@plants("log-chain", "log-matching")
def checksum_flipped(case: Case) -> None:
    """One bit of a checksum is flipped"""
    row = middle(_of_clients(case))
    row["crc"] = num(row, "crc") ^ 1


@plants("log-chain")
def body_damaged(case: Case) -> None:
    """One bit of a body is flipped"""
    row = middle(_of_clients(case))
    row["body_crc"] = num(row, "body_crc") ^ 1


@plants("log-chain")
def transaction_torn(case: Case) -> None:
    """The second half of a transaction is missing"""
    row = middle(_of_clients(case))
    row |= {"body_len": num(row, "body_len") // 2, "body_crc": 7}


@plants("log-dense", "log-lsns", "receipts-kept")
def row_missing(case: Case) -> None:
    """An acknowledged entry is missing from one log"""
    receipts = {row["log_index"] for row in case.receipts()}
    named = _named(case, 2)
    row = first(row for row in case.log(2) if row["index"] in receipts and _place(row) not in named)
    case.drop("wal", lambda each: each["node"] == 2 and each["index"] == row["index"])


@plants("log-dense", "log-lsns")
def row_twice(case: Case) -> None:
    """One log contains an entry twice"""
    case.tables["wal"].append(dict(middle(_of_clients(case))))


ALIKE = ("kind", "term", "origin", "flags", "space")


@plants("log-chain", "log-lsns", "log-matching")
def rows_swapped(case: Case) -> None:
    """Two entries without a client's receipt swap places"""
    told = {row.get("log_index") for row in case.tables["ops"]}
    log, named = case.log(1), _named(case, 1)
    for one, two in itertools.pairwise(log):
        same = all(one[each] == two[each] for each in ALIKE)
        free = not {_place(one), _place(two)} & named and not {one["index"], two["index"]} & told
        if same and free and one["kind"] == "TXN" and one["flags"]:
            one["index"], two["index"] = two["index"], one["index"]
            return
    raise Lacks("two alike in a row")


@plants("log-chain", "log-lsns")
def lsn_skipped(case: Case) -> None:
    """An lsn is skipped"""
    named = _named(case, 1)
    row = first(
        row for row in _of_clients(case) if _place(row) not in named and num(row, "index") > 10
    )
    row["lsn"] = num(row, "lsn") + 1000


@plants("log-lsns")
def lsn_given_twice(case: Case) -> None:
    """An lsn is given twice"""
    case.append("TXN", lsn=case.last()["lsn"])


@plants("log-terms", "log-owner")
def written_by_a_fenced_leader(case: Case) -> None:
    """A leader that was replaced keeps writing, in its old term"""
    old = first(row for row in case.kinds(1, "PROMOTE") if row["origin"] != case.last()["origin"])
    case.append("TXN", term=old["term"], origin=old["origin"])


@plants("log-owner")
def written_by_a_stranger(case: Case) -> None:
    """A node writes in the term of another leader"""
    other = next(node for node in case.nodes if node != case.last()["origin"])
    case.append("TXN", origin=other)


@plants("log-owner")
def written_after_the_demote(case: Case) -> None:
    """A leader keeps writing after its DEMOTE"""
    last = case.last()
    case.append("DEMOTE", ref_owner=last["origin"], ref_lsn=last["lsn"])
    case.append("TXN")


# -- CONFIRM and ROLLBACK


@plants("log-controls")
def confirm_beyond_the_log(case: Case) -> None:
    """A CONFIRM names an lsn beyond the end of the log"""
    last = case.last()
    case.append("CONFIRM", ref_owner=last["origin"], ref_lsn=num(last, "lsn") + 10)


@plants("confirms-forward")
def confirm_goes_back(case: Case) -> None:
    """A CONFIRM names a smaller lsn than the one before it"""
    known = case.kinds(1, "CONFIRM")
    if len(known) < 2:
        raise Lacks("two CONFIRMs")
    case.append("CONFIRM", ref_owner=known[0]["ref_owner"], ref_lsn=known[0]["ref_lsn"])


@plants("confirms-forward")
def confirm_of_an_older_term(case: Case) -> None:
    """A new leader confirms by an entry of its predecessor"""
    row = case.append("TXN")
    promoted = case.append("PROMOTE", **case.follows())
    ref = {"ref_owner": row["origin"], "ref_lsn": row["lsn"]}
    case.append("CONFIRM", term=promoted["term"], **ref)


@plants("log-fates")
def confirmed_after_rollback(case: Case) -> None:
    """A CONFIRM names entries that were rolled back before"""
    row = case.append("TXN")
    ref = {"ref_owner": row["origin"], "ref_lsn": row["lsn"]}
    case.append("ROLLBACK", **ref)
    case.append("CONFIRM", **ref)


@plants("log-fates")
def rolled_back_after_confirm(case: Case) -> None:
    """A ROLLBACK names entries that were confirmed before"""
    row = case.append("TXN")
    ref = {"ref_owner": row["origin"], "ref_lsn": row["lsn"]}
    case.append("CONFIRM", **ref)
    case.append("ROLLBACK", **ref)


@plants("log-fates", "rollback-legal")
def inherited_rolled_back(case: Case) -> None:
    """A new leader rolls back entries that it inherited, and its own PROMOTE with them"""
    row = case.append("TXN")
    case.append("PROMOTE", **case.follows())
    case.append("ROLLBACK", ref_owner=row["origin"], ref_lsn=row["lsn"])


@plants("rollback-legal")
def rolled_back_twice(case: Case) -> None:
    """A ROLLBACK names entries that were rolled back before"""
    row = case.append("TXN")
    ref = {"ref_owner": row["origin"], "ref_lsn": row["lsn"]}
    case.append("ROLLBACK", **ref)
    case.append("ROLLBACK", **ref)


@plants("rollback-legal")
def promote_rolled_back(case: Case) -> None:
    """A leader rolls back its own PROMOTE"""
    row = case.append("PROMOTE", **case.follows())
    case.append("ROLLBACK", ref_owner=row["origin"], ref_lsn=row["lsn"])


@plants("fates-shared")
def waits_for_nothing(case: Case) -> None:
    """An asynchronous transaction waits, though nothing is pending"""
    if case.queue().pending:
        raise Lacks("an empty limbo")
    case.append("TXN", flags=2)


@plants("fates-shared")
def asynchronous_rolled_back(case: Case) -> None:
    """An asynchronous transaction behind another is shown at once, and rolled back with it"""
    row = case.append("TXN")
    case.append("TXN", flags=0)
    case.append("ROLLBACK", ref_owner=row["origin"], ref_lsn=row["lsn"])


# -- PROMOTE: split brain


@plants("promote-fits")
def promote_of_an_old_term(case: Case) -> None:
    """A PROMOTE has a term that is not newer"""
    case.append("PROMOTE", **case.follows() | {"term": case.last()["term"]})


@plants("promote-fits")
def promote_below_the_confirmed(case: Case) -> None:
    """A PROMOTE names an lsn below the confirmed one"""
    queue = case.queue()
    confirmed = queue.confirmed.get(queue.owner, 0)
    if confirmed < 2:
        raise Lacks("an owner that has confirmed")
    case.append("PROMOTE", **case.follows() | {"ref_lsn": confirmed - 1})


@plants("promote-fits", "log-controls")
def promote_of_the_future(case: Case) -> None:
    """A PROMOTE names a future lsn, though nothing is pending"""
    if case.queue().pending:
        raise Lacks("an empty limbo")
    case.append("PROMOTE", **case.follows() | {"ref_lsn": num(case.last(), "lsn") + 7})


@plants("promote-fits")
def promote_beside_the_queue(case: Case) -> None:
    """A PROMOTE names an lsn that is neither confirmed nor the last pending one"""
    if case.queue().pending:
        raise Lacks("an empty limbo")
    case.append("TXN")
    row = case.append("TXN")
    case.append("PROMOTE", **case.follows() | {"ref_lsn": num(row, "lsn") - 1})


@plants("promote-fits")
def promote_of_another_owner(case: Case) -> None:
    """A PROMOTE names a previous owner that did not own the limbo"""
    follows = case.follows()
    row = first(row for row in case.log(1) if row["origin"] != follows["ref_owner"])
    case.append("PROMOTE", **follows | {"ref_owner": row["origin"], "ref_lsn": row["lsn"]})


# -- across


@plants("log-matching")
def another_entry_at_the_same_place(case: Case) -> None:
    """Two logs differ at one index, and each is valid by itself"""
    row = case.last(2)
    row |= {"crc": num(row, "crc") ^ 5, "body_crc": num(row, "body_crc") ^ 5}


@plants("one-leader")
def two_promotes_in_a_term(case: Case) -> None:
    """Two nodes wrote a PROMOTE in the same term"""
    follows = case.follows()
    one, two, *rest = case.nodes
    case.append("PROMOTE", [one, *rest], **follows, origin=one)
    row = case.append("TXN", [two])
    owns = {"ref_lsn": row["lsn"]} if follows["ref_owner"] == row["origin"] else {}
    case.append("PROMOTE", [two], **follows | owns, origin=two)


@plants("confirmed-agree", "stretches-whole")
def rolled_back_elsewhere(case: Case) -> None:
    """An entry is confirmed on one node and rolled back on another"""
    row = case.append("TXN")
    ref = {"ref_owner": row["origin"], "ref_lsn": row["lsn"]}
    case.append("CONFIRM", [1], **ref, crc=1)
    case.append("ROLLBACK", case.nodes[1:], **ref)
    for node in case.nodes:
        case.entry(node, num(row, "index") + 1)["crc"] = 1
    case.confirm_all()
    case.sample(1, last=num(row, "index") + 1, confirmed=row["index"], visible=row["index"])


@plants("confirmed-agree", "receipts-kept")
def tail_not_cut(case: Case) -> None:
    """After a failover a node keeps the tail of the previous leader"""
    newest = max((num(row, "log_index") for row in case.receipts()), default=0)
    older = [row for row in case.kinds(3, "PROMOTE") if 1 < num(row, "index") < newest]
    promote = older[-1] if older else None
    if promote is None or case.entry(3, num(promote, "index") - 1)["kind"] == "DEMOTE":
        raise Lacks("receipts of a later term")
    case.drop("wal", lambda row: row["node"] == 3 and num(row, "index") >= num(promote, "index"))
    while num(case.last(3), "index") < num(case.last(1), "index"):
        case.append("TXN", [3])


@plants("leader-complete", "confirmed-agree", "confirmed-kept", "votes-suffice")
def leader_without_what_was_confirmed(case: Case) -> None:
    """A leader lacks an entry that was confirmed in an earlier term"""
    receipts = {row.get("log_index") for row in case.tables["ops"]}
    half = num(case.last(3), "index") // 2
    halves = {index + 1 for index in case.rolled_back(3)}  # a stretch without its ROLLBACK
    cut = max((each for each in range(2, half) if each not in receipts | halves), default=0)
    if not cut:
        raise Lacks("a long log")
    case.drop("wal", lambda row: row["node"] == 3 and num(row, "index") >= cut)
    term = num(case.last(1), "term") + 1
    lsns: dict[int, int] = {}
    owner = 0
    for row in case.log(3):
        lsns[num(row, "origin")] = num(row, "lsn")
        owner = {"PROMOTE": num(row, "origin"), "DEMOTE": 0}.get(str(row["kind"]), owner)
    ref = {"ref_owner": owner, "ref_lsn": lsns.get(owner, 0)}
    case.append("PROMOTE", [3], term=term, origin=3, **ref)


@plants("confirmed-kept", "durable-kept")
def confirmed_tail_lost(case: Case) -> None:
    """A node lost entries that it had confirmed"""
    _lose_tail(case)


@plants("confirmed-kept", "durable-kept")
def confirmed_lost_with_a_second_directory(case: Case) -> None:
    """A node with a new directory lost entries that it had confirmed since"""
    nodes = [replace(each, generation=1 + (each.node == 3)) for each in case.manifest.nodes]
    case.manifest = replace(case.manifest, nodes=tuple(nodes))
    for table in ("wal", "status", "events", "digests"):
        for row in case.tables[table]:
            if row["node"] == 3:
                row["generation"] = 2
    _lose_tail(case)


def _lose_tail(case: Case) -> None:
    pairs = [(row.get("confirmed"), row.get("written")) for row in case.samples(3)]
    had = max(min(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int))
    case.drop("wal", lambda row: row["node"] == 3 and num(row, "index") >= had)


@plants("durable-kept")
def pending_tail_lost(case: Case) -> None:
    """A stopped node lost the entry behind its confirmed ones, which was on its disk"""
    last = case.last(3)
    place = {"index": num(last, "index") + 1, "term": last["term"]}
    case.event("durable", 3, **place, crc=num(last, "crc") ^ 9)


@plants("stretches-whole")
def stopped_inside_of_a_stretch(case: Case) -> None:
    """A confirmed index stops inside a rolled-back stretch"""
    row = case.append("TXN")
    case.append("ROLLBACK", ref_owner=row["origin"], ref_lsn=row["lsn"])
    case.confirm_all()
    index = num(row, "index")
    case.sample(case.follower, last=index + 1, confirmed=index, visible=index)


def _of_clients(case: Case) -> list[Row]:
    """Synchronous entries of node 1 that a client asked for."""
    return [row for row in case.kinds(1, "TXN") if row.get("seq") and row["flags"] == 3]


def _place(row: Row) -> tuple[object, object]:
    return (row["origin"], row["lsn"])


def _named(case: Case, node: int) -> set[tuple[object, object]]:
    return {(row.get("ref_owner"), row.get("ref_lsn")) for row in case.log(node)}
