"""A lab: a cluster of real node processes on this machine, in the background."""

import json
import shutil
import signal
import sys
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from admin.lab import new_directory, processes
from admin.lab.failures import LabExists, NoSuchLab, NotRunning, StillRunning
from admin.lab.metrics_places import metrics_beside, metrics_places
from admin.lab.names import STATE_FILE, exists, known, place, unregister
from admin.lab.node_file import check_options, config_text, options_of
from admin.lab.ports import LOOPBACK, free_ports
from admin.lab.processes import OsProcess
from admin.lab.secure import add_nodes, check_authority, is_secure, lay_out, tls_options
from admin.links.control import Control
from admin.links.rules import LinkPlan, ports_needed
from admin.links.rules import lay_out as lay_out_links
from election.messages import Replica
from qsync.directory_files import CONFIG_FILE
from qsync.errors import ConfigError
from qsync.store.eventfile import note_wiped
from qsync.store.private import make_private
from qsync.store.unfinished import NOTE

NODES_MAX = 31
PID_FILE = "node.pid"
LOG_FILE = "node.log"
LINKS_PID_FILE, LINKS_LOG_FILE = "links.pid", "links.log"
GRACE_S = 3.0
"""How long a node may take to stop by itself before it is killed."""
DATA_PARTS = ("log", "data", "archive", "snap")
"""What the directory of a node holds of its cluster."""
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNode:
    """One member. Everything it has is below `dir`."""

    id: int
    name: str
    address: str
    dir: Path
    metrics: str | None = None
    """The address of its metrics, if any."""

    @property
    def ports(self) -> list[int]:
        """Those it listens at."""
        return [int(each.rpartition(":")[2]) for each in (self.address, self.metrics) if each]

    @property
    def config(self) -> Path:
        """Its configuration file."""
        return self.dir / CONFIG_FILE

    @property
    def log(self) -> Path:
        """The file of its log lines."""
        return self.dir / LOG_FILE

    @property
    def process(self) -> OsProcess | None:
        """Its process, if it runs."""
        found = processes.read_pid_file(self.dir / PID_FILE)
        return found if found is not None and found.alive else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A lab: a directory with a state file and one directory for each node."""

    name: str
    dir: Path
    cluster: str
    nodes: tuple[LabNode, ...]
    links: LinkPlan | None = None
    """The links between the nodes, if a proxy carries them."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the nodes, running or not."""
        return tuple(node.address for node in self.nodes)

    @property
    def directories(self) -> dict[int, Path]:
        """The directories of the nodes, by id."""
        return {node.id: node.dir for node in self.nodes}

    def node(self, name: str) -> LabNode:
        """Return a node by name or id. Raises ConfigError that lists the nodes."""
        for node in self.nodes:
            if name in {node.name, str(node.id)}:
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise ConfigError(f"lab {self.name} has no node {name!r}; it has {known}")

    @property
    def control(self) -> Control:
        """Return the control of the proxy. Raises ConfigError in a lab without one."""
        if self.links is None:
            raise ConfigError(
                f"the nodes of lab {self.name} are connected directly, so no link can be spoiled",
                hint="lay the lab out without --direct",
            )
        return Control(self.links)

    @property
    def proxy(self) -> OsProcess | None:
        """The process that carries the links, if it runs."""
        found = processes.read_pid_file(self.dir / LINKS_PID_FILE)
        return found if found is not None and found.alive else None

    def start_links(self) -> None:
        """Start the proxy, if the lab has one and it does not run."""
        if self.links is None or self.proxy is not None:
            return
        processes.start_noted(
            [sys.executable, "-m", "admin.links", str(self.dir)],
            log=self.dir / LINKS_LOG_FILE,
            env=processes.node_environment(),
            pid_file=self.dir / LINKS_PID_FILE,
        )

    def start(self, node: LabNode) -> OsProcess:
        """Start a node unless it runs already."""
        self.start_links()
        running = node.process
        if running is not None:
            return running
        command = [sys.executable, "-m", "qsync", "node", "--config", str(node.config)]
        return processes.start_noted(
            command,
            log=node.log,
            env=processes.node_environment(),
            pid_file=node.dir / PID_FILE,
        )

    def start_all(self) -> None:
        """Start every node that does not run."""
        for node in self.nodes:
            self.start(node)

    def send(self, node: LabNode, number: signal.Signals) -> None:
        """Send a signal. After SIGKILL it waits until the process is gone."""
        process = node.process
        if process is None or not process.send(number):
            raise NotRunning(f"{node.name} does not run", hint=f"`qsync lab start {node.name}`")
        if number is signal.SIGKILL:
            process.wait_gone(GRACE_S)

    def kill(self, node: LabNode) -> None:
        """Kill the node with SIGKILL, as a power cut would."""
        self.send(node, signal.SIGKILL)

    def pause(self, node: LabNode) -> None:
        """Stop the process at an arbitrary moment, and wait until it has stopped."""
        process = node.process
        self.send(node, signal.SIGSTOP)
        if process is not None:
            process.wait_paused(GRACE_S)

    def resume(self, node: LabNode) -> None:
        """Resume a paused node."""
        self.send(node, signal.SIGCONT)

    def stop_all(self) -> None:
        """End every process. All get the signal first, so that they stop at the same time."""
        with processes.clearing_up():
            running = [process for node in self.nodes if (process := node.process) is not None]
            for process in running:
                process.send(signal.SIGTERM)
                process.send(signal.SIGCONT)
            for process in running:
                process.end(grace=GRACE_S)
            proxy = self.proxy
            if proxy is not None:
                proxy.end(grace=GRACE_S)

    def wipe(self, node: LabNode) -> None:
        """Delete the data of a stopped node, as if its disk were new."""
        if node.process is not None:
            raise StillRunning(f"{node.name} runs", hint=f"`qsync lab kill {node.name}` first")
        for part in DATA_PARTS:
            shutil.rmtree(node.dir / part, ignore_errors=True)
        note_wiped(node.dir)  # what it did before is evidence, and stays

    def remove(self) -> None:
        """End every process and delete the directory."""
        self.stop_all()
        shutil.rmtree(self.dir)
        unregister(self.dir)


