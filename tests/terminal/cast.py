"""Clusters to look at: healthy, degraded, leaderless; and a terminal to look at them with."""

import difflib
import io
from collections.abc import Mapping
from pathlib import Path

import pyte
from rich.console import Console

from admin.cluster.moment import Moment
from admin.cluster.picture import ClusterPicture, PictureModel
from admin.cluster.unreachable import UnreachableNode
from qsync.histogram import Histogram
from tests.answers import placed, spread, synchro, waiting

SCREENS = Path(__file__).parent / "screens"
NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC
SIZES = [(80, 24), (200, 50)]
NAMES = {1: "n1", 2: "n2", 3: "n3", 4: "n4", 5: "n5"}


def times(**counts: int) -> dict[str, object]:
    """`us800=3`: three of 800 microseconds."""
    made = Histogram()
    for name, count in counts.items():
        made.add(int(name.removeprefix("us")) / 1e6, count)
    return spread(made)


def node(id: int, *, leads: bool = False, **more: object) -> dict[str, object]:
    """What one of five says of itself."""
    others = [other for other in NAMES if other != id]
    answer: dict[str, object] = {
        "id": id,
        "name": NAMES[id],
        "uuid": f"0000000{id}-1111-2222-3333-444444444444",
        "cluster": {"name": "demo"},
        "replicaset": {"uuid": "c"},
        "address": f"127.0.0.1:330{id}",
        "version": "0.2.0",
        "status": "running",
        "role": "leader" if leads else "follower",
        "mode": "candidate",
        "term": 7,
        "vote": 1,
        "leader": 1,
        "leader_name": "n1",
        "leader_idle": 0.0 if leads else 0.02,
        "behind": 0,
        "ro": not leads,
        "ro_reason": None if leads else "election",
        "ro_reasons": [] if leads else [{"why": "election", "text": "node 1 leads in term 7"}],
        "vclock": {1: 88127, 2: 412},
        "last": 88539,
        "written": 88539,
        "confirmed": 88539,
        "visible": 88539,
        "folded": 88000,
        "synchro": limbo(),
        "nodes": [[each, NAMES[each], f"127.0.0.1:330{each}"] for each in NAMES],
        "peers": [
            {"id": other, "name": NAMES[other], "status": "up"}
            | ({"idle": 0.02, "lag": 0, "acked": 88539} if leads else {})
            for other in others
        ],
        "disk": {
            "writer": "inline",
            "fsync_us": 800,
            "write_us": 900,
            "free": 79 << 30,
            "total": 99 << 30,
        }
        | {"writes": times(us900=1000)},
        "latency": times(us2100=900, us9800=100) if leads else times(),
        "counters": {"writes": 1000, "reads": 400, "elections": 1} if leads else {},
        "election": {"fencing": "soft", "tallies": []},
        "clients": 34 if leads else 1,
        "memory": {"rss": 96 << 20},
        "files": [40, 1024],
        "events": 9,
        "time": NOON,
        "uptime": 8040.0,
        "pid": 1000 + id,
    }
    return placed(answer | more)


def limbo(**more: object) -> dict[str, object]:
    whole: dict[str, object] = {
        "quorum": 3,
        "timeout": 5.0,
        "policy": "rollback",
        "entries_max": 100000,
        "bytes_max": 16 << 20,
        "owner": 1,
        "term": 7,
        "len": 0,
    }
    return synchro(**whole | more)


def event(at: float, name: str, **fields: object) -> dict[str, object]:
    """So many seconds before noon."""
    minutes, seconds = divmod(NOON - at - (NOON - 3600), 60)
    return {
        "time": f"2026-01-01T11:{int(minutes):02}:{seconds:06.3f}+00:00",
        "event": name,
    } | fields


EVENTS: dict[int, tuple[dict[str, object], ...]] = {
    1: (
        event(700.0, "follows", term=6, leader=2),
        event(660.4, "leader_silent", term=6, leader=2),
        event(660.2, "campaign", term=7, promoted=False),
        event(660.0, "elected", term=7),
        event(659.9, "promote", term=7, index=71201),
        event(20.0, "rollback", first=88100, transactions=3, why="synchro_timeout"),
    ),
    2: (
        event(3000.0, "started", term=5),
        event(2999.0, "promote", term=5),
        event(2998.8, "elected", term=6),
        event(659.8, "stepped_down", term=6, why="a higher term"),
        event(659.5, "follows", term=7, leader=1),
    ),
}


