"""The C compiler that Python's own build names, or the environment."""

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


class NotCompiledError(Exception):
    """There is no compiled form, and why."""


class NoCompilerError(NotCompiledError):
    """Nor can there be one here."""


class NotTrainedError(NotCompiledError):
    """Nothing is known of what runs often, and why."""


def compiler() -> str | None:
    """Where it is. None: it is not here."""
    return shutil.which((words("CC") or ["cc"])[0])


def accepted(flags: Sequence[str]) -> list[str]:
    """Those of the flags that this compiler knows."""
    with tempfile.TemporaryDirectory() as passing:
        source = Path(passing) / "empty.c"
        source.touch()
        return [flag for flag in flags if _takes(flag, source)]


def _takes(flag: str, source: Path) -> bool:
    command = [*words("CC"), "-Werror", flag, "-c", str(source), "-o", str(source) + ".o"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def compile_one(path: Path, flags: Sequence[str], made: Path) -> None:
    """An object file of a source in C."""
    _run([*words("CC"), *flags, "-c", str(path), "-o", str(made)])


def link_all(
    extensions: Sequence[Any],
    objects: Mapping[Path, Path],
    target: Path,
    flags: Sequence[str] = (),
) -> list[Path]:
    """Extension modules below `target`, each at its place; one a processor at a time."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda each: _linked(each, objects, target, flags), extensions))


def _linked(
    extension: Any, objects: Mapping[Path, Path], target: Path, flags: Sequence[str]
) -> Path:
    made = target / (extension.name.replace(".", "/") + sysconfig.get_config_var("EXT_SUFFIX"))
    made.parent.mkdir(parents=True, exist_ok=True)
    half = made.with_suffix(".half")
    parts = [str(objects[Path(name)]) for name in extension.sources]
    _run([*words("LDSHARED"), *flags, *parts, "-o", str(half)])
    half.replace(made)
    return made


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotCompiledError(f"{shlex.join(command)}\n{done.stderr}")


def words(variable: str) -> list[str]:
    """The words of a variable of the environment, or of Python's own build."""
    return shlex.split(os.environ.get(variable) or sysconfig.get_config_var(variable) or "")
