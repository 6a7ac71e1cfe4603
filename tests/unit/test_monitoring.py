"""The shipped alert rules and dashboard: every metric exists, and alerts fire when they should."""

import json
import re
from itertools import combinations

import promql_parser as promql
import pytest
import yaml

from admin.backup.catalogue import Catalogue
from admin.backup.manifest import BackupManifest
from admin.backup.places import Folder
from admin.metrics import backups
from admin.metrics.backups import BACKUP_FAMILIES
from admin.metrics.families import FAMILIES, MetricType
from admin.metrics.text import expose
from qsync.histogram import Histogram
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.answers import placed, spread, synchro
from tests.repo import tree
from tests.unit.promql import Evaluator, Scrape

FOLDER = tree.ROOT / "docs" / "monitoring"
GROUP = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]
RULES = GROUP["rules"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]] + [
    each["expr"] for each in DASHBOARD["annotations"]["list"]
]
NOW, EARLIER = 1_700_000_300.0, 1_700_000_000.0


def names() -> set[str]:
    """Every series name that a node can show."""
    found: set[str] = set()
    for family in FAMILIES:
        parts = ("_bucket", "_sum", "_count") if family.kind is MetricType.HISTOGRAM else ("",)
        found |= {family.name + part for part in parts}
    return found | {each.name for each in BACKUP_FAMILIES}


def used(query: str) -> set[str]:
    """The metrics of a query, once it is known to be one."""
    promql.parse(query.replace("$__rate_interval", "5m").replace("$cluster", "demo"))
    return set(re.findall(r"\b(?:qsync_\w+|up)\b", query))


# ------------------------------------------------------------------------------- what is written


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_is_a_query_over_metrics_there_are_and_says_what_to_do(
    rule: dict[str, object],
) -> None:
    assert used(str(rule["expr"])) <= names() | {"up"}
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    labels, notes = rule["labels"], rule["annotations"]
    assert isinstance(labels, dict)
    assert isinstance(notes, dict)
    assert labels["severity"] in {"critical", "warning"}
    assert set(notes) == {"summary", "fix"}
    assert re.search(r"\{\{ \$labels\.\w+ \}\}", notes["summary"])


def test_alerts_are_evaluated_more_often_than_prometheus_does_by_itself() -> None:
    """Once a minute: one that is to fire after 5 s would take up to two."""
    assert GROUP["interval"] == "15s"


def test_a_dashboard_shows_only_metrics_there_are() -> None:
    for query in QUERIES:
        assert used(query) <= names(), query
    assert len(QUERIES) > 40


