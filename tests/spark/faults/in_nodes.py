"""Faults in what nodes did and said of themselves."""

from admin.evidence.tables import SNAPSHOT, Row
from tests.spark.spoiling import Case, Lacks, first, middle, num, plants

MEETING_MIN = 3

# -- events


@plants("one-vote")
def voted_twice(case: Case) -> None:
    """A node votes for two candidates in a term"""
    row = first(case.events("vote"))
    other = 1 + num(row, "peer") % len(case.nodes)
    number = max(num(each, "number") for each in case.tables["events"]) + 1
    case.tables["events"].append({**row, "peer": other, "number": number})


@plants("ballot-kept")
def ballot_forgotten(case: Case) -> None:
    """A disk loses the term"""
    row = [row for row in case.events("ballot") if row["node"] == 1][-1]
    case.event("ballot", 1, term=num(row, "term") - 1, peer=None)


@plants("vote-durable")
def vote_not_on_disk(case: Case) -> None:
    """A node sends its vote before it is durable"""
    term = max(num(row, "term") for row in case.events("ballot")) + 1
    case.event("vote", 2, term=term, peer=1)


@plants("votes-suffice", "configuration-quorums")
def elected_by_too_few(case: Case) -> None:
    """A node leads without the votes of a majority"""
    row = case.events("leads")[-1]
    case.drop(
        "events",
        lambda e: e["name"] == "vote" and (e["term"], e["peer"]) == (row["term"], row["node"]),
    )


@plants("votes-suffice")
def promoted_without_an_election(case: Case) -> None:
    """All logs contain a PROMOTE of a term without votes and without a leader"""
    row = case.events("leads")[-1]
    if row["term"] == case.events("leads")[0]["term"]:
        raise Lacks
    gone = {"vote", "leads", "ballot"}
    case.drop("events", lambda e: e["name"] in gone and e["term"] == row["term"])


@plants("ack-durable")
def acked_before_the_disk(case: Case) -> None:
    """A node acks entries that are only in memory"""
    row = case.events("ack")[-1]
    known = {"term": row["term"], "peer": row["peer"]}
    case.event("ack", num(row, "node"), index=num(row, "index") + 9, crc=77, **known)


@plants("promise-kept")
def voted_in_spite_of_a_promise(case: Case) -> None:
    """A node votes for another candidate before its promise to the leader ends"""
    row = case.events("vote")[-1]
    node, time = num(row, "node"), num(row, "time_mono")
    leader = next(each for each in case.nodes if each not in {node, num(row, "peer")})
    promised = {"peer": leader, "term": num(row, "term") - 1, "floor": time + 1_000_000}
    events = case.tables["events"]
    events.insert(events.index(row), {**row, "name": "promised", "crc": None, **promised})


@plants("confirm-by-acks")
def confirmed_by_acks_of_another_term(case: Case) -> None:
    """A leader counts acks from an older term"""
    last = max(case.events("confirmed"), key=lambda row: num(row, "index"))
    for row in case.events("ack"):
        if row["term"] == last["term"] and num(row, "index") >= num(last, "index"):
            row["term"] = num(row, "term") - 1


@plants("confirm-by-acks")
def confirmed_by_acks_of_lost_disks(case: Case) -> None:
    """A leader counts acks of directories outside its configuration"""
    last = max(case.events("confirmed"), key=lambda row: num(row, "index"))
    led = _led(case, last)
    others = [row for row in case.events("opened") if row["node"] != last["node"]]
    lost = [{**row, "floor": num(row, "floor") + 1} for row in others]
    case.insert_events(case.tables["events"].index(led) + 1, lost)


@plants("confirm-by-acks")
def confirmed_by_a_former_configuration(case: Case) -> None:
    """A leader counts by a former configuration, not by the one in force"""
    last = max(case.events("confirmed"), key=lambda row: num(row, "index"))
    events = case.tables["events"]
    if num(events[events.index(last) - 1], "time_mono") == num(last, "time_mono"):
        raise Lacks  # a leader whose configuration changes in that batch may count by the former
    said = [row for row in case.events("voter") if row["node"] == last["node"]]
    *others, kept = {row["peer"]: row for row in said}.values()
    mine = {**last, "crc": None, "time_mono": num(last, "time_mono") - 1, "peer": None}
    now: list[Row] = [{**mine, "name": "configured", "index": 0, "term": 0}]
    now[0]["floor"] = 1 + len(others)
    now += [{**row, "floor": 4_000_000_000} for row in others]
    now.append(kept)
    case.insert_events(events.index(last), now)


