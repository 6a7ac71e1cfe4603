"""Where the programs of the peers are: on the path, or from packages unpacked into a cache folder.

Nothing is installed: `apt-get download` and `dpkg -x` put Debian's packages below the cache, and
uv or pip puts PySyncObj there. etcd's own client in Go is built if Go and its sources are here.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.bench.peers.workloads import PeerFailed

PACKAGES = {
    "etcd": ("etcd-server", "usr/bin/etcd"),
    "tarantool": ("tarantool", "usr/bin/tarantool"),
}
"""Debian's package of a program, and where the program is in it."""
FETCH_TIMEOUT_S = 120
GO_SOURCES = Path("/usr/share/gocode")
"""Where Debian's `golang-etcd-server-dev` puts etcd's client, and all that it needs."""
GO_PACKAGES = "golang-go golang-etcd-server-dev"


def cache() -> Path:
    """The folder for what is fetched."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "qsync" / "peers"


def program(name: str, *, fetch: bool) -> Path:
    """The program, from the environment (`ETCD=/path`), the path, the cache, or fetched.

    Raises PeerFailed with a word about why it is not here.
    """
    told = os.environ.get(name.upper()) or shutil.which(name)
    if told:
        return Path(told).absolute()
    package, inside = PACKAGES[name]
    found = cache() / package / inside
    if not found.exists():
        if not fetch:
            raise PeerFailed(f"{name} is not installed; --fetch takes the package {package}")
        _unpack(package, cache() / package)
    if not found.exists():
        raise PeerFailed(f"the package {package} has no {inside}")
    return found


def pysyncobj(*, fetch: bool) -> dict[str, str]:
    """What must be in the environment for Python to find PySyncObj. Raises PeerFailed."""
    folder = cache() / "pysyncobj"
    env = {"PYTHONPATH": str(folder)}
    look = [sys.executable, "-c", "import pysyncobj"]
    if _succeeds(look, env):
        return env
    if not fetch:
        raise PeerFailed("PySyncObj is not installed; --fetch takes it from PyPI")
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    tool = [uv, "pip"] if Path(uv).exists() else [sys.executable, "-m", "pip"]
    _run([*tool, "install", "--quiet", "--target", str(folder), "pysyncobj"], Path.cwd())
    if not _succeeds(look, env):
        raise PeerFailed("PySyncObj was fetched and cannot be imported")
    return env


def etcd_client() -> Path:
    """The load that asks etcd by its own client, built into the cache. Raises PeerFailed."""
    go = shutil.which("go")
    if go is None or not (GO_SOURCES / "src" / "go.etcd.io" / "etcd" / "clientv3").is_dir():
        raise PeerFailed(f"no client in Go; on Debian: apt-get install {GO_PACKAGES}")
    source = Path(__file__).with_name("etcd_load.go")
    built = cache() / "etcd-load"
    built.parent.mkdir(parents=True, exist_ok=True)
    # Go itself finds out whether it has to compile anything.
    env = {"GO111MODULE": "off", "GOPATH": str(GO_SOURCES), "GOCACHE": str(cache() / "go-build")}
    _run([go, "build", "-o", str(built), str(source)], source.parent, env)
    return built


def _succeeds(command: list[str], env: dict[str, str]) -> bool:
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, check=False)
    return done.returncode == 0


def _unpack(package: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", package], folder)
    for archive in folder.glob("*.deb"):
        _run(["dpkg", "-x", str(archive), str(folder)], folder)


def _run(command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerFailed(f"{command[0]}: {error}") from None
    if done.returncode:
        raise PeerFailed(f"{' '.join(command[:3])}: {done.stderr.strip()[-200:]}")


def version(command: list[str]) -> str:
    """The first line that it says of itself."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return (done.stdout or done.stderr).partition("\n")[0].strip()
