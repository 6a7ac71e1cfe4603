"""Founds a cluster: chooses where, and makes a configuration and a directory for each member."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from admin.cluster import sides
from admin.cluster.surveys import ClusterSurvey
from admin.lab import cluster_secret, next_steps
from admin.lab.new_directory import filled
from qsync.config import Address, NodeConfig
from qsync.config.secret import Secret
from qsync.default_port import DEFAULT_PORT
from qsync.directory_files import CONFIG_FILE
from qsync.errors import ConfigError
from qsync.member import MEMBERS_MAX
from qsync.node.assembly import found_cluster
from qsync.store.directory import is_formatted
from qsync.store.private import make_private

ANON = "replication.anon"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundingMember:
    """One new node: its id and name, its address and its directory."""

    id: int
    name: str
    address: str
    dir: Path
    config: str

    @property
    def file(self) -> Path:
        """Its configuration."""
        return self.dir / CONFIG_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A new cluster. `founded`: its directories are the first voters.

    `has_secret`: each directory has a file with the secret of the cluster.
    """

    cluster: str
    members: tuple[FoundingMember, ...]
    founded: bool
    has_secret: bool


def single(directory: Path, options: Mapping[str, str], *, secure: bool = False) -> Layout:
    """Found one node. With `peers` among the options it belongs to a cluster elsewhere.

    `secure`: over TLS, with an authority of its own. Without TLS a new cluster gets a secret, for
    nodes that join later. Raises ConfigError, also when there is a configuration already.
    """
    options = {**options, **(laying_options() if secure else {})}
    if "peers" not in options and not options.get("cluster.id"):
        options = {**options, "cluster.id": str(uuid.uuid4())}
    alone = len(NodeConfig.draft(options).peers) == 1
    options, secret = cluster_secret.founding(options) if alone else cluster_secret.taken(options)
    config = NodeConfig.draft(options)
    member = FoundingMember(
        id=config.node.id,
        name=config.node.name,
        address=str(config.address),
        dir=directory,
        config=config.to_yaml(),
    )
    with filled(directory):
        if secure:
            _check_no_authority(directory)
        made = _lay_out(config.cluster.id, [member], secret, founded=alone)
        if secure:
            _certify(directory, made)
    return made


def several(
    directory: Path, hosts: Sequence[str], options: Mapping[str, str], *, secure: bool = False
) -> Layout:
    """Make a directory for each host, n1 and so on, with one cluster id and all as members.

    A host may have a port; each node listens at its own address. `secure`: over TLS, with an
    authority of their own. Without TLS they share a secret. Raises ConfigError.
    """
    options = {**options, **(laying_options() if secure else {})}
    fixed = sorted({"node.id", "node.name", "peers", "listen"} & set(options))
    if fixed:
        raise ConfigError(f"{fixed[0]} is another one for each member, and follows from the hosts")
    addresses = _addresses(hosts)
    _check_trust(addresses, options, secure=secure)
    options, secret = cluster_secret.founding(options)
    cluster = options.get("cluster.id") or str(uuid.uuid4())
    peers = ",".join(f"{id}:n{id}@{address}" for id, address in enumerate(addresses, start=1))
    members = []
    for id, address in enumerate(addresses, start=1):
        own = {"node.id": str(id), "node.name": f"n{id}", "cluster.id": cluster, "peers": peers}
        members.append(
            FoundingMember(
                id=id,
                name=f"n{id}",
                address=str(address),
                dir=directory / f"n{id}",
                config=NodeConfig.template({**options, **own}),
            )
        )
    with filled(directory, *(each.dir for each in members)):
        if secure:
            _check_no_authority(directory)
        made = _lay_out(cluster, members, secret, founded=True)
        if secure:
            _certify(directory, made)
        text = next_steps.readme(
            directory, cluster, made.members, secure=secure, has_secret=made.has_secret
        )
        (directory / next_steps.README).write_text(text, "utf-8")
    return made


def _check_trust(addresses: Sequence[Address], options: Mapping[str, str], *, secure: bool) -> None:
    """Refuse addresses beyond this machine without TLS, unless `insecure` is set."""
    chosen = secure or "insecure" in options or any(key.startswith("tls.") for key in options)
    public = next((each for each in addresses if not each.loopback), None)
    if public is not None and not chosen:
        raise ConfigError(
            f"{public} can be reached from other machines, and without TLS anyone who connects can "
            "do everything",
            hint="add --secure (TLS, with certificates made here), or say --set insecure=true",
        )


def _check_no_authority(directory: Path) -> None:
    """Refuse a directory with an authority before a node is founded there. Raises ConfigError."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    laying.check_no_authority(directory)


def laying_options() -> dict[str, str]:
    """Return the options that name a node's certificate in its file. Raises ConfigError."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    return laying.OPTIONS


