r"""The settings of `\set`."""

from dataclasses import dataclass, fields
from typing import Final

from cli.shell.formats import ROWS_MAX, OutputFormat
from qsync.client.rows import ReadConsistency

CONSISTENCIES: Final[tuple[ReadConsistency, ...]] = ("linearizable", "lease", "local")
_SWITCH = {"on": True, "off": False}


@dataclass(slots=True)
class ShellSettings:
    """`rows`: shown of one result. `timing`: say how long it took, if that was long.

    `pager`: what is longer than the screen is read in $PAGER, or in `less` where that is there.
    `consistency`: of reads; with `local` they need no quorum.
    """

    format: OutputFormat = OutputFormat.AUTO
    rows: int = ROWS_MAX
    timing: bool = True
    confirm: bool = True
    trace: bool = True
    pager: bool = True
    consistency: ReadConsistency = "linearizable"

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return all names."""
        return tuple(each.name for each in fields(cls))

    def as_typed(self, name: str) -> str:
        """A value as the user types it."""
        value: object = getattr(self, name)
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)

    def change(self, name: str, text: str, *, production: bool) -> None:
        """Set one. Raises ValueError whose text goes on after the name."""
        match name:
            case "format" | "output":
                if text not in set(OutputFormat):
                    raise ValueError(f"{text!r} is not one of {', '.join(OutputFormat)}")
                self.format = OutputFormat(text)
            case "rows":
                if not text.isdigit() or not int(text):
                    raise ValueError(f"{text!r} is not a number of rows")
                self.rows = int(text)
            case "timing" | "trace" | "pager":
                setattr(self, name, _switch(text))
            case "consistency":
                self.consistency = consistency(text)
            case "confirm":
                wanted = _switch(text)
                if production and not wanted:
                    raise ValueError("stays on where the cluster is tagged production")
                self.confirm = wanted
            case _:
                raise ValueError(f"is not a setting; there are {', '.join(self.names())}")


def consistency(text: object) -> ReadConsistency:
    """How fresh reads are. Raises ValueError whose text goes on after a name."""
    for each in CONSISTENCIES:
        if each == text:
            return each
    raise ValueError(f"{text!r} is not one of {', '.join(CONSISTENCIES)}")


def choices(name: str) -> tuple[str, ...]:
    """Return the values of a setting, for completion."""
    if name in {"format", "output"}:
        return tuple(OutputFormat)
    if name == "consistency":
        return CONSISTENCIES
    return () if name == "rows" else tuple(_SWITCH)


def _switch(text: str) -> bool:
    if text not in _SWITCH:
        raise ValueError(f"{text!r} is neither on nor off")
    return _SWITCH[text]