def healthy() -> Moment:
    return moment({id: node(id, leads=id == 1) for id in NAMES})


def degraded() -> Moment:
    """n3 is silent, n2 behind; four transactions wait for them."""
    oldest = waiting(88540, 2, 3, 5, acked=(1, 4))
    peers = [
        {"id": 2, "name": "n2", "status": "up", "idle": 0.9, "lag": 21370, "acked": 67173},
        {"id": 3, "name": "n3", "status": "down", "message": "ECONNREFUSED", "acked": 85990},
        {"id": 4, "name": "n4", "status": "up", "idle": 0.02, "lag": 0, "acked": 88543},
        {"id": 5, "name": "n5", "status": "up", "idle": 0.02, "lag": 4, "acked": 88539},
    ]
    answers = {
        1: node(
            1,
            leads=True,
            peers=peers,
            last=88543,
            written=88543,
            synchro=limbo(len=4, size=412, age=2.7, waiting=oldest),
            counters={"writes": 1000, "rolled_back": 3, "unknown": 2, "elections": 1},
        ),
        2: node(2, written=67173, last=67173, confirmed=67170, behind=21370, leader_idle=0.9),
        4: node(4, last=88543, written=88543),
        5: node(5, peers=[{"id": 1, "name": "n1", "status": "down", "message": "ETIMEDOUT"}]),
    }
    gone = UnreachableNode(id=3, name="n3", address="127.0.0.1:3303", why="Connection refused")
    return moment(answers, gone)


def leaderless() -> Moment:
    """Two of five answer and know nobody."""
    alone = {"leader": None, "leader_name": None, "leader_idle": None, "behind": None}
    text = {"why": "election", "text": "no leader in term 9"}
    lost = alone | {"role": "candidate", "ro_reasons": [text], "term": 9}
    down = [{"id": other, "name": NAMES[other], "status": "down"} for other in (1, 3, 5)]
    answers = {id: node(id, leads=False, **lost, peers=down) for id in (2, 4)}
    gone = [
        UnreachableNode(id=id, name=NAMES[id], address=f"127.0.0.1:330{id}", why=why)
        for id, why in ((1, "no answer in time"), (3, "Connection refused"), (5, "it hung up"))
    ]
    return moment(answers, *gone)


CLUSTERS = {"healthy": healthy, "degraded": degraded, "leaderless": leaderless}


def moment(answers: Mapping[int, dict[str, object]], *silent: UnreachableNode) -> Moment:
    return Moment(
        time=NOON,
        answers=answers,
        silent=silent,
        events={id: told for id, told in EVENTS.items() if id in answers},
    )


def before(later: Moment, seconds: float) -> Moment:
    """The same cluster a while ago, when less had been counted."""
    answers = {
        id: dict(told) | {"counters": {}, "latency": times(), "disk": {"writes": times()}}
        for id, told in later.answers.items()
    }
    return Moment(time=later.time - seconds, answers=answers, silent=later.silent)


def picture(name: str) -> ClusterPicture:
    """As the screen would have it after a little while."""
    now = CLUSTERS[name]()
    model = PictureModel()
    for seconds in (4.0, 3.0, 2.0):
        model.show(before(now, seconds))
    return model.show(now)


def console(width: int, height: int) -> Console:
    """A terminal with colours that writes into memory."""
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="256",
        width=width,
        height=height,
        legacy_windows=False,
        _environ={},
    )


def seen(sent: str, width: int, height: int) -> str:
    """What stands on a real terminal after these bytes."""
    screen = pyte.Screen(width, height)
    screen.set_mode(pyte.modes.LNM)  # as a terminal driver ends lines
    pyte.Stream(screen).feed(sent)
    return "\n".join(line.rstrip() for line in screen.display) + "\n"


def compare(name: str, text: str, *, rewrite: bool) -> None:
    """With the snapshot of that name; `--rewrite` records it again."""
    path = SCREENS / f"{name}.txt"
    if rewrite:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    else:
        assert path.exists(), "record it with --rewrite, then read it"
        approved = path.read_text(encoding="utf-8").splitlines()
        told = "\n".join(difflib.unified_diff(approved, text.splitlines(), "approved", "seen"))
        assert not told, f"{path.name}:\n{told}"