def test_every_panel_of_the_dashboard_has_its_place_and_says_what_it_shows() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"].endswith(".")
    for one, other in combinations([panel["gridPos"] for panel in DASHBOARD["panels"]], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above


def test_what_operators_asked_for_has_an_alert_and_a_place_on_the_dashboard() -> None:
    wanted = {
        "qsync_limbo_age_seconds",
        "qsync_quorum_margin",
        "qsync_leader",
        "qsync_transactions_rolled_back_total",
        "qsync_unknown_outcomes_total",
        "qsync_disk_write_seconds_bucket",
        "qsync_lost_async_writes_total",
    }
    for where in ([str(rule["expr"]) for rule in RULES], QUERIES):
        assert wanted <= set().union(*(used(query) for query in where))


# ------------------------------------------------------------------------------------ when it fires


def node(id: int, **changes: object) -> NodeStatus:
    """Of three, the first leads."""
    leads = id == 1
    others = [other for other in (1, 2, 3) if other != id]
    answer: dict[str, object] = {
        "id": id,
        "name": f"n{id}",
        "cluster": {"name": "demo"},
        "status": "running",
        "role": "leader" if leads else "follower",
        "leader": 1,
        "ro": not leads,
        "behind": 0,
        "time": NOW,
        "nodes": [[n, f"n{n}", f"a:{n}"] for n in (1, 2, 3)],
        "peers": [{"id": n, "name": f"n{n}", "status": "up"} for n in others],
        "synchro": limbo(),
        "counters": {},
        "disk": {"free": 50, "total": 100},
        "files": [10, 1024],
        "latency": times(0.002),
        "writes": times(0.001),
    }
    return decode.status(placed(answer | changes))


def times(*seconds: float) -> dict[str, object]:
    made = Histogram()
    for each in seconds:
        made.add(each)
    return spread(made)


def limbo(**more: object) -> dict[str, object]:
    whole: dict[str, object] = {"quorum": 2, "timeout": 5.0, "entries_max": 100, "bytes_max": 1000}
    return synchro(**whole | more)


def held(bytes_: int) -> dict[str, object]:
    reader = {"name": "mailer", "kind": "subscriber", "size": bytes_}
    return {"retention": 1000, "consumers": [reader]}


def snapshot_of(hours: float) -> dict[str, object]:
    return {
        "checkpoint_interval": 3600.0,
        "checkpoints": [{"signature": 5, "time": NOW - hours * 3600}],
    }


def peers(*down: int) -> list[dict[str, object]]:
    return [{"id": n, "name": f"n{n}", "status": "down" if n in down else "up"} for n in (2, 3)]


CALM = [node(1), node(2), node(3)]
NOBODY: dict[str, object] = {"role": "candidate", "leader": None, "ro": True}
FIRING: dict[str, list[NodeStatus]] = {
    "QsyncNoLeader": [node(1, **NOBODY), node(2, **NOBODY)],
    "QsyncNotWritable": [node(1, ro=True), node(2), node(3)],
    "QsyncQuorumLost": [node(1, peers=peers(2, 3))],
    "QsyncNothingConfirmed": [node(1, synchro=limbo(len=1, stalled=12.0)), node(2), node(3)],
    "QsyncQuorumMarginZero": [node(1, peers=peers(3)), node(2)],
    "QsyncQuorumUnsafe": [node(1, synchro=limbo(quorum=1, unsafe=True)), node(2), node(3)],
    "QsyncTwoWritable": [node(1), node(2, ro=False), node(3)],
    "QsyncElections": [node(1, counters={"elections": 4}), node(2), node(3)],
    "QsyncLimboOld": [node(1, synchro=limbo(len=1, age=3.0)), node(2), node(3)],
    "QsyncLimboFull": [node(1, synchro=limbo(len=81)), node(2), node(3)],
    "QsyncRollbacks": [node(1, counters={"transactions_rolled_back": 2}), node(2), node(3)],
    "QsyncUnknownOutcomes": [node(1, counters={"unknown": 1}), node(2), node(3)],
    "QsyncLostAsyncWrites": [node(1), node(2, counters={"lost_async": 1}), node(3)],
    "QsyncSlowCommits": [node(1, latency=times(0.002, 4.0)), node(2), node(3)],
    "QsyncSlowDisk": [node(1), node(2, disk={"writes": times(0.5, 0.5)}), node(3)],
    "QsyncDiskHangs": [node(1, disk={"busy_s": 2.0}), node(2), node(3)],
    "QsyncDiskError": [node(1), node(2, disk={"error": "no room"}), node(3)],
    "QsyncRowsDiffer": [node(1), node(2, spaces={"differs": ["t"]}), node(3)],
    "QsyncRowsRotten": [node(1), node(2, spaces={"error": "rot"}), node(3)],
    "QsyncLogHeld": [node(1, gc=held(600)), node(2), node(3)],
    "QsyncConsumerLetGo": [node(1, counters={"consumers_let_go": 1}), node(2), node(3)],
    "QsyncSnapshotOld": [node(1), node(2, gc=snapshot_of(4.0), confirmed=10), node(3)],
    "QsyncSnapshotError": [node(1), node(2, gc={"checkpoint_error": "no room"}), node(3)],
    "QsyncDiskFull": [node(1), node(2), node(3, disk={"free": 9, "total": 100})],
    "QsyncSplitBrain": [node(1), node(2), node(3, status="split_brain")],
    "QsyncSuperseded": [node(1), node(2), node(3, status="superseded")],
    "QsyncQuarantined": [node(1), node(2), node(3, quarantined="entry 7")],
    "QsyncCertificateExpires": [node(1), node(2, tls={"on": True, "left": 5e6, "ca_left": 9e5})],
    "QsyncCertificateNotRead": [node(1), node(2, tls={"on": True, "error": "no key"})],
    "QsyncAuditUnwritten": [node(1), node(2, counters={"audit_unwritten": 3}), node(3)],
    "QsyncAuditCut": [node(1), node(2, counters={"audit_cuts": 1}), node(3)],
    "QsyncLinkDown": [node(1, peers=peers(3)), node(2)],
    "QsyncReplicaBehind": [node(1), node(2), node(3, behind=20000)],
    "QsyncClockSkew": [node(1), node(2, time=NOW - 60), node(3)],
    "QsyncFilesNearLimit": [node(1, files=[900, 1024]), node(2), node(3)],
    "QsyncOldCopy": [node(1), node(2, old_copy="n1 knows"), node(3)],
    "QsyncJoinStuck": [node(1), node(2), node(3, standing="joining")],
    "QsyncVotersEven": [node(1, voters=[[n, "u"] for n in (1, 2, 3, 4)]), node(2), node(3)],
}


def kept(*hours: float, damage: tuple[str, ...] = ()) -> str:
    """A place whose backups ended so many hours ago, as a textfile collector shows it."""
    made = [a_backup(ended=NOW - each * 3600) for each in hours]
    place = Folder(FOLDER)
    lost = dict.fromkeys(damage, 0)
    return backups.expose(Catalogue(place, "u-1", backups=made, lost=lost), "/backups")


def a_backup(*, ended: float) -> BackupManifest:
    return BackupManifest(
        cluster="u-1",
        index=0,
        term=1,
        crc=0,
        start="",
        index_time=ended,
        last=0,
        last_term=1,
        node="n1",
        instance="i",
        begun=ended,
        ended=ended,
        time=ended,
        rows=0,
        parts=(),
        log=(),
        release="0",
    )


FIRING_BACKUPS = {
    "QsyncBackupOld": kept(27.0, 50.0),
    "QsyncBackupDamaged": kept(1.0, damage=("base/7/backup.json is damaged",)),
}


def firing(
    rule: dict[str, object], nodes: list[NodeStatus], place: str = ""
) -> list[dict[str, str]]:
    up = [("up", {"job": "qsync", "instance": each.name}, 1.0) for each in nodes]
    before = Scrape.of(expose(CALM), time=EARLIER)
    text = expose(nodes) + FIRING_BACKUPS.get(place, kept(25.0))
    return Evaluator(before, Scrape.of(text, time=NOW, more=up)).firing(str(rule["expr"]))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_no_alert_fires_for_a_healthy_cluster(rule: dict[str, object]) -> None:
    assert firing(rule, CALM) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_fires_in_the_trouble_that_it_is_for(rule: dict[str, object]) -> None:
    name = str(rule["alert"])
    if name == "QsyncDown":
        down = Scrape(NOW, {frozenset({"__name__": "up", "job": "qsync"}.items()): 0.0})
        assert Evaluator(Scrape(EARLIER), down).firing(str(rule["expr"]))
        return
    fires = firing(rule, FIRING.get(name, CALM), name)
    assert fires
    notes = rule["annotations"]
    assert isinstance(notes, dict)
    for label in re.findall(r"\$labels\.(\w+)", notes["summary"]):
        assert all(label in labels for labels in fires), label


def test_a_place_without_any_backup_is_as_bad_as_one_with_an_old_one() -> None:
    rule = next(each for each in RULES if each["alert"] == "QsyncBackupOld")
    empty = Scrape.of(kept(), time=NOW)
    assert Evaluator(empty, empty).firing(str(rule["expr"]))


@pytest.mark.parametrize("voters", [1, 2])
def test_a_cluster_that_never_had_a_margin_does_not_complain_of_none(voters: int) -> None:
    rule = next(each for each in RULES if each["alert"] == "QsyncQuorumMarginZero")
    members = [[n, f"n{n}", f"a:{n}"] for n in range(1, voters + 1)]
    up = [{"id": 2, "name": "n2", "status": "up"}][: voters - 1]
    assert firing(rule, [node(1, nodes=members, peers=up, synchro=limbo(quorum=voters))]) == []
