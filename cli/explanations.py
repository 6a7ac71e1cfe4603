"""What an error means for the data and what to do about it: for `qsync explain` and the shell."""

import difflib
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cli.error_help import ERROR_HELP, ErrorHelp
from cli.error_modules import ERROR_MODULES
from cli.exits import exit_of, retry_of
from qsync.errors import ConfigError, Outcome, QsyncError, all_errors

_DATA: Final[Mapping[Outcome, str]] = {
    Outcome.COMMITTED: "The write took effect.",
    Outcome.ROLLED_BACK: "Nothing was written, or it was undone for certain.",
    Outcome.UNKNOWN: "The write may have taken effect or may still do so: never say it failed.",
}


@dataclass(frozen=True, slots=True)
class ErrorExplanation:
    """The explanation of one kind of error."""

    kind: type[QsyncError]

    @property
    def about(self) -> str:
        """Its meaning, in a sentence."""
        return (self.kind.__doc__ or "").partition("\n")[0]

    @property
    def help(self) -> ErrorHelp:
        """Its cause and the fix."""
        kind = self.kind
        return ERROR_HELP.get(kind.code, ErrorHelp("not told", kind.hint or "not told"))

    @property
    def exit(self) -> int:
        """The exit code of a command that ends with it."""
        return int(exit_of(self.kind("")))

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.kind.code} ({self.kind.number})"
        yield f"  {self.about}"
        yield f"  data: {_DATA[self.kind.outcome]}"
        yield f"  retry: {retry_of(self.kind)}"
        yield f"  why: {self.help.why}"
        yield f"  fix: {self.help.do}"
        yield f"  exit code: {self.exit}"

    def as_members(self) -> dict[str, object]:
        """For JSON."""
        kind = self.kind
        return {
            "code": kind.code,
            "number": kind.number,
            "about": self.about,
            "outcome": kind.outcome.value,
            "retryable": kind.retryable,
            "hint": kind.hint,
            "why": self.help.why,
            "fix": self.help.do,
            "exit": self.exit,
        }


def all_explanations() -> list[ErrorExplanation]:
    """The explanation of every error of qsync, by number."""
    for home in ERROR_MODULES:
        importlib.import_module(home)
    return [ErrorExplanation(each) for each in all_errors()]


def explain(code: str) -> ErrorExplanation:
    """The explanation of the error with that code, in any spelling. Raises ConfigError."""
    wanted = code.upper().replace("-", "_")
    for home in ERROR_MODULES:  # the first of them has most errors, and loads nothing
        importlib.import_module(home)
        for kind in all_errors():
            if kind.code == wanted:
                return ErrorExplanation(kind)
    near = difflib.get_close_matches(wanted, [each.code for each in all_errors()], n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f"there is no error code {code!r}", hint=f"{meant}`qsync explain list` names them all"
    )