@plants("promise-kept")
def slept_for_less_than_the_promise(case: Case) -> None:
    """A node votes for another candidate after a suspend that was shorter than its promise"""
    voted_in_spite_of_a_promise(case)
    row = case.events("promised")[-1]
    slept = 1_000_000_000
    row["floor"] = num(row, "floor") + slept
    events = case.tables["events"]
    events.insert(events.index(row), {**row, "name": "slept", "floor": slept, "peer": None})


@plants("reads-by-place")
def read_from_another_log(case: Case) -> None:
    """A read is served from a log that is long enough, but is not the leader's"""
    last = max(case.events("confirmed"), key=lambda row: num(row, "index"))
    node = next(each for each in case.nodes if each != last["node"])
    index, term = num(last, "index"), num(last, "term") - 1
    case.event("served", node, index=index, floor=index, term=term)


@plants("same-directory")
def opened_as_a_copy(case: Case) -> None:
    """A node starts on a copy of its directory"""
    case.event("opened", 1, index=11, peer=3, floor=5)
    case.event("opened", 1, index=12, peer=3, floor=5)


@plants("same-directory")
def went_on_in_another_file(case: Case) -> None:
    """After a disk fault a node continues in another file than the one it had open"""
    case.event("log-opened", 1, index=11, peer=3)
    case.event("log-opened", 1, index=12, peer=3)


@plants("reads-fresh")
def read_by_a_deposed_leader(case: Case) -> None:
    """A node serves a read from a state older than an answer of another node"""
    last = max(num(row, "index") for row in case.events("confirmed"))
    case.event("served", 1, index=last - 1, floor=last)


@plants("quorum-before-confirm", "confirm-by-acks")
def acked_by_too_few(case: Case) -> None:
    """The last entry is confirmed while only one disk has it"""
    rows = case.events("confirmed")
    last = max(num(row, "index") for row in rows)
    owner = next(row for row in rows if row["index"] == last)["node"]
    case.drop(
        "events",
        lambda row: (
            row["name"] in {"durable", "ack"}
            and row["index"] == last
            and (row["node"] != owner or row["name"] == "ack")
        ),
    )


