"""Checks rules between options, beyond each option being valid by itself."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from qsync.config import sections
from qsync.config.kinds import Address
from qsync.config.yaml_file import Problem, SettingOrigin

_PUBLIC = (
    "can be reached from other machines, and without TLS and certificates of clients (section "
    "`tls`) anyone who connects can do everything; listen on 127.0.0.1, or say `insecure: true`"
)
_PUBLIC_METRICS = (
    "can be reached from other machines, and without TLS (section `tls`) anyone on the path "
    "can read and change the traffic; listen on 127.0.0.1, or say `insecure: true`"
)
_OPEN_METRICS = (
    "can be reached from other machines, and without a token (`metrics.token_file`) anyone who "
    "connects can read all metrics; listen on 127.0.0.1, or say `insecure: true`"
)


class AnyConfig(Protocol):
    """The part of NodeConfig that is checked."""

    @property
    def node(self) -> sections.NodeSection:
        """Its name and its directory."""

    @property
    def cluster(self) -> sections.ClusterSection:
        """Its cluster."""

    @property
    def listen(self) -> Address:
        """Its listening address."""

    @property
    def advertise(self) -> Address | None:
        """Its address for others, if different."""

    @property
    def insecure(self) -> bool:
        """May it listen for other machines without TLS?"""

    @property
    def peers(self) -> tuple[sections.PeerConfig, ...]:
        """Every member."""

    @property
    def replication(self) -> sections.ReplicationSection:
        """Timeouts and quorum of the log."""

    @property
    def election(self) -> sections.ElectionSection:
        """Who leads."""

    @property
    def limits(self) -> sections.LimitsSection:
        """Its limits."""

    @property
    def metrics(self) -> sections.MetricsSection:
        """The address of its metrics."""

    @property
    def tls(self) -> sections.TlsSection:
        """Its certificate and its trusted authority."""

    @property
    def places(self) -> Mapping[str, SettingOrigin]:
        """The source of each option."""

    def values(self) -> dict[str, str]:
        """Every option as text, by dotted key."""


def inconsistencies(config: AnyConfig, places: Mapping[str, SettingOrigin]) -> list[Problem]:
    """Return everything that does not fit together, each at the place where it was written."""
    values = config.values()
    checks = (_network, _metrics, _tls, _secret, _peers, _rehearsal, _quorum, _limits, _time)
    return [
        Problem(
            place=places.get(key, SettingOrigin("default")),
            key=key,
            value=values.get(key),
            reason=reason,
        )
        for check in checks
        for key, reason in check(config)
    ]


def own_place(config: AnyConfig) -> SettingOrigin | None:
    """Return where this node's address among the peers is written; None if it is not there."""
    return config.places.get(_own_key(config))


def address_among_peers(config: AnyConfig) -> Address:
    """Return where the other members dial this node, which must be a member."""
    return next(peer.address for peer in config.peers if peer.id == config.node.id)


def _own_key(config: AnyConfig) -> str:
    numbers = [number for number, peer in enumerate(config.peers) if peer.id == config.node.id]
    return f"peers.{numbers[0]}.address" if numbers else ""


def _network(config: AnyConfig) -> Iterator[tuple[str, str]]:
    known = config.tls.on and config.tls.clients is sections.ClientCertificates.REQUIRED
    if not config.listen.loopback and not config.insecure and not known:
        yield ("listen" if "listen" in config.places else _own_key(config) or "listen"), _PUBLIC
    if own_place(config) is not None and config.advertise is None:
        dialled = address_among_peers(config)
        if not _same(config.listen, dialled):
            yield (
                "listen",
                _elsewhere(dialled),
            )
    if config.advertise is not None and config.advertise.everywhere:
        yield "advertise", "is not an address that others can dial"
    if len(config.peers) > 1 and config.listen.everywhere and config.advertise is None:
        yield "listen", "means all interfaces, so `advertise` must say where the others dial"


