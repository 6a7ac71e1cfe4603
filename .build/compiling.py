"""Compiles the hot modules of qsync with mypyc, from the sources that run where nothing is.

    python .build/compiling.py             into this tree, an extension module beside each source
    python .build/compiling.py --into DIR  into another folder, for a wheel or for tests
    python .build/compiling.py --trained   so that what a load does often is fastest: twice as long
    python .build/compiling.py --pure      removes what the first one made

`hook.py` beside this file calls it while a wheel is built. C files go to the compiler one a
processor at a time, and what was compiled before from the same text is taken from `build/mypyc`
(of a wheel: from the folder that QSYNC_COMPILE_WORK names, if it does).
"""

import argparse
import hashlib
import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # `make` runs Python without the script's folder
import c_compiler
import training
from c_compiler import NoCompilerError, NotCompiledError

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "qsync.native"
"""Where the machine code is, with `__mypyc` behind it; each module's own file only points there."""

HOT = (
    "election/*.py",
    "qsync/core/*.py",
    "qsync/data/*.py",
    "qsync/wire/*.py",
    "qsync/tls/channel.py",
    "qsync/accepting.py",
    "qsync/faultpoints.py",
    "qsync/form.py",
    "qsync/histogram.py",
    "qsync/member.py",
    "qsync/record.py",
    "qsync/refusing.py",
    "qsync/replaying.py",
    "qsync/replica.py",
    "qsync/client/connection.py",
    "qsync/client/core.py",
    "qsync/client/link.py",
    "qsync/client/links.py",
    "qsync/client/load.py",
    "qsync/client/pending_request.py",
    "qsync/client/pump.py",
    "qsync/client/request_frames.py",
    "qsync/client/response_timeout.py",
    "qsync/client/retry_policy.py",
    "qsync/client/route.py",
    "qsync/client/targets.py",
    "qsync/node/allowed.py",
    "qsync/node/clock.py",
    "qsync/node/connection.py",
    "qsync/node/data_operations.py",
    "qsync/node/deadlines.py",
    "qsync/node/due.py",
    "qsync/node/events.py",
    "qsync/node/expiry.py",
    "qsync/node/folding.py",
    "qsync/node/guard.py",
    "qsync/node/handshake.py",
    "qsync/node/keepalive.py",
    "qsync/node/limbo_status.py",
    "qsync/node/links.py",
    "qsync/node/loop.py",
    "qsync/node/member_status.py",
    "qsync/node/parked.py",
    "qsync/node/queries.py",
    "qsync/node/reactor.py",
    "qsync/node/reads.py",
    "qsync/node/requests.py",
    "qsync/node/server.py",
    "qsync/node/stalls.py",
    "qsync/node/status.py",
    "qsync/node/tickets.py",
    "qsync/node/timers.py",
    "qsync/node/tracing.py",
    "qsync/node/unfinished.py",
    "qsync/node/watching.py",
    "qsync/store/eventpack.py",
    "qsync/store/longkeys.py",
    "qsync/store/meta.py",
    "qsync/store/pages.py",
    "qsync/store/seals.py",
    "qsync/store/spaces.py",
    "qsync/store/writer.py",
    "qsync/store/segments/files.py",
    "qsync/store/segments/format.py",
    "qsync/store/segments/index.py",
    "qsync/store/segments/log.py",
    "qsync/store/segments/writing.py",
    "qsync/sim/canon.py",
    "qsync/sim/clockwork.py",
    "qsync/sim/invariants.py",
    "qsync/sim/lives.py",
    "qsync/sim/promises.py",
    "qsync/sim/properties.py",
    "qsync/sim/scripted.py",
    "qsync/sim/takeovers.py",
    "qsync/sim/trace.py",
    "qsync/sim/troubles.py",
    "qsync/sim/world.py",
    "qsync/sim/kernel/calls.py",
    "qsync/sim/kernel/client.py",
    "qsync/sim/kernel/clock.py",
    "qsync/sim/kernel/machine.py",
    "qsync/sim/kernel/net.py",
    "qsync/sim/kernel/poll.py",
    "qsync/sim/kernel/process.py",
    "qsync/sim/kernel/program.py",
    "qsync/sim/kernel/room.py",
    "qsync/sim/kernel/streams.py",
    "qsync/sim/kernel/watch.py",
)
"""What a write or a read passes on its way through a node and a client, and every simulated event.

A class that is inherited from elsewhere (by tests, or by the recording of a run) cannot be here.
"""

PURE = {
    "election/__init__.py": "says whose package it is",
    "qsync/core/__init__.py": "empty",
    "qsync/data/__init__.py": "empty",
    "qsync/wire/__init__.py": "empty",
}
"""What of it stays as it is, and why."""

NEAR_CALLS = ("-fvisibility=hidden", "-fno-semantic-interposition", "-fno-plt")
"""Compiled modules call each other directly: nobody else may replace a function of theirs.

Without them each call goes through a table, which costs a simulated run 5 to 10 % of its time.
"""


def sources(root: Path) -> list[str]:
    """The sources that are compiled, from the root."""
    found = [path.relative_to(root).as_posix() for hot in HOT for path in sorted(root.glob(hot))]
    return [name for name in found if name not in PURE]


