"""Health URLs in the manner of Patroni: 200 or 503, so that a load balancer finds its node."""

from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from qsync.status import health
from qsync.status.record import NodeStatus
from qsync.units import how_many

OK, UNAVAILABLE, BAD_REQUEST = 200, 503, 400
Check = Callable[[NodeStatus, int | None], str | None]
"""Why not, or None when it is so. The number is the lag that is allowed."""


def answer(target: str, node: NodeStatus) -> tuple[int, dict[str, object]] | None:
    """Status and JSON for a request target such as `/replica?lag=10`; None for no URL of ours."""
    try:
        parts = urlsplit(target)
        check = CHECKS.get(parts.path)
        if check is None:
            return None
        lag = _lag(parts.query)
    except ValueError as error:
        return BAD_REQUEST, {"error": str(error)}
    why = check(node, lag)
    about = {
        "node": node.name,
        "role": node.part,
        "term": node.term,
        "leader": node.leader_name,
        "writable": not node.ro,
        "commits": node.commits,
        "behind": node.behind,
        "status": node.status,
    }
    return (OK, about) if why is None else (UNAVAILABLE, about | {"why": why})


def _lag(query: str) -> int | None:
    given = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query))
    unknown = sorted(set(given) - {"lag"})
    if unknown:
        raise ValueError(f"there is no parameter {unknown[0]!r}; there is lag, in entries")
    if "lag" not in given:
        return None
    text = given["lag"][-1]
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"lag={text} is not a number of entries")
    return int(text)


def _health(node: NodeStatus, _: int | None) -> str | None:
    return health.unsound(node)


def _alive(node: NodeStatus, _: int | None) -> str | None:
    return health.dead(node)


def _leader(node: NodeStatus, _: int | None) -> str | None:
    return None if node.leads else "another node leads" if node.leader else "no leader"


def _writable(node: NodeStatus, _: int | None) -> str | None:
    if not node.ro:
        return None
    return "; ".join(node.ro_texts) or node.ro_reason or "it is read-only"


def _replica(node: NodeStatus, lag: int | None) -> str | None:
    if node.leads:
        return "this node leads"
    return _health(node, lag) or _follows(node, lag)


def _follows(node: NodeStatus, lag: int | None) -> str | None:
    if node.leader is None or node.behind is None:
        return "it follows no leader"
    if lag is not None and node.behind > lag:
        return f"it is {how_many(node.behind, 'entry')} behind, more than {lag}"
    return None


def _ready(node: NodeStatus, lag: int | None) -> str | None:
    """It can serve what a node of its role is there for."""
    wrong = _health(node, lag)
    if wrong is not None:
        return wrong
    return _writable(node, lag) or _confirms(node) if node.leads else _follows(node, lag)


def _confirms(node: NodeStatus) -> str | None:
    return None if node.stuck is None else f"nothing has been confirmed for {node.stuck:.3g} s"


CHECKS: Mapping[str, Check] = {
    "/health": _health,
    "/ready": _ready,
    "/leader": _leader,
    "/writable": _writable,
    "/replica": _replica,
    "/liveness": _alive,
    # Patroni's other names for these
    "/readiness": _ready,
    "/primary": _writable,
    "/read-write": _writable,
}
