"""Faults in the configurations that nodes follow."""

from tests.spark.spoiling import Case, Lacks, first, num, plants

MEETING_MIN = 3


@plants("configuration-steps")
def two_voters_at_once(case: Case) -> None:
    """A configuration removes two voters at once"""
    _configures(case, case.leader, *case.nodes[:-2], above=1)


@plants("configuration-steps")
def changed_before_it_was_decided(case: Case) -> None:
    """A configuration is changed before the previous change is decided"""
    _configures(case, case.leader, *case.nodes[:-1], above=1)
    _configures(case, case.leader, *case.nodes, above=2)


@plants("configuration-steps")
def changed_before_the_promote_was_confirmed(case: Case) -> None:
    """A leader changes the configuration before its own PROMOTE is confirmed"""
    led = case.events("leads")[-1]
    promote = first(row for row in case.kinds(1, "PROMOTE") if row["term"] == led["term"])
    change = {**led, "name": "configured", "index": num(promote, "index") + 1}
    voters = [row for row in case.events("voter") if row["node"] == led["node"]]
    known = {row["peer"]: row for row in voters}
    now = [{**change, "floor": len(known)}, *known.values()]
    case.insert_events(case.tables["events"].index(led) + 1, now)


@plants("configuration-quorums")
def two_configurations_of_one_entry(case: Case) -> None:
    """Two nodes read different voters from one entry"""
    _configures(case, case.leader, *case.nodes[:-1], above=1)
    _configures(case, case.follower, *case.nodes[1:], above=1)


@plants("configuration-quorums")
def elected_by_lost_disks(case: Case) -> None:
    """A node leads with votes of directories outside its configuration"""
    led = case.events("leads")[-1]
    opened = [row for row in case.events("opened") if row["node"] != led["node"]]
    lost = [{**row, "floor": num(row, "floor") + 1} for row in opened]
    votes = [row for row in case.events("vote") if row["term"] == led["term"]]
    case.insert_events(case.tables["events"].index(votes[0]), lost)
    again = {row["node"]: row for row in opened}
    case.insert_events(case.tables["events"].index(led) + 1, list(again.values()))


@plants("configuration-quorums")
def quorum_below_the_majority(case: Case) -> None:
    """A node confirms with fewer acks than a majority of the voters in force"""
    if len(case.nodes) < MEETING_MIN:
        raise Lacks("with fewer voters one is a majority")
    case.events("confirmed")[-1]["floor"] = 1


@plants("removed-count-nowhere")
def led_by_a_removed_member(case: Case) -> None:
    """A node leads although it confirmed a configuration without itself"""
    led = case.events("leads")[-1]
    events = case.tables["events"]
    now = num(led, "number")
    granted = [row for row in case.events("vote") if row["term"] == led["term"]]
    votes = {row["node"] for row in granted if num(row, "number") < now}
    before = [row for row in case.events("confirmed") if num(row, "number") < now]
    mine = [row for row in before if (row["node"], row["life"]) == (led["node"], led["life"])]
    others = [node for node in case.nodes if node != led["node"]]
    if not mine or not votes.issuperset(others):
        raise Lacks("a leader that had confirmed something and has all votes")
    said = [row for row in case.events("voter") if row["node"] == led["node"]]
    known = {row["peer"]: row for row in said}
    back = first(row for row in case.events("configured") if row["node"] == led["node"])
    place = {"index": mine[-1]["index"], "term": mine[-1]["term"], "floor": len(others)}
    left_out = [{**back, **place}, *(known[node] for node in others)]
    case.insert_events(events.index(led) + 1, [back, *known.values()])
    case.insert_events(events.index(led), left_out)


@plants("removed-count-nowhere")
def generations_mixed(case: Case) -> None:
    """A node takes part in a term of another generation than its directory's"""
    row = case.events("ballot")[-1]
    late = 1 + max(num(each, "time_mono") for each in case.tables["status"])
    case.event("ballot", num(row, "node"), term=num(row, "term") + (1 << 24), time_mono=late)


def _configures(case: Case, node: int, *voters: int, above: int) -> None:
    """A node follows other voters by an entry so far behind the last one."""
    known = {row["peer"]: row["floor"] for row in case.events("voter")}
    last = case.last(node)
    place = {"index": num(last, "index") + above, "term": case.samples(node)[-1]["term"]}
    case.event("configured", node, floor=len(voters), **place)
    for voter in voters:
        case.event("voter", node, peer=voter, floor=known[voter], **place)