@dataclass(frozen=True)
class Translation:
    """What mypyc made of the sources: extension modules in C, and the flags to compile them."""

    extensions: list[Any]
    flags: list[str]
    known: Any
    """What an object file depends on beside its source."""
    work: Path

    @property
    def sources(self) -> list[Path]:
        """The largest first: then no processor waits for the last one."""
        files = {Path(name) for each in self.extensions for name in each.sources}
        return sorted(files, key=lambda path: (-path.stat().st_size, path))


def compile_into(
    target: Path,
    root: Path = ROOT,
    level: str = "2",
    work: Path | None = None,
    *,
    trained: bool = False,
) -> list[Path]:
    """Compile the sources below `root`; the extension modules that were made below `target`.

    `trained`: by the counts of a load, which takes twice as long. Raises NotTrainedError where
    that cannot be.
    """
    if c_compiler.compiler() is None:
        raise NoCompilerError("there is no C compiler")
    with tempfile.TemporaryDirectory() as passing:
        made = _translated(root, level, work or Path(passing))
        counts: Mapping[Path, Path] = {}
        if trained:
            counts = training.count(made, root, Path(passing) / "training", training.run_load)
        return c_compiler.link_all(made.extensions, _objects(made, counts), target)


def _translated(root: Path, level: str, work: Path) -> Translation:
    extensions = _written_in_c(root, work)
    flags = [
        *c_compiler.words("CFLAGS"),
        "-fPIC",
        f"-O{level}",
        "-g0",
        "-w",
        *c_compiler.accepted(NEAR_CALLS),
    ]
    flags += [
        f"-D{name}" + ("" if value is None else f"={value}")
        for name, value in extensions[0].define_macros
    ]
    folders = {folder for each in extensions for folder in each.include_dirs}
    known = _known(flags, {work, *map(Path, folders)})
    folders |= {sysconfig.get_path("include"), str(work / LIBRARY.rpartition(".")[0])}
    flags += sorted(f"-I{folder}" for folder in folders)
    return Translation(extensions, flags, known, work)


def _objects(made: Translation, counts: Mapping[Path, Path]) -> dict[Path, Path]:
    """`counts`: of a source, how often a load ran each of its lines."""
    sources = made.sources
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda path: _object(path, made, counts.get(path)), sources)
        return dict(zip(sources, found, strict=True))


def _known(flags: list[str], folders: set[Path]) -> Any:
    """What an object file depends on beside its source: what headers say, not where they are."""
    headers = {path.read_bytes() for folder in folders for path in folder.rglob("*.h")}
    known = hashlib.sha256(repr((sys.version, flags)).encode())
    for text in sorted(headers):
        known.update(text)
    return known


def _written_in_c(root: Path, work: Path) -> list[Any]:
    """What mypyc makes of the sources: one library, and a small module for each source."""
    try:
        import setuptools  # noqa: F401, PLC0415 - mypyc looks for it
        from mypyc.build import mypycify  # noqa: PLC0415 - absent where nothing is compiled
    except ImportError as missing:
        raise NotCompiledError(f"mypyc is not here: {missing}") from missing
    options = [
        "--config-file=",
        "--namespace-packages",
        "--explicit-package-bases",
        "--ignore-missing-imports",
    ]
    before, told = Path.cwd(), sys.argv
    os.chdir(root)
    try:
        sys.argv = told[:1]
        return mypycify(
            [*options, *sources(root)], multi_file=True, group_name=LIBRARY, target_dir=str(work)
        )
    except SystemExit as refused:
        raise NotCompiledError("mypyc refuses the sources") from refused
    finally:
        sys.argv = told
        os.chdir(before)


def _object(path: Path, translation: Translation, counts: Path | None) -> Path:
    if counts is not None:
        return training.compile_by(counts, path, translation.flags)
    digest = translation.known.copy()
    digest.update(path.read_bytes())
    made = translation.work / "objects" / f"{path.stem}-{digest.hexdigest()[:24]}.o"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        half = made.with_suffix(f".{os.getpid()}.half.o")  # two processes may be at it
        c_compiler.compile_one(path, translation.flags, half)
        half.replace(made)
    return made


def clean(root: Path = ROOT) -> int:
    """Remove the extension modules beside the sources; how many there were."""
    found = [
        path
        for room in ("election", "qsync")
        for path in (root / room).rglob("*" + sysconfig.get_config_var("EXT_SUFFIX"))
    ]
    for path in found:
        path.unlink()
    return len(found)


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT)
    parser.add_argument("--level", default="2", help="how hard the C compiler tries")
    parser.add_argument("--trained", action="store_true", help="by the counts of a load; with gcc")
    parser.add_argument("--pure", action="store_true")
    asked = parser.parse_args()
    if asked.pure:
        print(f"qsync runs in its pure form: {clean()} extension modules removed")
        return 0
    began = time.monotonic()
    try:
        made = compile_into(
            asked.into, level=asked.level, work=ROOT / "build" / "mypyc", trained=asked.trained
        )
    except NoCompilerError as none:
        print(f"qsync runs in its pure form: {none}")
        return 0
    except NotCompiledError as why:
        print(f"qsync was not compiled: {why}", file=sys.stderr)
        return 1
    print(f"qsync compiled: {len(made) - 1} modules in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
