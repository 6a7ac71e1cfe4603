"""Processes that outlive the command that started them, known by pid and start time.

A pid alone may belong to another process by now; with the time of its start it cannot.
"""

import contextlib
import json
import os
import resource
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import qsync

_PROC = Path("/proc")
_DEAD = frozenset("ZXx")
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_LOOK_S = 0.002
_GRACE_S = 2.0
# Fields of /proc/PID/stat, counted behind the command's closing bracket (proc(5)).
_STATE, _UTIME, _STIME, _THREADS, _START = 0, 11, 12, 17, 19


@dataclass(frozen=True, slots=True, kw_only=True)
class OsProcess:
    """One process, for as long as the kernel's start time agrees."""

    pid: int
    started: int

    @property
    def alive(self) -> bool:
        """Whether it runs or is paused. A zombie counts only while its threads hold files."""
        _reap(self.pid)
        fields = _stat(self.pid)
        if fields is None or not self._is(fields):
            return False
        return fields[_STATE] not in _DEAD or int(fields[_THREADS]) > 1

    @property
    def paused(self) -> bool:
        """Whether a signal has stopped it, and it was not resumed."""
        fields = _stat(self.pid)
        return fields is not None and self._is(fields) and fields[_STATE] in {"T", "t"}

    def cpu_seconds(self) -> float:
        """Processor time used so far, user and system; 0 when it is gone."""
        fields = _stat(self.pid)
        if fields is None or not self._is(fields):
            return 0.0
        return (int(fields[_UTIME]) + int(fields[_STIME])) / os.sysconf("SC_CLK_TCK")

    def send(self, number: signal.Signals) -> bool:
        """Send a signal. Returns False if the process is gone; no other process can get it."""
        with _handle(self) as handle:
            if handle is None:
                return False
            try:
                signal.pidfd_send_signal(handle, number)
            except ProcessLookupError:
                return False
            return True

    def limit_files(self, size: int | None) -> None:
        """Limit the size to which its files may grow; None removes the limit."""
        with contextlib.suppress(ProcessLookupError):
            _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
            soft = hard if size is None else size
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (soft, hard))

    def wait_gone(self, timeout: float) -> bool:
        """Wait until it has ended; False when it still runs after `timeout` seconds."""
        with _handle(self) as handle:
            if handle is not None:
                poll = select.poll()
                poll.register(handle, select.POLLIN)
                if not poll.poll(timeout * 1000):
                    return False
        _reap(self.pid)
        return True

    def wait_paused(self, timeout: float) -> bool:
        """Wait until the process is stopped; False if it is not in time, or has ended.

        The kernel notifies only parents, so this polls.
        """
        until = time.monotonic() + timeout
        while self.alive and not self.paused and time.monotonic() < until:
            time.sleep(_LOOK_S)
        return self.paused

    def end(self, *, grace: float) -> None:
        """End it with SIGTERM, also if it is paused, and with SIGKILL after `grace` seconds."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)
        if not self.wait_gone(grace):
            self.send(signal.SIGKILL)
            self.wait_gone(grace)

    def _is(self, fields: Sequence[str]) -> bool:
        return int(fields[_START]) == self.started


def start_noted(
    command: Sequence[str], *, log: Path, env: Mapping[str, str], pid_file: Path
) -> OsProcess:
    """Start a program and note it in `pid_file`, or neither. Raises OSError.

    Ctrl-C is held back in between: it would leave a process that no command finds.
    """
    former = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        started = start(command, log=log, env=env, mask=former)
        try:
            write_pid_file(pid_file, started)
        except OSError as error:
            started.end(grace=_GRACE_S)
            raise OSError(error.errno, error.strerror, str(pid_file)) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
    return started


@contextlib.contextmanager
def clearing_up() -> Iterator[None]:
    """Ignore Ctrl-C, SIGTERM and SIGHUP in the block, which clears up.

    An impatient user presses Ctrl-C again, and would leave processes and directories behind.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread alone
        return
    former = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDING}
    try:
        yield
    finally:
        for number, action in former.items():
            signal.signal(number, action)


@contextlib.contextmanager
def interrupts(handle: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls this until the block ends, as often as it is pressed, and raises nothing.

    So does what else raises an interrupt, such as SIGTERM in a command. One that is raised in the
    midst of Trio's own code would end it as an error of Trio. Where Ctrl-C is ignored, as in the
    background of a script, it stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread alone
        return
    found = {int(each): signal.getsignal(each) for each in _ENDING}
    formers = {each: former for each, former in found.items() if callable(former)}

    def instead(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            handle()
            return
        try:
            formers[number](number, frame)
        except KeyboardInterrupt:
            handle()

    for each in formers:
        signal.signal(each, instead)
    try:
        yield
    finally:
        for each, former in formers.items():
            signal.signal(each, former)


def start(
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str],
    mask: Iterable[int] = (),
) -> OsProcess:
    """Start a program in a session of its own; its output goes to `log`.

    `mask`: signals that are blocked in it.
    """
    appending = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        list(command),
        dict(env),
        setsid=True,
        setsigmask=mask,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), appending, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    return identify(pid)


def identify(pid: int) -> OsProcess:
    """Return the process that has this pid now. Raises ProcessLookupError."""
    fields = _stat(pid)
    if fields is None:
        raise ProcessLookupError(f"no process {pid}")
    return OsProcess(pid=pid, started=int(fields[_START]))


def write_pid_file(path: Path, process: OsProcess) -> None:
    """Note a process so that a later command finds it."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"pid": process.pid, "started": process.started}), "utf-8")
    fresh.replace(path)


def read_pid_file(path: Path) -> OsProcess | None:
    """Return the process in the pid file, alive or not; None without a readable file."""
    try:
        noted = json.loads(path.read_text("utf-8"))
        return OsProcess(pid=int(noted["pid"]), started=int(noted["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text("ascii", "replace")
    except OSError:
        return None
    # The command's name stands in brackets and may itself hold blanks and brackets.
    return text.rpartition(")")[2].split()


@contextlib.contextmanager
def _handle(process: OsProcess) -> Iterator[int | None]:
    """A handle that cannot come to mean another process; None when ours is gone."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        # Open first, then compare: the handle stays with the process for which it was opened.
        fields = _stat(process.pid)
        yield handle if fields is not None and int(fields[_START]) == process.started else None
    finally:
        os.close(handle)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def node_environment() -> dict[str, str]:
    """Ours, without settings meant for another node, and with this very package first.

    Safe: the folder that somebody happens to be in may have an `admin` or a `cli` of its own.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("QSYNC_")}
    assert qsync.__file__ is not None
    ours = str(Path(qsync.__file__).parent.parent)
    kept["PYTHONSAFEPATH"] = "1"
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [ours, kept.get("PYTHONPATH")]))
    return kept