def create(
    directory: Path,
    *,
    name: str,
    nodes: int,
    options: Mapping[str, str] | None = None,
    first_port: int | None = None,
    links: bool = False,
    secure: bool = False,
) -> Lab:
    """Create a lab: free ports, a configuration for each node, the state file last.

    With `links` a proxy between the nodes can spoil every directed link; `secure`: over TLS, with
    certificates of their own, else they share a secret in a file. Raises ConfigError for options,
    DirectoryNotEmpty: what others put there would be deleted with the lab.
    """
    from admin.lab import cluster_secret  # noqa: PLC0415 - reads YAML, which others of a lab do not
    from qsync.store.opening import Founder, found  # noqa: PLC0415 - most only look a lab up

    if not 1 <= nodes <= NODES_MAX:
        raise ConfigError(f"a lab has 1 to {NODES_MAX} nodes, not {nodes}")
    if exists(directory):
        raise LabExists(f"there is a lab in {directory}", hint="`qsync lab up` starts it again")
    cluster = str(uuid.uuid4())
    common = {"cluster.id": cluster, **(options or {}), **(tls_options() if secure else {})}
    check_options(common, nodes=nodes)
    wanted = range(0) if first_port is None else range(first_port, first_port + nodes)
    others = ports_of_labs()
    ports = free_ports(nodes, wanted=wanted, others=others)
    metrics = metrics_places(options or {}, nodes, {*others, *ports})
    members = tuple(
        _node(directory, n, *places) for n, places in enumerate(zip(ports, metrics, strict=True), 1)
    )
    lab = Lab(
        name=name,
        dir=directory,
        cluster=cluster,
        nodes=members,
        links=_lay_out_links(members, others) if links else None,
    )
    with new_directory.filled(directory):
        hint = "a lab wants a new directory, which is deleted with it"
        new_directory.check_new(directory, hint=hint, ignored=frozenset({NOTE}))
        for each in lab.directories.values():
            make_private(each)
        given = {**(options or {}), **(lay_out(directory, lab) if secure else {})}
        given = cluster_secret.shared(directory.absolute(), given)
        for node in lab.nodes:
            node.config.write_text(config_text(lab, node, given), "utf-8")
        found(cluster, [Founder(replica=Replica(n.id), name=n.name, path=n.dir) for n in members])
        _store(lab)
    return lab


