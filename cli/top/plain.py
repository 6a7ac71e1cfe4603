"""Without a terminal: one line a second, and a header now and then."""

from admin.cluster import surveys
from cli.render.status import seconds
from cli.top import draw
from cli.top.panels import clock
from cli.top.picture import ClusterPicture

HEADER_EVERY = 20
_COLUMNS = (
    ("time", 8),
    ("health", 8),
    ("leader", 8),
    ("term", 5),
    ("margin", 6),
    ("up", 5),
    ("limbo", 6),
    ("oldest", 6),
    ("writes/s", 8),
    ("p99", 6),
    ("reads/s", 8),
    ("lag", 6),
    ("unknown", 7),
    ("lost", 5),
)


def header() -> str:
    """The names of the columns."""
    return " ".join(f"{name:>{width}}" for name, width in _COLUMNS)


def row(picture: ClusterPicture) -> str:
    """One moment."""
    node, found, rates = picture.leader, picture.verdict, picture.rates
    slow = picture.commit.quantile(0.99)
    lag = max((surveys.behind(picture.survey, each) for each in picture.survey.samples), default=0)
    values = (
        clock(picture.moment.time),
        found.health.value,
        "-" if node is None else node.name[:8],
        str(found.term),
        str(found.margin),
        f"{len(picture.survey.samples)}/{picture.survey.voters}",
        "-" if node is None else draw.amount(node.synchro.queue.len),
        "-" if node is None or not node.synchro.queue.len else seconds(node.synchro.queue.age),
        draw.amount(rates.writes),
        "-" if slow is None else seconds(slow),
        draw.amount(rates.reads),
        draw.amount(lag),
        str(rates.unknown),
        str(rates.lost_async),
    )
    return " ".join(f"{v:>{width}}" for v, (_, width) in zip(values, _COLUMNS, strict=True))


def members(picture: ClusterPicture) -> dict[str, object]:
    """For JSON, beside what `qsync status --json` has."""
    shares = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
    rates = picture.rates
    return {
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
            {"severity": f.severity, "subject": f.subject, "text": f.text, "cure": f.cure}
            for f in picture.findings
        ],
        "leaderships": [
            {"term": each.term, "leader": each.leader, "since": each.since, "reason": each.reason}
            for each in picture.leaderships
        ],
    }