@plants("quorum-before-confirm", "confirm-by-acks")
def confirmed_by_the_quorum_of_before(case: Case) -> None:
    """The quorum was raised to three, and the last entry is confirmed with two disks"""
    rows = sorted(case.events("confirmed"), key=lambda row: num(row, "number"))
    last = max(num(row, "index") for row in rows)
    owner = next(row for row in rows if row["index"] == last)["node"]
    away = next(each for each in case.nodes if each != owner)
    for row in rows[len(rows) // 2 :]:
        row["floor"] = len(case.nodes)
    case.drop(
        "events",
        lambda row: (
            row["name"] in {"durable", "ack"} and row["index"] == last and row["node"] == away
        ),
    )


# -- samples


@plants("one-leader")
def second_leader(case: Case) -> None:
    """Two nodes report that they lead the same term"""
    case.sample(case.follower, role="leader")


@plants("one-leader")
def follows_a_stranger(case: Case) -> None:
    """A follower follows a node that does not lead the term"""
    other = next(each for each in case.nodes if each not in {case.leader, case.follower})
    case.sample(case.follower, leader=other)


@plants("one-leader", "one-writable", "comes-to-rest")
def two_writable(case: Case) -> None:
    """Two nodes accept writes in the same term"""
    case.sample(case.follower, role="leader", ro=False)


@plants("fenced")
def fence_that_does_not_fall(case: Case) -> None:
    """An isolated leader accepts writes long after its successor does"""
    limit = case.manifest.settings["fence_seconds"]
    assert isinstance(limit, float)
    writable = [row for row in case.tables["status"] if row["ro"] is False]
    for row in reversed(writable):
        newer = [
            num(each, "time_mono")
            for each in writable
            if num(each, "term") > num(row, "term") and each["node"] != row["node"]
        ]
        time = min(newer, default=0) + int(limit * 1e9) + 1
        knows = _higher(case, row)
        if newer and knows > time and _life_at(case, row, time):
            for each in case.tables["status"]:
                each["sample"] = 2 * num(each, "sample")
            mine = [e for e in case.samples(num(row, "node")) if num(e, "time_mono") < time]
            late = {"time_mono": time, "crc": None, "sample": num(mine[-1], "sample") + 1}
            case.tables["status"].append({**row, **late})
            return
    raise Lacks("a leader that was cut off for long")


def _higher(case: Case, row: Row) -> int:
    """When this node first had a higher term on its disk, or said so."""
    rows = [*case.samples(num(row, "node")), *case.events("ballot")]
    times = [
        num(each, "time_mono")
        for each in rows
        if each["node"] == row["node"] and num(each, "term") > num(row, "term")
    ]
    return min(times, default=0)


def _life_at(case: Case, row: Row, time: int) -> bool:
    """The process still runs at that time, and has confirmed nothing more."""
    before = [e for e in case.samples(num(row, "node")) if num(e, "time_mono") < time]
    return all(before[-1][name] == row[name] for name in ("life", "term", "confirmed"))


@plants("status-monotone", "lives-forward")
def term_goes_back(case: Case) -> None:
    """The term of a running node goes back below the term on its disk"""
    node = case.follower
    case.sample(node, term=num(case.samples(node)[-1], "term") - 1, leader=None)


@plants("status-monotone")
def confirmed_goes_back(case: Case) -> None:
    """The confirmed index of a running node goes back"""
    node = case.follower
    last = case.samples(node)[-1]
    if case.entry(1, num(last, "confirmed"))["kind"] == "ROLLBACK":
        raise Lacks("something but a ROLLBACK at the end")
    back = num(last, "confirmed") - 1
    case.sample(node, confirmed=back, visible=back)


@plants("lives-forward")
def term_lost_in_a_restart(case: Case) -> None:
    """A node starts in an older term than the one on its disk: its vote is lost"""
    node = case.follower
    last = case.samples(node)[-1]
    older = num(last, "term") - 1
    case.sample(node, term=older, life=num(last, "life") + 1, leader=None)


@plants("lives-forward")
def log_lost_in_a_restart(case: Case) -> None:
    """A node starts without the entries that it had confirmed on its disk"""
    node = case.follower
    nothing = dict.fromkeys(("last", "written", "confirmed", "visible", "limbo_len"), 0)
    case.sample(node, life=num(case.samples(node)[-1], "life") + 1, **nothing)


@plants("status-coherent", "confirmed-kept")
def confirmed_beyond_the_log(case: Case) -> None:
    """A node reports a confirmed index beyond the end of its log"""
    far = num(case.last(), "index") + 50
    case.sample(case.follower, confirmed=far, written=far)


@plants("limbo-replay")
def limbo_miscounted(case: Case) -> None:
    """A node reports one pending entry more than its log has"""
    row = middle([row for row in _of_the_log(case) if _between(row) > num(row, "limbo_len")])
    row["limbo_len"] = num(row, "limbo_len") + 1


@plants("limbo-replay")
def limbo_of_another(case: Case) -> None:
    """A node reports another owner of the limbo than its log has"""
    row = middle(_of_the_log(case))
    row["limbo_owner"] = 1 + num(row, "limbo_owner") % len(case.nodes)


@plants("limbo-replay")
def pending_is_shown(case: Case) -> None:
    """A node shows pending data"""
    row = middle([r for r in _of_the_log(case) if r["limbo_len"] and r["last"] == r["written"]])
    row["visible"] = row["last"]


@plants("comes-to-rest")
def limbo_never_drains(case: Case) -> None:
    """After healing a transaction stays pending forever"""
    for node in case.nodes:
        case.sample(node, limbo_len=1, last=num(case.last(), "index") + 1)


@plants("comes-to-rest")
def nobody_leads(case: Case) -> None:
    """After healing no node accepts writes"""
    case.sample(case.leader, ro=True, role="follower")


@plants("digests-equal")
def digest_differs(case: Case) -> None:
    """Two nodes show different rows at the same index"""
    shown = (row for row in case.tables["digests"] if not row.get("made"))
    row = first(row for row in shown if row["node"] == 2)
    row["digest"] = "0" * len(str(row["digest"]))


@plants("stored-replayed")
def stored_differs(case: Case) -> None:
    """The stored rows of a space differ from the replay of the node's log"""
    row = first(row for row in case.tables["digests"] if row.get("made") == SNAPSHOT)
    row["digest"] = "0" * len(str(row["digest"]))


@plants("quorums-meet")
def quorum_too_small(case: Case) -> None:
    """A node confirms with so few acks that a majority without them can elect a leader"""
    if len(case.nodes) < MEETING_MIN:
        raise Lacks("with fewer voters any quorum meets any majority")
    case.sample(case.follower, quorum=1)


def _of_the_log(case: Case) -> list[Row]:
    """Samples that speak of entries that are still in the log."""
    crcs = {(row["node"], row["index"]): row["crc"] for row in case.tables["wal"]}
    return [
        row
        for row in case.tables["status"]
        if row["crc"] is not None and crcs.get((row["node"], row["last"])) == row["crc"]
    ]


def _between(row: Row) -> int:
    return num(row, "last") - num(row, "confirmed")


def _led(case: Case, confirmed: Row) -> Row:
    """The election of who confirmed that in its own term."""
    last = case.events("leads")[-1]
    if (last["node"], last["term"]) != (confirmed["node"], confirmed["term"]):
        raise Lacks("something that the last leader confirmed in its own term")
    return last
