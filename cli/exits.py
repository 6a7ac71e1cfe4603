"""The one place where errors become exit codes, the same for every command."""

from enum import IntEnum

from qsync.errors import (
    AccessDenied,
    ConfigError,
    Conflict,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    QsyncError,
    ReadOnly,
    SplitBrain,
    Unanswered,
    Unavailable,
)


class Exit(IntEnum):
    """The meaning of an exit code for scripts."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NO_NODE = 3
    REFUSED = 4
    UNKNOWN = 5
    CHECK_FAILED = 6
    STOPPED = 7
    NOT_HEALED = 8
    INTERRUPTED = 130

    @property
    def about(self) -> str:
        """Its meaning, in a few words."""
        return _ABOUT[self]


class CheckFailed(QsyncError):
    """A check did not pass: degraded, inconsistent, an expectation missed."""

    code = "CHECK_FAILED"
    number = 80


class StoppedByGuard(QsyncError):
    """A guard or `--timeout` stopped the command before it changed anything."""

    code = "STOPPED"
    number = 81


class NotHealed(QsyncError):
    """An injected fault could not be undone."""

    code = "NOT_HEALED"
    number = 82


class WrongUsage(QsyncError):
    """The command line is wrong: the command, an option or an argument. Nothing was done."""

    code = "USAGE"
    number = 100


class NoFile(QsyncError):
    """A file or folder that was named cannot be read or written."""

    code = "NO_FILE"
    number = 98


def exit_of(error: QsyncError) -> Exit:
    """The exit code for an error. An unknown outcome outranks everything else."""
    if error.outcome is Outcome.UNKNOWN:
        return Exit.UNKNOWN
    for kinds, code in _KINDS:
        if isinstance(error, kinds):
            return code
    return _CODES.get(error.code, Exit.FAILED)


def retry_of(kind: type[QsyncError]) -> str:
    """The effect of a retry, in a few words."""
    if issubclass(kind, OutcomeUnknown):
        return "with the same token it is safe and tells; without it, it may be done twice"
    return "safe and useful" if kind.retryable else "only after the cause is fixed"


_KINDS: tuple[tuple[tuple[type[QsyncError], ...], Exit], ...] = (
    ((ConfigError, WrongUsage), Exit.USAGE),
    ((Unanswered,), Exit.STOPPED),
    ((Unavailable,), Exit.NO_NODE),
    ((NotLeader, ReadOnly, AccessDenied, Conflict, Overloaded, SplitBrain), Exit.REFUSED),
    ((CheckFailed,), Exit.CHECK_FAILED),
    ((StoppedByGuard,), Exit.STOPPED),
    ((NotHealed,), Exit.NOT_HEALED),
)

_CODES = {
    "NOT_RUNNING": Exit.REFUSED,
    "STILL_RUNNING": Exit.REFUSED,
    "TIMED_OUT": Exit.STOPPED,
    "DRILL_STOPPED": Exit.STOPPED,
    "DRILL_NOT_HEALED": Exit.NOT_HEALED,
    "DRILL_RUNS": Exit.REFUSED,
    "STILL_CONNECTED": Exit.REFUSED,
    "NO_SUCH_MEMBER": Exit.REFUSED,
    "TRANSACTION": Exit.REFUSED,
    "NOT_CAUGHT_UP": Exit.CHECK_FAILED,
    "BACKUP_DAMAGED": Exit.CHECK_FAILED,
    "BACKUP_GAP": Exit.REFUSED,
    "RECOVERY_REFUSED": Exit.REFUSED,
    "FOREIGN_BACKUP": Exit.REFUSED,
    "BACKUP_KEY": Exit.REFUSED,
    "LUA_SYNTAX": Exit.USAGE,
    "NOT_INSTALLED": Exit.USAGE,
    "INTERRUPTED": Exit.INTERRUPTED,
}
"""Errors whose classes live where most commands need not go."""

_ABOUT = {
    Exit.DONE: "done, healthy, passed",
    Exit.FAILED: "failed and surely not applied",
    Exit.USAGE: "usage or configuration error",
    Exit.NO_NODE: "no node reachable",
    Exit.REFUSED: "refused: not leader, read-only, not permitted, precondition",
    Exit.UNKNOWN: "outcome unknown: retry with the token, do not blindly repeat",
    Exit.CHECK_FAILED: "a check failed: degraded, inconsistent, expectation missed",
    Exit.STOPPED: "stopped by a guard or --timeout before anything changed",
    Exit.NOT_HEALED: "could not heal",
    Exit.INTERRUPTED: "interrupted",
}
