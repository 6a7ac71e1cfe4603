"""What a process really asks of the system, by strace: files written, flushed, named, in order."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.disk.power import (
    Flushed,
    Made,
    Operation,
    Removed,
    Renamed,
    Resized,
    Said,
    Wrote,
)
from tests.unit.logs import ROOT

CALLS = (
    "openat,mkdir,rename,unlink,unlinkat,rmdir,"
    "write,pwrite64,writev,pwritev,lseek,ftruncate,fsync,fdatasync,msync,sync_file_range"
)
CALL = re.compile(r"^\d+ +(?P<name>\w+)\((?P<args>.*)\) += (?P<result>-?\d+)")
RESUMED = re.compile(r"^\d+ +<\.\.\. \w+ resumed>")
FD = re.compile(r"^(?P<fd>\d+)<(?P<path>[^>]*)>")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
TIMEOUT = 60
COMMAND = ["strace", "-f", "-y", "-xx", "-s", "10000000"]


def unusable() -> str | None:
    """Why strace cannot be used here; None if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(
        ["strace", "-o", "/dev/null", "true"],
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    return f"strace may not trace here: {done.stderr.strip()}" if done.returncode else None


def run(code: str, *, log: Path, options: Iterable[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run Python code under strace."""
    return subprocess.run(
        [*COMMAND, "-e", f"trace={CALLS}", *options, "-o", str(log), sys.executable, "-c", code],
        capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=ROOT,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call on an open file."""

    name: str
    args: str
    fd: int
    data: bytes
    result: int

    @property
    def last_argument(self) -> int:
        """Of most calls: an offset or a size."""
        return int(self.args.rpartition(",")[2])


class Reader:
    """Turns lines of strace into operations on what is below `root`. Made before the process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known = {path.relative_to(root).as_posix() for path in root.rglob("*")}
        self._places: dict[int, int] = {}
        self._at_once: set[int] = set()

    def read(self, log: Path) -> Iterator[Operation]:
        """Every call that succeeded, in the order in which they came back."""
        with log.open() as lines:
            for line in whole(lines):
                found = CALL.match(line)
                if found and int(found["result"]) >= 0:
                    yield from self._call(found["name"], found["args"], int(found["result"]))

    def _call(self, name: str, args: str, result: int) -> Iterator[Operation]:
        texts = [_bytes(text) for text in TEXT.findall(args)]
        if name == "openat":
            yield from self._open(args, texts[0].decode(), fd=result)
        elif name in {"mkdir", "rename", "unlink", "rmdir", "unlinkat"}:
            paths = [self._below(text.decode()) for text in texts]
            if name == "unlinkat" and not texts[0].startswith(b"/"):
                folder = FD.match(args)
                assert folder is not None
                paths = [self._below(f"{_path(folder['path'])}/{texts[0].decode()}")]
            if paths[0] is not None:
                yield self._rename(name, [path for path in paths if path is not None])
        else:
            opened = FD.match(args)
            assert opened is not None
            fd, path = int(opened["fd"]), _path(opened["path"])
            if fd == 1 and name == "write":
                yield Said(texts[0].decode().strip())
            else:
                call = Call(name=name, args=args, fd=fd, data=b"".join(texts), result=result)
                yield from self._file(call, self._below(path))

    def _open(self, args: str, path: str, *, fd: int) -> Iterator[Operation]:
        self._places[fd] = 0
        self._at_once.discard(fd)
        below = self._below(path)
        if below is None:
            return
        if "O_DSYNC" in args or "O_SYNC" in args:
            self._at_once.add(fd)
        if "O_CREAT" in args and below not in self._known:
            self._known.add(below)
            yield Made(below)
        elif "O_TRUNC" in args:
            yield Resized(below, 0)

    def _rename(self, name: str, paths: list[str]) -> Operation:
        if name == "mkdir":
            self._known.add(paths[0])
            return Made(paths[0], directory=True)
        gone = {known for known in self._known if (known + "/").startswith(paths[0] + "/")}
        self._known -= gone
        if name == "rename":
            self._known |= {paths[1] + known.removeprefix(paths[0]) for known in gone}
            return Renamed(*paths)
        return Removed(paths[0])

    def _file(self, call: "Call", path: str | None) -> Iterator[Operation]:
        if path is None:
            return
        match call.name:
            case "lseek":
                self._places[call.fd] = call.result
            case "write" | "writev":
                yield from self._write(call, path, self._places[call.fd])
                self._places[call.fd] += call.result
            case "pwrite64" | "pwritev":
                yield from self._write(call, path, call.last_argument)
            case "ftruncate":
                yield Resized(path, call.last_argument)
            case "fsync" | "fdatasync":
                yield Flushed(path)
            case _:
                raise AssertionError(f"{call.name} is not understood")

    def _write(self, call: "Call", path: str, offset: int) -> Iterator[Operation]:
        yield Wrote(path, offset, call.data[: call.result])
        if call.fd in self._at_once:
            yield Flushed(path, (offset, offset + call.result))

    def _below(self, path: str) -> str | None:
        """The path from the root on; None outside of it."""
        whole = Path(path)
        if not whole.is_relative_to(self._root):
            return None
        return whole.relative_to(self._root).as_posix()


def calls_on_files(log: Path) -> Iterator[tuple[str, int, str, bytes]]:
    """Name, file descriptor, path and bytes of the calls on open files that succeeded."""
    with log.open() as lines:
        for line in whole(lines):
            found = CALL.match(line)
            opened = FD.match(found["args"]) if found else None
            if found and opened and int(found["result"]) >= 0:
                data = b"".join(_bytes(text) for text in TEXT.findall(found["args"]))
                yield found["name"], int(opened["fd"]), _path(opened["path"]), data


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def whole(lines: Iterable[str]) -> Iterator[str]:
    """Lines of strace with the halves joined of calls that other threads interrupted."""
    begun: dict[str, str] = {}
    for line in lines:
        pid = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>\n"):
            begun[pid] = line.removesuffix("<unfinished ...>\n").rstrip()
        elif found := RESUMED.match(line):
            yield begun.pop(pid) + line[found.end() :]
        else:
            yield line


def _path(text: str) -> str:
    return _bytes(text).decode() if "\\x" in text else text