def _certify(directory: Path, made: Layout) -> None:
    """Make the authority, an administrator's certificate, and one for each member."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    laying.lay_out(directory, made.cluster, name="qsync")
    for each in made.members:
        host = Address(each.address).host
        laying.add_node(directory, each.dir, cluster=made.cluster, name=each.name, hosts=[host])


def joining(
    directory: Path,
    cluster: ClusterSurvey,
    address: str,
    options: Mapping[str, str],
    *,
    authority: Path | None = None,
    anonymous: bool = False,
) -> Layout:
    """Make the directory of one more node of a running cluster.

    It gets a replica id that nobody has, and the members as its peers. It is a stranger until it is
    added (`admin.cluster.membership`); or an anonymous replica, which is not. `authority`: the
    directory of the cluster's own, which signs a certificate for it; None: it speaks no TLS, or has
    one. The secret that the options name is put into the directory. Raises ConfigError.
    """
    if authority is not None:
        _check_authority(authority)
        options = {**options, **laying_options()}
    fixed = sorted({"node.id", "peers", "listen", "cluster.id"} & set(options))
    if fixed:
        raise ConfigError(f"{fixed[0]} follows from the cluster that is joined")
    if ANON in options:
        raise ConfigError(f"{ANON} is not set: it follows from --anonymous")
    known = sides.places(cluster.samples)
    id = anonymous_id(cluster) if anonymous else next_id(cluster)
    name = options.get("node.name", f"a{id}" if anonymous else f"n{id}")
    try:
        own = _address(address, taken=())
    except ValueError as error:
        raise ConfigError(f"{address!r} {error}", hint="--listen HOST:PORT") from None
    for other, (called, where) in known.items():
        if where == own or called == name:
            raise ConfigError(f"{name} at {own}: member {other} is {called} at {where}")
    peers = [f"{other}:{called}@{where}" for other, (called, where) in sorted(known.items())]
    first = cluster.samples[0]
    if not first.replicaset.uuid:
        raise ConfigError(
            f"{first.name} was founded without a cluster id, so it stays alone",
            hint="dump its data into a cluster of `qsync init`, which gives every cluster an id",
        )
    settings = {
        "node.id": str(id),
        "node.name": name,
        "cluster.id": first.replicaset.uuid,
        "cluster.name": first.cluster.name,
        "cluster.tag": first.cluster.tag,
        "peers": ",".join([*peers, f"{id}:{name}@{own}"]),
        **({ANON: "true"} if anonymous else {}),
    }
    options, secret = cluster_secret.taken(options)
    text = NodeConfig.template({**settings, **options})
    member = FoundingMember(id=id, name=name, address=str(own), dir=directory, config=text)
    with filled(directory):
        made = _lay_out(first.replicaset.uuid, [member], secret, founded=False)
        if authority is not None:
            _certify_one(authority, made, member)
    return made


def _check_authority(where: Path) -> None:
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    laying.check_authority(where)


def _certify_one(where: Path, made: Layout, member: FoundingMember) -> None:
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    hosts = [Address(member.address).host]
    laying.certify_node(where, member.dir, cluster=made.cluster, name=member.name, hosts=hosts)


def anonymous_id(cluster: ClusterSurvey) -> int:
    """Return the last free replica id; members use the first free ones.

    Raises ConfigError.
    """
    return max(_free(cluster))


def _free(cluster: ClusterSurvey) -> list[int]:
    """Return the replica ids that neither members nor anonymous replicas have, in order."""
    taken = {id for each in cluster.samples for id, _, _ in each.nodes}
    taken |= {it.id for each in cluster.samples for it in each.replication_anon.replicas}
    free = [id for id in range(1, MEMBERS_MAX + 1) if id not in taken]
    if not free:
        raise ConfigError(
            f"the cluster has {len(taken)} members and anonymous replicas, and that is the limit"
        )
    return free


def next_id(cluster: ClusterSurvey) -> int:
    """Return the id after those of members and of origins in the log, otherwise a free one.

    Raises ConfigError when there are as many members as there may be.
    """
    free = _free(cluster)
    members = {id for each in cluster.samples for id, _, _ in each.nodes}
    after = max(members.union(*(each.vclock for each in cluster.samples))) + 1
    return after if after in free else free[0]


def _addresses(hosts: Sequence[str]) -> list[Address]:
    if not 1 <= len(hosts) <= MEMBERS_MAX:
        raise ConfigError(f"a cluster has 1 to {MEMBERS_MAX} members, not {len(hosts)}")
    found: list[Address] = []
    for host in hosts:
        try:
            found.append(_address(host, taken=found))
        except ValueError as error:
            raise ConfigError(
                f"{host!r} {error}", hint="name each member HOST or HOST:PORT"
            ) from None
    return found


def _address(host: str, *, taken: Sequence[Address]) -> Address:
    """A host without a port has the usual one; further members on it have those after that."""
    if ":" in host and not host.endswith("]"):
        address = Address.parse(host)
        if address in taken:
            raise ValueError("is given to two members")
        if not address.port:
            raise ValueError("has port 0: no other node would know its address")
    else:
        address = Address.parse(f"{host}:{DEFAULT_PORT}")
        used = {each.port for each in taken if each.host == address.host}
        free = (p for p in range(DEFAULT_PORT, DEFAULT_PORT + 99) if p not in used)
        address = address.at_port(next(free))
    if address.everywhere:
        raise ValueError("is not an address that others can dial")
    return address


def _lay_out(
    cluster: str, members: Sequence[FoundingMember], secret: Secret, *, founded: bool
) -> Layout:
    """Write all directories, or none if one of them exists already."""
    for each in members:
        if each.file.exists():
            raise ConfigError(f"{each.file} exists already", hint="edit it, or delete it first")
        if is_formatted(each.dir):
            raise ConfigError(f"{each.dir} belongs to a node already", hint="name an empty one")
    for each in members:
        make_private(each.dir)
        with each.file.open("x", encoding="utf-8") as file:
            file.write(each.config)
        cluster_secret.put(each.dir, secret)
    if founded:
        found_cluster([NodeConfig.load(each.file, {}) for each in members])
    return Layout(cluster=cluster, members=tuple(members), founded=founded, has_secret=bool(secret))
