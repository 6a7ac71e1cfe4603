"""A cluster in JSON, for `qsync status --json`, `qsync top --json` and `/status.json`."""

from typing import TYPE_CHECKING

from admin.cluster import sides
from admin.cluster.lag import behind
from admin.cluster.surveys import ClusterSurvey, ClusterVerdict
from qsync.status.members import AnonymousStatus
from qsync.status.record import NodeStatus

if TYPE_CHECKING:
    from admin.cluster.picture import ClusterPicture


def survey_members(found: ClusterSurvey, verdict: ClusterVerdict) -> dict[str, object]:
    """The members of the JSON document (surface: `qsync status --json`)."""
    nodes = [_node(found, node) for node in found.samples]
    for each in found.silent:
        silent: dict[str, object] = dict.fromkeys(nodes[0]) if nodes else {}
        silent |= {"name": each.name, "id": each.id, "address": each.address}
        nodes.append(silent | {"status": "silent", "message": each.why})
    return {
        "verdict": verdict.health,
        "can_commit": verdict.can_commit,
        "margin": verdict.margin,
        "leader": verdict.leader,
        "term": verdict.term,
        "sentence": verdict.sentence,
        "limbo": None if found.leader is None else _limbo(found.leader),
        "nodes": sorted(nodes, key=lambda each: str(each["name"])),
        "apart": [_apart(each) for each in found.apart],
        "anonymous": [_anonymous(each) for each in found.anonymous],
    }


def picture_members(picture: "ClusterPicture") -> dict[str, object]:
    """The output of `qsync top --json`: the same, with rates, latencies, findings, past leaders."""
    shares = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
    rates = picture.rates
    return survey_members(picture.survey, picture.verdict) | {
        "time": picture.moment.time,
        "rates": {
            "writes": rates.writes,
            "reads": rates.reads,
            "conflicts": rates.conflicts,
            "rolled_back": rates.rolled_back,
        },
        "unknown": rates.unknown,
        "lost_async": rates.lost_async,
        "commit_s": {name: picture.commit.quantile(share) for name, share in shares},
        "fsync_s": {
            picture.name(id): {name: each.quantile(share) for name, share in shares}
            for id, each in picture.disks.items()
        },
        "findings": [
            {"severity": f.severity, "subject": f.subject, "text": f.text, "fix": f.fix}
            for f in picture.findings
        ],
        "leaderships": [
            {"term": each.term, "leader": each.leader, "since": each.since, "reason": each.reason}
            for each in picture.leaderships
        ],
    }


def _anonymous(replica: AnonymousStatus) -> dict[str, object]:
    """An anonymous replica. `expires`: seconds until it is forgotten, if it is gone."""
    return {
        "name": replica.name,
        "id": replica.id,
        "uuid": replica.uuid,
        "address": replica.address,
        "status": replica.status,
        "lag": replica.behind,
        "expires": replica.expires,
    }


def _apart(node: NodeStatus) -> dict[str, object]:
    """A node that answers and does not belong to this cluster."""
    return {
        "name": node.name,
        "id": node.id,
        "uuid": node.uuid,
        "address": node.address,
        "cluster": node.replicaset.uuid,
        "status": node.status,
        "message": sides.sentence(node),
    }


def _node(found: ClusterSurvey, node: NodeStatus) -> dict[str, object]:
    usual = node.disk.usual_s
    return {
        "name": node.name,
        "id": node.id,
        "uuid": node.uuid,
        "address": node.address,
        "role": node.part,
        "ro": node.ro,
        "ro_reason": node.ro_reason,
        "term": node.term,
        "vclock": node.vclock,
        "confirmed": node.confirmed,
        "lag": behind(found, node),
        "status": node.status or "running",
        "stranger": node.stranger,
        "write_us": None if usual is None else round(usual * 1e6),
        "lost": node.lost.entries,
        "faults": [each.point for each in node.faults],
        "counters": node.counters,
    }


def _limbo(leader: NodeStatus) -> dict[str, object]:
    """The pending transactions, in seconds, bytes and names."""
    synchro, queue = leader.synchro, leader.synchro.queue
    return {
        "len": queue.len,
        "size": queue.size,
        "age": queue.age,
        "timeout": synchro.timeout,
        "quorum": synchro.quorum,
        "missing": [each.label for each in queue.missing],
    }
