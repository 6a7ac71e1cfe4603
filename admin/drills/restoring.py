"""Backups of the cluster that a drill destroys, and how its lab is restored from them.

All state is below the lab's directory, so another process can restore it after the runner died.
"""

import json
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from admin.backup import catalogue, places, restoring, taking
from admin.backup.archiving import Archiver, ArchivingOptions
from admin.backup.failures import BackupGap, NoBackup
from admin.backup.new_cluster import NewNode
from admin.backup.points import WantedPoint
from admin.certs import NODE_DIRECTORY
from admin.cluster import settling
from admin.lab import lab as labs
from admin.lab import secure
from admin.lab.lab import Lab, LabNode
from admin.lab.node_file import config_text, options_of
from admin.workload.restored import RestoredPoint
from qsync.config import NodeConfig, secret
from qsync.directory_files import CONFIG_FILE
from qsync.errors import ConfigError
from qsync.store.environment import write_whole

FOLDER, POINTS = "backups", "restored.jsonl"
BEGUN = "restoring.json"
"""In the lab's directory during a restore: the remaining work."""
WRITABLE_S = 30.0
"""How long the first node of the restored cluster may take until it accepts writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A started restore: of this node, to this point of the backups."""

    node: str
    cluster: str
    point: RestoredPoint


class _ArchiveEnded(Exception):
    """The archiving has been stopped."""


def back_up(lab: Lab) -> None:
    """Make a backup of the running cluster. Raises the errors of `qsync backup create`."""
    place = _place(lab)
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(lab.nodes[0].config, _settings(lab))
    taking.take_backup(places.open_place(str(place)), lab.addresses, taking.TakingOptions())


def archive(lab: Lab, every: float) -> Callable[[], None]:
    """Archive the log after the backup in a thread, until the returned function is called.

    That function raises the error that ended the archiving; unanswered requests are not errors.
    """
    over = threading.Event()
    failed: list[Exception] = []

    def sleep(seconds: float) -> None:
        if over.wait(seconds):
            raise _ArchiveEnded

    def work() -> None:
        place = places.open_place(str(_place(lab)))
        options = ArchivingOptions(every_s=every, sleep=sleep)
        try:
            Archiver(place, lab.addresses, options).run()
        except _ArchiveEnded:
            pass
        except Exception as error:  # noqa: BLE001 - handed to who ends it
            failed.append(error)

    thread = threading.Thread(target=work, name="archive", daemon=True)
    thread.start()

    def end() -> None:
        over.set()
        thread.join()
        if failed:
            raise failed[0]

    return end


def check_restorable(lab: Lab) -> None:
    """Check that there is a backup to restore. Raises ConfigError or BackupDamaged."""
    try:
        restoring.plan(_load(lab), WantedPoint())
    except (NoBackup, BackupGap) as error:
        raise ConfigError(
            f"nothing could be restored afterwards: {error.message}", hint="`back_up` comes first"
        ) from error


def destroy(lab: Lab, node: LabNode) -> None:
    """Kill the process and remove the directory, like the loss of a machine."""
    if node.process is not None:
        lab.kill(node)
    shutil.rmtree(node.dir)


def restore(lab: Lab, node: LabNode) -> bool:
    """Recreate the node and start it; return true if it must be added to the cluster.

    The first node of a lab that lost all nodes is restored from the newest point of the backup, as
    a new cluster; each further node gets an empty directory of that cluster. An existing node is
    only started. After a kill at any step the same call continues at that step.
    """
    begun = _begun(lab)
    if begun is not None and begun.node == node.name:
        _restore_first(lab, node, begun)
        return False
    if not node.config.is_file():
        if not any(each.config.is_file() for each in lab.nodes):
            _restore_first(lab, node, _begin(lab, node))
            return False
        lab = labs.load(lab.dir)
        first = next(each for each in lab.nodes if each.config.is_file())
        node.dir.mkdir(parents=True, exist_ok=True)
        options = options_of(first.config) | _certified(lab, node)
        write_whole(node.config, config_text(lab, node, options).encode())
    lab.start(node)
    return True


def points(directory: Path, *, since: float) -> tuple[RestoredPoint, ...]:
    """Return the points that the lab in a directory was restored to since a monotonic time."""
    path = directory / POINTS
    if not path.is_file():
        return ()
    found = [RestoredPoint(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    return tuple(each for each in found if each.at >= since * 1e9)


def _begin(lab: Lab, node: LabNode) -> _Begun:
    """Record the plan first: the lab's file will soon name another cluster."""
    at = time.monotonic_ns()
    plan, _ = restoring.plan(_load(lab), WantedPoint())
    point = RestoredPoint(index=plan.index, term=plan.term, at=at)
    begun = _Begun(node=node.name, cluster=lab.cluster, point=point)
    write_whole(lab.dir / BEGUN, json.dumps(asdict(begun)).encode() + b"\n")
    return begun


def _begun(lab: Lab) -> _Begun | None:
    try:
        told = json.loads((lab.dir / BEGUN).read_text("utf-8"))
    except FileNotFoundError:
        return None
    return _Begun(**{**told, "point": RestoredPoint(**told["point"])})


def _restore_first(lab: Lab, node: LabNode, begun: _Begun) -> None:
    """Restore the first node. Each step is atomic and can be repeated.

    The node's file appears together with the directory and names the cluster; the lab's file and
    all others follow from it.
    """
    former = replace(lab, cluster=begun.cluster)
    options = options_of(_settings(former))
    if not node.config.is_file():
        own = {"node.id": str(node.id), "node.name": node.name, "listen": node.address}
        wanted = WantedPoint(index=begun.point.index)
        made = NewNode(directory=node.dir, options={**options, **own})
        restoring.restore(_load(former), wanted, made, _nothing)
    cluster = NodeConfig.load(node.config, {}).cluster.id
    anew = labs.refounded(lab, cluster)
    if begun.point not in points(lab.dir, since=0.0):
        _note(lab, begun.point)
    if secure.is_secure(lab.dir):
        secure.certify_administrator(lab.dir, anew)
    options |= _certified(anew, node)
    write_whole(node.config, config_text(anew, node, options).encode())
    (node.dir / secret.FILE).unlink(missing_ok=True)  # now it names the file of the lab again
    (lab.dir / BEGUN).unlink()
    anew.start(node)
    settling.wait_writable([node.address], timeout=WRITABLE_S)


def _certified(lab: Lab, node: LabNode) -> dict[str, str]:
    """Make a certificate of the new cluster, if the lab uses TLS; return its options."""
    if not secure.is_secure(lab.dir):
        return {}
    shutil.rmtree(node.dir / NODE_DIRECTORY, ignore_errors=True)  # left by a killed restore
    return secure.add_nodes(lab.dir, lab, [node])


def _load(lab: Lab) -> catalogue.Catalogue:
    return catalogue.load(places.open_place(str(_place(lab))))


def _place(lab: Lab) -> Path:
    """Return the folder of its cluster's backups: each cluster has its own."""
    return lab.dir / FOLDER / lab.cluster


def _settings(lab: Lab) -> Path:
    """Return the configuration of a node, kept next to the backups of its cluster."""
    return lab.dir / FOLDER / f"{lab.cluster}.{CONFIG_FILE}"


def _note(lab: Lab, point: RestoredPoint) -> None:
    line = {"index": point.index, "term": point.term, "at": point.at}
    with (lab.dir / POINTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _nothing(_what: str, _done: int, _all: int) -> None:
    """The default: progress is not shown."""
