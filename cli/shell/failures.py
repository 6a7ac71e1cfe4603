"""Errors of the shell itself."""

from qsync.errors import Outcome, QsyncError


class LuaFailed(QsyncError):
    """A chunk ended with a Lua error, or with the user's `error(...)`."""

    code = "LUA"
    number = 84


class LuaSyntax(QsyncError):
    """A chunk that is not Lua. `unfinished`: only its end is missing."""

    code = "LUA_SYNTAX"
    number = 85

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.unfinished = message.endswith("<eof>") or "near <eof>" in message


class ChunkInterrupted(QsyncError):
    """Ctrl-C ended the chunk. The message says whether something was written."""

    code = "INTERRUPTED"
    number = 86


class InterruptedUnknown(ChunkInterrupted):
    """Ctrl-C ended a chunk or command during a change, or `--timeout` a chunk that had written."""

    code = "INTERRUPTED_UNKNOWN"
    number = 87
    outcome = Outcome.UNKNOWN
    hint = "read it back before you repeat it"

    @classmethod
    def unless_safe(cls, writing: str | None) -> ChunkInterrupted:
        """The error for an interrupt while that write was running, if any was."""
        if writing is not None:
            return cls(f"interrupted while {writing} was running: it may be applied or not")
        return ChunkInterrupted("interrupted; the running request changed nothing")


class NotInstalled(QsyncError):
    """The libraries of the shell are not installed."""

    code = "NOT_INSTALLED"
    number = 88
    hint = "pip install 'qsync-cluster[shell]'"