def _metrics(config: AnyConfig) -> Iterator[tuple[str, str]]:
    metrics = config.metrics.listen
    private = config.tls.on and config.tls.metrics
    if metrics is not None and not metrics.loopback and not config.insecure:
        if not private:
            yield "metrics.listen", _PUBLIC_METRICS
        elif config.metrics.token_file is None:
            yield "metrics.listen", _OPEN_METRICS
    if metrics is None and config.metrics.token_file is not None:
        yield "metrics.token_file", "is for who asks at metrics.listen, which is not set"
    if config.metrics.open_health and config.metrics.token_file is None:
        yield "metrics.open_health", "is for where others show a token: metrics.token_file"
    if metrics is not None and metrics.port and metrics == config.listen:
        yield "metrics.listen", "is where the node itself listens"


def _tls(config: AnyConfig) -> Iterator[tuple[str, str]]:
    """Require all three files or none; their contents are checked when the node starts."""
    tls = config.tls
    named = {"certificate": tls.certificate, "key": tls.key, "ca": tls.ca}
    if any(named.values()):
        for name in (name for name, path in named.items() if path is None):
            yield f"tls.{name}", "is missing: TLS wants tls.certificate, tls.key and tls.ca"
        if not config.cluster.id:
            yield "cluster.id", "is needed for TLS: certificates name the cluster by it"
    elif "tls.clients" in config.places:
        yield "tls.clients", "says who needs a certificate, and tls.certificate names none"


def _secret(config: AnyConfig) -> Iterator[tuple[str, str]]:
    cluster = config.cluster
    if cluster.secret_optional and not cluster.secret and cluster.secret_file is None:
        yield "cluster.secret_optional", "is for a node with a secret: name it in secret_file"


def _peers(config: AnyConfig) -> Iterator[tuple[str, str]]:
    peers = config.peers
    if len(peers) > 1 and not config.cluster.id:
        yield "cluster.id", "is needed when there are peers, and is the same on all of them"
    own = [number for number, peer in enumerate(peers) if peer.id == config.node.id]
    if not own:
        yield "peers", f"must include this node itself, id {config.node.id}"
    elif peers[own[0]].name != config.node.name:
        yield f"peers.{own[0]}.name", f"is not this node's name {config.node.name!r}"
    for part in ("id", "name", "address"):
        counted = Counter(str(getattr(peer, part)) for peer in peers)
        for value, count in counted.items():
            if count > 1:
                yield "peers", f"gives the {part} {value} to {count} members"


def _rehearsal(config: AnyConfig) -> Iterator[tuple[str, str]]:
    if config.node.rehearsed_features and not config.node.faults:
        yield "node.rehearsed_features", "is for drills, so it needs node.faults: true"


def _elsewhere(dialled: Address) -> str:
    return (
        f"is not where the other members dial this node, {dialled}; leave `listen` out to listen "
        f"there, or say `advertise: {dialled}` if that leads here"
    )


def _same(listen: Address, dialled: Address) -> bool:
    """Return whether two addresses may be the same: port 0 and all interfaces match any."""
    if listen.port == 0:
        return True
    if listen.everywhere or (listen.loopback and dialled.loopback):
        return listen.port == dialled.port
    return listen == dialled


def _quorum(config: AnyConfig) -> Iterator[tuple[str, str]]:
    why = config.replication.synchro_quorum.misfit(len(config.peers))
    if why is not None:
        yield "replication.synchro_quorum", why


def _limits(config: AnyConfig) -> Iterator[tuple[str, str]]:
    limits = config.limits
    if limits.tuple_bytes_max > limits.txn_bytes_max:
        yield "limits.tuple_bytes_max", "is more than limits.txn_bytes_max"
    if limits.txn_bytes_max > limits.client_frame_bytes_max:
        yield "limits.txn_bytes_max", "is more than limits.client_frame_bytes_max"
    if limits.client_frame_bytes_max > limits.unfinished_bytes_max:
        yield "limits.client_frame_bytes_max", "is more than limits.unfinished_bytes_max"
    if limits.txn_bytes_max > limits.frame_bytes_max:
        yield "limits.txn_bytes_max", "is more than limits.frame_bytes_max"
    if config.replication.append_bytes_max > limits.frame_bytes_max:
        yield "replication.append_bytes_max", "is more than limits.frame_bytes_max"


def _time(config: AnyConfig) -> Iterator[tuple[str, str]]:
    if config.replication.timeout * 2 > config.election.timeout:
        yield (
            "election.timeout",
            "is less than two heartbeats (replication.timeout), so followers would never be calm",
        )
