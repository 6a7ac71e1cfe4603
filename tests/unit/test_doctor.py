"""Every check of the doctor: silent on a healthy cluster, and heard in the trouble it is for."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from admin.cluster.lag import is_to_follow
from admin.cluster.surveys import ClusterSurvey
from admin.cluster.unreachable import UnreachableNode
from admin.doctor import checks, leading
from admin.doctor.facts import BackupFacts, Facts, Finding, NodeSettings, Severity
from cli.main import run
from qsync.config import NodeConfig
from qsync.errors import ConfigError
from qsync.status import decode
from tests.answers import placed, synchro, waiting
from tests.repo import tree

NOW = 1_700_000_000.0


def answer(id: int) -> dict[str, object]:
    """A healthy one of three; the first leads."""
    leads = id == 1
    return {
        "id": id,
        "name": f"n{id}",
        "uuid": f"u{id}",
        "replicaset": {"uuid": "c"},
        "address": f"127.0.0.1:330{id}",
        "version": "1.0",
        "status": "running",
        "role": "leader" if leads else "follower",
        "term": 3,
        "leader": 1,
        "leader_name": "n1",
        "leader_idle": 0.0 if leads else 0.2,
        "ro": not leads,
        "last": 1000,
        "written": 1000,
        "confirmed": 1000,
        "folded": 990,
        "time": NOW,
        "uptime": 7200.0,
        "files": [20, 1024],
        "nodes": [[n, f"n{n}", f"127.0.0.1:330{n}"] for n in (1, 2, 3)],
        "peers": [{"id": n, "name": f"n{n}", "status": "up"} for n in (1, 2, 3) if n != id],
        "synchro": synchro(quorum=2, timeout=5.0, entries_max=100, bytes_max=1000),
        "counters": {"elections": 1 if leads else 0},
        "disk": {"fsync_us": 900, "write_us": 1000, "free": 50 << 30, "total": 100 << 30},
    }


def settings(**changes: str) -> NodeSettings:
    flags = {key.replace("__", "."): value for key, value in changes.items()}
    sections: dict[str, dict[str, object]] = {}
    plain: dict[str, object] = {}
    for key, value in NodeConfig.load(None, {}, flags).values().items():
        section, _, option = key.rpartition(".")
        if section:
            sections.setdefault(section, {})[option] = value
        else:
            plain[key] = value
    return NodeSettings(plain | sections)


def facts(changes: Mapping[int, Mapping[str, object]] | None = None, *gone: int) -> Facts:
    """Three nodes with changes by id, those in `gone` silent."""
    changed = changes or {}
    there = [id for id in (1, 2, 3) if id not in gone]
    return Facts(
        survey=ClusterSurvey(
            samples=tuple(
                decode.status(placed(answer(id) | dict(changed.get(id, {})))) for id in there
            ),
            silent=tuple(
                UnreachableNode(id=id, name=f"n{id}", address=f"127.0.0.1:330{id}", why="refused")
                for id in gone
            ),
        ),
        settings={id: settings() for id in there},
    )


def limbo(**more: object) -> dict[str, object]:
    whole: dict[str, object] = {"quorum": 2, "timeout": 5.0, "entries_max": 100, "bytes_max": 1000}
    return {"synchro": synchro(**whole | more)}


def disk(**more: object) -> dict[str, object]:
    whole: dict[str, object] = {"write_us": 1000, "free": 50 << 30, "total": 100 << 30}
    return {"disk": whole | more}


def peers(id: int, *down: int, **more: object) -> dict[str, object]:
    return {
        "peers": [
            {"id": n, "name": f"n{n}", "status": "down" if n in down else "up", **more}
            for n in (1, 2, 3)
            if n != id
        ]
    }


TLS: dict[str, object] = {"message": "TLS: no authority that is trusted here signed it"}
"""What a link says whose ends can talk, and one refuses the other."""


def counted(**counters: int) -> dict[str, object]:
    return {"counters": counters}


def snapshot_of(hours: float) -> dict[str, object]:
    """The newest one is so old, and is due every hour."""
    newest = {"signature": 900, "time": NOW - hours * 3600}
    return {"checkpoint_interval": 3600.0, "checkpoints": [newest]}


def consumer(name: str, about: str, mib: int) -> dict[str, object]:
    """A member that holds so much log of the 1000 MiB that it may; let go with none."""
    known = {"name": name, "kind": "replica", "about": about, "signature": 5, "let_go": not mib}
    return {"retention": 1000 << 20, "consumers": [known | {"size": mib << 20}]}


def with_settings(**changes: str) -> Facts:
    """The second node is set up otherwise."""
    calm = facts()
    return replace(calm, settings={**calm.settings, 2: settings(**changes)})


def with_tls(metrics: str, *, token: str = "token") -> Facts:
    """The second node listens to the network over TLS, and says so of its metrics or not."""
    over = {
        "listen": "10.0.0.1:1",
        "metrics": {"listen": "10.0.0.1:1", "token_file": token},
        "tls": {"metrics": metrics},
    }
    calm = facts({2: {"tls": {"on": True}}})
    return replace(calm, settings={**calm.settings, 2: NodeSettings(over)})


ALONE = {
    "nodes": [[1, "n1", "127.0.0.1:3301"]],
    "peers": [],
    "synchro": {"quorum": 1},
}
FOUR = {"nodes": [[n, f"n{n}", f"127.0.0.1:330{n}"] for n in (1, 2, 3, 4)]}
VOTERS = {"voters": [[n, f"u{n}"] for n in (1, 2, 3)]}
OLD_COPY = {"status": "old_copy", "old_copy": "n1 knows"}
NOBODY = {"role": "candidate", "leader": None, "ro": True}
SUPERSEDED = {
    "status": "superseded",
    "ro_reasons": [{"why": "superseded", "text": "its history goes on in cluster c"}],
}


def kept(**known: object) -> Facts:
    """Backups that may be two hours old."""
    place = BackupFacts(place="/kept", now=NOW, age_max=7200.0, **known)  # type: ignore[arg-type]  # by name
    return replace(facts(), backups=place)


Trouble = Callable[[], Facts]
C, W, N = Severity.CRITICAL, Severity.WARNING, Severity.NOTE

CASES: list[tuple[str, Severity, str, str, Trouble]] = [
    ("leader-writes", C, "cluster", "nobody", lambda: facts({1: NOBODY, 2: NOBODY, 3: NOBODY})),
    (
        "majority-lost",
        N,
        "cluster",
        "n2, n3: whether they can come",
        lambda: facts({1: NOBODY}, 2, 3),
    ),
    ("leader-writes", C, "n1", "synchro", lambda: facts({1: {"ro": True, "ro_reason": "synchro"}})),
    ("one-leader", W, "n2", "term 2", lambda: facts({2: {"role": "leader", "term": 2}})),
    ("one-leader", C, "cluster", "of one term", lambda: facts({2: {"role": "leader"}})),
    ("leader-agreed", W, "n2", "follows nobody", lambda: facts({2: {"leader": None}})),
    ("leader-agreed", W, "n3", "follows n2", lambda: facts({3: {"leader": 2}})),
    ("quorum-margin", W, "cluster", "failure can be", lambda: facts({1: peers(1, 3)}, 3)),
    ("quorum-margin", C, "cluster", "must come back", lambda: facts({1: peers(1, 2, 3)}, 2, 3)),
    ("quorum-safe", C, "cluster", "majority", lambda: facts({1: limbo(quorum=1, unsafe=True)})),
    ("members-answer", C, "n3", "n1 does not reach", lambda: facts({1: peers(1, 3)}, 3)),
    ("members-answer", C, "n3", "not reach it: TLS", lambda: facts({1: peers(1, 3, **TLS)}, 3)),
    ("links-stand", W, "n2 -> n3", "cut one way", lambda: facts({2: peers(2, 3, message="x")})),
    ("members-agree", C, "n3", "knows the members", lambda: facts({3: FOUR})),
    ("one-cluster", C, "cluster", "different", lambda: facts({2: {"replicaset": {"uuid": "d"}}})),
    ("one-cluster", C, "n1", "same uuid as n2", lambda: facts({2: {"uuid": "u1"}})),
    ("one-version", N, "cluster", "n2 2.0", lambda: facts({2: {"version": "2.0"}})),
    ("none-superseded", C, "n2", "goes on in cluster", lambda: facts({2: SUPERSEDED})),
    ("no-old-copy", C, "n2", "runs on an old copy", lambda: facts({2: OLD_COPY})),
    ("no-old-copy", W, "n2", "is a new instance", lambda: facts({2: {"old_copy": "n1 knows"}})),
    ("data-agrees", C, "n2", "differs", lambda: facts({2: {"status": "split_brain"}})),
    ("log-whole", C, "n2", "entry 7", lambda: facts({2: {"quarantined": "entry 7"}})),
    ("rows-sound", C, "n2", "serves no data", lambda: facts({2: {"spaces": {"error": "rot"}}})),
    ("rows-agree", C, "n3", "of t differ", lambda: facts({3: {"spaces": {"differs": ["t"]}}})),
    ("rows-sound", W, "n2", "2 times", lambda: facts({2: {"spaces": {"rebuilds": 2}}})),
    ("all-vote", W, "n3", "counts in no quorum", lambda: facts({3: {"recruit": True}})),
    (
        "all-named",
        W,
        "n3",
        "neither votes nor counts",
        lambda: facts({1: VOTERS, 3: {"recruit": True, "stranger": True}}),
    ),
    (
        "all-named",
        W,
        "n3",
        "has not received the log yet",
        lambda: facts({1: VOTERS | {"members": [[3, "u3", "joining"]]}, 3: {"stranger": True}}),
    ),
    ("all-named", C, "n3", "nobody has founded", lambda: facts({3: {"stranger": True}})),
    (
        "joins-end",
        W,
        "n3",
        "has run for 120 min, is to become a voter when it has caught up, and is 200 entries",
        lambda: facts({3: {"standing": "joining", "written": 800}}),
    ),
    (
        "replicas-keep-up",
        W,
        "n2",
        "20000 entries behind",
        lambda: facts({1: {"last": 21000}, 3: {"written": 21000}}),
    ),
    (
        "folding-keeps-up",
        W,
        "n2",
        "wait in memory",
        lambda: facts({2: {"memory": {"overlay_rows": 2_000_000}}}),
    ),
    ("folding-keeps-up", W, "n3", "999000 entries", lambda: facts({3: {"confirmed": 999990}})),
    (
        "limbo-moves",
        W,
        "n1",
        "waits for n2, n3",
        lambda: facts({1: limbo(len=4, age=3.0, waiting=waiting(9, 2, 3))}),
    ),
    (
        "limbo-moves",
        C,
        "n1",
        "confirmed for 9 s: waits for n2 (a write of its log has not ended for 10 s), n3",
        lambda: facts(
            {
                1: limbo(len=4, stalled=9.0, waiting=waiting(9, 2, 3)),
                2: disk(busy_s=10.0),
            }
        ),
    ),
    ("limbo-room", W, "n1", "90 of 100 trans", lambda: facts({1: limbo(len=90)})),
    ("limbo-room", W, "n1", "900 of 1000 bytes", lambda: facts({1: limbo(size=900)})),
    ("nothing-lost", W, "n2", "were cut", lambda: facts({2: counted(lost_async=3)})),
    ("nothing-lost", N, "n2", "keeps 2", lambda: facts({2: {"lost": {"entries": 2}}})),
    (
        "rolled-back",
        N,
        "n1",
        "rolled back 5",
        lambda: facts({1: counted(transactions_rolled_back=5)}),
    ),
    ("outcomes-known", N, "n1", "6 writes timed out", lambda: facts({1: counted(unknown=6)})),
    ("disk-writes", C, "n3", "no room", lambda: facts({3: disk(error="no room")})),
    ("disk-answers", C, "n3", "for 9 s", lambda: facts({3: disk(busy_s=9.0)})),
    ("disk-fast", W, "n2", "80 ms", lambda: facts({2: disk(write_us=80_000)})),
    ("disks-even", N, "n2", "20 ms where", lambda: facts({2: disk(write_us=20_000)})),
    ("disk-room", W, "n2", "5% of", lambda: facts({2: disk(free=5 << 30)})),
    ("disk-room", C, "n2", "1% of", lambda: facts({2: disk(free=1 << 30)})),
    ("disk-room", W, "n2", "0% of", lambda: facts({2: disk(free=9 << 30, total=4 << 40)})),
    ("events-written", N, "n2", "3 events", lambda: facts({2: counted(events_unwritten=3)})),
    ("audit-written", W, "n2", "2 lines", lambda: facts({2: counted(audit_unwritten=2)})),
    ("audit-written", W, "n2", "has lost lines", lambda: facts({2: counted(audit_cuts=1)})),
    (
        "settings-agree",
        W,
        "cluster",
        "5s on n1, 9s on n2",
        lambda: with_settings(replication__synchro_timeout="9s"),
    ),
    (
        "settings-agree",
        W,
        "cluster",
        "N / 2 + 1 on n1, N on n2",
        lambda: with_settings(replication__synchro_quorum="N"),
    ),
    ("timeouts-fit-disks", W, "n2", "took 2 s", lambda: facts({2: disk(write_us_max=2_000_000)})),
    (
        "writes-outlive-elections",
        N,
        "cluster",
        "rolls back before",
        lambda: replace(facts(), settings={1: settings(replication__synchro_timeout="1s")}),
    ),
    (
        "preferred-exist",
        N,
        "cluster",
        "names n9",
        lambda: replace(facts(), settings={1: settings(election__preferred="2, n9, n1")}),
    ),
    (
        "listens-safely",
        W,
        "n2",
        "listen = 10.0.0.1:1",
        lambda: with_settings(listen="10.0.0.1:1", insecure="true"),
    ),
    (
        "listens-safely",
        W,
        "n2",
        "metrics.listen = 10.0.0.1:1",
        lambda: with_settings(metrics__listen="10.0.0.1:1", insecure="true"),
    ),
    ("listens-safely", W, "n2", "metrics.listen = 10.0.0.1:1", lambda: with_tls("false")),
    ("listens-safely", W, "n2", "without a token", lambda: with_tls("true", token="")),
    (
        "members-prove",
        W,
        "n2",
        "pretend to be a member",
        lambda: with_settings(listen="10.0.0.1:1", insecure="true"),
    ),
    (
        "members-prove",
        W,
        "n2",
        "pretend to be a member",
        lambda: facts({2: {"upgrade": {"features": ["users"]}}}),
    ),
    (
        "members-prove",
        W,
        "n2",
        "without the cluster's secret are accepted",
        lambda: with_settings(
            cluster__secret="only-the-members-know", cluster__secret_optional="true"
        ),
    ),
    ("leader-heard", W, "n3", "for 4 s", lambda: facts({3: {"leader_idle": 4.0}})),
    ("elections-rare", W, "cluster", "20 elections", lambda: facts({1: counted(elections=20)})),
    (
        "voters-odd",
        N,
        "cluster",
        "no more than 3 would",
        lambda: facts({1: FOUR, 2: FOUR, 3: FOUR}),
    ),
    ("voters-odd", N, "cluster", "one node", lambda: facts({1: ALONE}, 2, 3)),
    (
        "snapshots-recent",
        W,
        "n2",
        "no room",
        lambda: facts({2: {"gc": {"checkpoint_error": "no room"}}}),
    ),
    ("snapshots-recent", W, "n2", "4.0 h old", lambda: facts({2: {"gc": snapshot_of(4.0)}})),
    ("log-trimmed", W, "n2", "gone", lambda: facts({2: {"gc": {"trim_error": "gone"}}})),
    ("log-held", W, "n3", "600 MiB", lambda: facts({1: {"gc": consumer("u3", "n3", 600)}})),
    ("log-held", W, "n3", "not kept", lambda: facts({1: {"gc": consumer("u3", "n3", 0)}})),
    ("clocks-agree", W, "cluster", "n2 is 60.0 s behind", lambda: facts({2: {"time": NOW - 60}})),
    ("files-allowed", W, "n2", "1000 of 1024", lambda: facts({2: {"files": [1000, 1024]}})),
    ("clients-allowed", W, "n2", "900 of 1000", lambda: facts({2: {"clients": 900}})),
    ("no-mishaps", W, "n2", "2 mistakes of its own", lambda: facts({2: {"mishaps": 2}})),
    (
        "certificates-last",
        W,
        "n2",
        "its certificate expires in 12 days",
        lambda: facts({2: {"tls": {"on": True, "left": 12.2 * 86400, "ca_left": 9e7}}}),
    ),
    (
        "certificates-read",
        W,
        "n3",
        "still uses its former certificate: no key",
        lambda: facts({3: {"tls": {"on": True, "error": "no key"}}}),
    ),
    ("refusals-few", N, "n2", "protocol 200", lambda: facts({2: {"refused": {"protocol": 200}}})),
    ("backups-recent", C, "/kept", "no finished backup", kept),
    ("backups-recent", C, "/kept", "rotten", lambda: kept(newest=NOW, problem="it is rotten")),
    ("backups-recent", W, "/kept", "3.0 h old, and 2.0 h", lambda: kept(newest=NOW - 10_800)),
]


def test_a_healthy_cluster_is_found_healthy() -> None:
    results = checks.run(facts())
    assert [result.name for result in results if result.findings] == []
    assert checks.wrong(results) == []


@pytest.mark.parametrize(
    ("name", "severity", "subject", "words", "trouble"),
    CASES,
    ids=[f"{c[0]}-{c[3]}" for c in CASES],
)
def test_a_check_finds_the_trouble_it_is_for(
    name: str, severity: Severity, subject: str, words: str, trouble: Trouble
) -> None:
    found = trouble()
    if words == "one node":
        found = replace(found, survey=ClusterSurvey(samples=found.nodes))
    (result,) = checks.run(found, checks.chosen([name]))
    (finding,) = result.findings
    assert (finding.severity, finding.subject) == (severity, subject)
    assert words in finding.text
    assert finding.fix


@pytest.mark.parametrize("text", ["N/2+1", "2", "(N + 2) // 2", "max(2, N / 2 + 1)"])
def test_quorums_are_compared_by_what_they_ask_and_not_by_their_text(text: str) -> None:
    same = {"replication": {"synchro_quorum": text}}
    calm = facts()
    found = replace(calm, settings={**calm.settings, 2: NodeSettings(same)})
    (result,) = checks.run(found, checks.chosen(["settings-agree"]))
    assert result.findings == ()


@pytest.mark.parametrize(("standing", "told"), [("removed", 0), ("anonymous", 0), ("learner", 1)])
def test_settings_of_a_node_that_never_leads_may_differ(standing: str, told: int) -> None:
    differs = {2: settings(replication__synchro_timeout="9s")}
    outside = facts({2: {"standing": standing}})
    found = replace(outside, settings={**outside.settings, **differs})
    (result,) = checks.run(found, checks.chosen(["settings-agree"]))
    assert len(result.findings) == told


def test_promote_is_advised_only_where_a_majority_could_vote_for_it() -> None:
    def fix(found: Facts) -> str:
        (result,) = checks.run(found, checks.chosen(["leader-writes"]))
        return result.findings[0].fix

    new = {**NOBODY, "recruit": True, "stranger": True, "last": 0}
    lost = {**NOBODY, "recruit": True}
    assert "`qsync promote n1` calls one" in fix(facts({1: NOBODY, 2: NOBODY, 3: NOBODY}))
    assert "found a cluster with `qsync init`" in fix(facts({1: new, 2: new}, 3))
    assert "bring back 1 of n2, n3, with their data" in fix(facts({1: NOBODY}, 2, 3))
    of_the_rest = fix(facts({1: NOBODY, 2: lost, 3: lost}))
    assert "that lost it do not vote" in of_the_rest
    assert "`qsync recover DIR`" in of_the_rest


def test_a_majority_is_given_up_only_where_the_silent_ones_would_make_one() -> None:
    def found(*args: Any) -> tuple[Finding, ...]:
        (result,) = checks.run(facts(*args), checks.chosen(["majority-lost"]))
        return result.findings

    lost = {**NOBODY, "recruit": True}
    assert "`qsync recover DIR`" in found({1: NOBODY}, 2, 3)[0].fix
    assert not found({1: NOBODY, 2: NOBODY}, 3)
    assert not found({1: NOBODY, 2: lost, 3: lost})
    assert not found({}, 2, 3)


def test_the_fix_for_a_certificate_that_expires_is_a_command_for_that_node() -> None:
    found = facts({2: {"tls": {"on": True, "left": 4 * 86400.0}}})
    (result,) = checks.run(found, checks.chosen(["certificates-last"]))
    cluster = found.nodes[1].replicaset.uuid
    assert f"`qsync cert node n2 --cluster {cluster} --host HOST" in result.findings[0].fix
    assert "put its two files in the place of those in section `tls`" in result.findings[0].fix


@pytest.mark.parametrize(
    ("why", "fix"),
    [
        ("UNAVAILABLE: 127.0.0.1:3303: Connection refused", "start it, or bring back its host"),
        (
            "UNAVAILABLE: 127.0.0.1:3303: TLS: the other side's certificate has expired",
            "it runs, and TLS with it fails: `qsync cert check`",
        ),
    ],
)
def test_a_node_that_tls_keeps_away_is_not_to_be_started(why: str, fix: str) -> None:
    lost = UnreachableNode(id=3, name="n3", address="127.0.0.1:3303", why=why)
    found = facts({}, 3)
    found = replace(found, survey=replace(found.survey, silent=(lost,)))
    (result,) = checks.run(found, checks.chosen(["members-answer"]))
    assert result.findings[0].fix.startswith(fix)


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("transfer", "goes on itself if the other does not take over"),
        ("synchro", "bring back who is missing"),
        ("demoted", "`qsync promote NODE`"),
        ("config", "read_only = false"),
    ],
)
def test_a_leader_without_writes_has_the_cure_of_its_reason(reason: str, fix: str) -> None:
    found = facts({1: {"ro": True, "ro_reason": reason}})
    (result,) = checks.run(found, checks.chosen(["leader-writes"]))
    assert fix in result.findings[0].fix
    assert ("promote" in result.findings[0].fix) == (reason == "demoted")


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ("ECONNREFUSED", "look at routes"),
        ("UNAVAILABLE: nobody answers", "look at routes"),
        ("WRONG_VERSION: the log uses a feature (upgrade n3)", "upgrade that one"),
    ],
)
def test_a_link_that_is_refused_is_not_blamed_on_the_network(message: str, fix: str) -> None:
    found = facts({2: peers(2, 3, message=message)})
    (result,) = checks.run(found, checks.chosen(["links-stand"]))
    assert fix in result.findings[0].fix


@pytest.mark.parametrize(
    ("uptime", "message", "complains"),
    [
        (1.5, "ECONNREFUSED", False),
        (2.5, "ECONNREFUSED", True),
        (1.5, "ACCESS_DENIED: another secret", True),
    ],
)
def test_a_node_that_has_just_started_may_not_be_reached_yet(
    uptime: float, message: str, *, complains: bool
) -> None:
    """The others dial it when it has dialled them; a refusal is there to stay."""
    found = facts({2: peers(2, 3, message=message), 3: {"uptime": uptime}})
    (result,) = checks.run(found, checks.chosen(["links-stand"]))
    assert bool(result.findings) is complains


@pytest.mark.parametrize(
    ("upgrade", "fix"),
    [
        ({"waits": ["node 3 does not know feature later"]}, "upgrade those nodes"),
        ({"unheard": ["node 3 was not heard yet"]}, "start those nodes"),
    ],
)
def test_nobody_is_told_to_upgrade_a_node_that_is_down(upgrade: dict[str, Any], fix: str) -> None:
    (result,) = checks.run(facts({1: {"upgrade": upgrade}}), checks.chosen(["one-version"]))
    assert fix in result.findings[0].fix


def test_there_is_a_trouble_for_every_check_and_no_check_without_a_claim() -> None:
    names = [checks.name_of(each) for each in checks.CHECKS]
    assert {case[0] for case in CASES} == set(names)
    assert len(set(names)) == len(names) >= 25
    assert all(checks.about(each).endswith(".") for each in checks.CHECKS)


def test_every_check_is_explained() -> None:
    page = (tree.ROOT / "docs/reference/doctor.md").read_text(encoding="utf-8")
    for each in checks.CHECKS:
        assert f"| `{checks.name_of(each)}` | {checks.about(each)} |" in page


def test_missing_facts_are_no_trouble() -> None:
    bare = decode.status(
        placed({"id": 1, "name": "n1", "role": "leader", "ro": False, "status": "running"})
    )
    results = checks.run(Facts(survey=ClusterSurvey(samples=(bare,))))
    assert checks.wrong(results) == []


def test_nodes_that_do_not_let_us_ask_are_not_called_away() -> None:
    calm = facts({1: {"leader": None, "leader_name": "n2", "role": "follower"}}, 2, 3)
    silent = tuple(replace(each, denied=True, why="log in") for each in calm.silent)
    denied = replace(calm, survey=replace(calm.survey, silent=silent))
    (result,) = checks.run(denied, checks.chosen(["members-answer"]))
    assert [each.severity for each in result.findings] == [Severity.NOTE, Severity.NOTE]
    assert all("cannot be asked from here: log in" in each.text for each in result.findings)
    assert "QSYNC_USER" in leading._electing(denied)
    assert "bring back" in leading._electing(calm)


def test_who_listens_to_the_network_over_tls_listens_safely() -> None:
    (result,) = checks.run(with_tls("true"), checks.chosen(["listens-safely"]))
    assert result.findings == ()


def test_the_worst_comes_first_and_notes_do_not_count() -> None:
    results = checks.run(facts({1: peers(1, 3), 2: counted(unknown=1)}, 3))
    found = checks.wrong(results)
    assert [each.severity for each in found] == sorted(
        (each.severity for each in found), key=list(Severity).index
    )
    assert found[0].severity is Severity.CRITICAL
    assert not any("unknown" in each.text for each in found)


def test_many_clients_that_dial_at_once_are_no_strangers_to_the_protocol() -> None:
    told = facts({2: {"refused": {"handshakes_per_address": 488}}})
    (result,) = checks.run(told, checks.chosen(["refusals-few"]))
    assert "limits.handshakes_per_address_max" in result.findings[0].fix


def test_a_removed_node_that_still_runs_is_no_stranger_to_the_protocol() -> None:
    told = facts(
        {
            1: {"refused": {"wrong_version": 200}},
            2: {"refused": {"not_member": 99, "silent": 4}},
            3: {"refused": {"tls": 200}},
        }
    )
    (result,) = checks.run(told, checks.chosen(["refusals-few"]))
    old, removed, other = result.findings
    assert "of another release" in old.fix
    assert "a node that was removed" in removed.fix
    assert "does not speak our protocol" in other.fix


def test_a_removed_node_is_not_asked_to_keep_up() -> None:
    told = facts({1: {"last": 21000}, 2: {"standing": "removed"}, 3: {"written": 21000}})
    (result,) = checks.run(told, checks.chosen(["replicas-keep-up"]))
    assert result.findings == ()
    assert not is_to_follow(told.survey, told.nodes[1])


def test_an_unknown_check_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="disk-room"):
        checks.chosen(["disk-rom"])


def test_the_command_lists_its_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "127.0.0.1:1", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["checks"]
    assert len(found) == len(checks.CHECKS)
    assert run(["doctor", "127.0.0.1:1", "--check", "nonsense"]) == 2
    assert run(["doctor", "127.0.0.1:1"]) == 3
