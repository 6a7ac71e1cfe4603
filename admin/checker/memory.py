"""How much memory a check may use here: the free memory, within the container's limit."""

from pathlib import Path

ROOT = Path("/")
_KIB = 1024


def memory_available(root: Path = ROOT) -> int | None:
    """Bytes; None if the system does not report it. `root` has its `/proc` and `/sys`."""
    found = [each for each in (_of_machine(root), _of_container(root)) if each is not None]
    return min(found, default=None)


def _of_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * _KIB
    return None


def _of_container(root: Path) -> int | None:
    """The memory left below the limit of the cgroup; its file cache can be freed."""
    group = root / "sys/fs/cgroup"
    limit = next(iter(_lines(group / "memory.max")), "max")
    used = next(iter(_lines(group / "memory.current")), "")
    if not limit.isdecimal() or not used.isdecimal():
        return None
    stat = dict(line.split(maxsplit=1) for line in _lines(group / "memory.stat"))
    return max(0, int(limit) - int(used) + int(stat.get("inactive_file", 0)))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []  # Another system: unknown.