def add_node(lab: Lab) -> tuple[Lab, LabNode]:
    """Create one more node of a lab. Returns the lab with it, and the node.

    It is a stranger until it is added (`qsync member add`), and set up as the first node is. The
    lab's proxy does not carry its links. Raises ConfigError for one too many, or no certificate.
    """
    used = {node.id for node in lab.nodes}
    id = next((each for each in range(1, NODES_MAX + 1) if each not in used), None)
    if id is None:
        raise ConfigError(f"lab {lab.name} has {len(used)} nodes, and that is the limit")
    given = options_of(lab.nodes[0].config)
    check_authority(lab.dir, given)
    others = ports_of_labs()
    (port,) = free_ports(1, others=others)
    node = _node(lab.dir, id, port, metrics_beside(lab.nodes[0].metrics, {*others, port}))
    grown = replace(lab, nodes=(*lab.nodes, node))
    make_private(node.dir)
    if is_secure(lab.dir):
        given |= add_nodes(lab.dir, lab, [node])
    node.config.write_text(config_text(grown, node, given), "utf-8")
    _store(grown)
    return grown, node


def _node(directory: Path, id: int, port: int, metrics: str | None) -> LabNode:
    name, address = f"n{id}", f"{LOOPBACK}:{port}"
    return LabNode(id=id, name=name, address=address, dir=directory / name, metrics=metrics)


def refounded(lab: Lab, cluster: str) -> Lab:
    """Write down that the nodes belong to another cluster now, and return that lab."""
    anew = replace(lab, cluster=cluster)
    _store(anew)
    return anew


def load(directory: Path) -> Lab:
    """Load the lab in that directory. Raises NoSuchLab or ConfigError."""
    path = directory / STATE_FILE
    if not exists(directory):
        raise NoSuchLab(f"there is no lab in {directory}", hint="`qsync lab up` makes one")
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["format"] != _FORMAT:
            raise ConfigError(f"{path} has the format {found['format']}, not {_FORMAT}")
        return Lab(
            name=found["name"],
            dir=directory,
            cluster=found["cluster"],
            nodes=tuple(
                LabNode(**(node | {"dir": directory / node["name"]})) for node in found["nodes"]
            ),
            links=LinkPlan.from_json(found["links"]) if found.get("links") else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is damaged: {error}") from error


def _lay_out_links(nodes: Sequence[LabNode], others: Collection[int]) -> LinkPlan:
    used = {*others, *(port for node in nodes for port in node.ports)}
    ports = free_ports(ports_needed(len(nodes)), others=used)
    return lay_out_links([node.name for node in nodes], iter(ports))


def ports_of_labs() -> set[int]:
    """Return the ports of all nodes of labs with a name, also of nodes that do not run now."""
    found: set[int] = set()
    for name in known():
        with suppress(ConfigError):  # of a damaged one they are not known
            found.update(port for node in load(place(name)).nodes for port in node.ports)
    return found


def _store(lab: Lab) -> None:
    """Write the state file, whole or not at all."""
    state = {
        "format": _FORMAT,
        "name": lab.name,
        "cluster": lab.cluster,
        "nodes": [
            {k: v for k, v in asdict(node).items() if k != "dir" and v is not None}
            for node in lab.nodes
        ],
        "links": None if lab.links is None else lab.links.as_json(),
    }
    fresh = lab.dir / f"{STATE_FILE}.new"
    fresh.write_text(json.dumps(state, indent=2) + "\n", "utf-8")
    fresh.replace(lab.dir / STATE_FILE)
