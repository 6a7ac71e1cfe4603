"""What a check found: about whom, how bad, in words, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """`critical`: something does not work. `warning`: the next mishap hurts. `note`: know it."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"

    @property
    def wrong(self) -> bool:
        """It is more than something to know."""
        return self is not Severity.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check found. `subject` is a node's name, a link, or the cluster."""

    severity: Severity
    subject: str
    text: str
    cure: str


CLUSTER = "cluster"


def critical(subject: str, text: str, cure: str) -> Finding:
    """Something does not work."""
    return Finding(severity=Severity.CRITICAL, subject=subject, text=text, cure=cure)


def warning(subject: str, text: str, cure: str) -> Finding:
    """It works, and the next mishap will hurt."""
    return Finding(severity=Severity.WARNING, subject=subject, text=text, cure=cure)


def notice(subject: str, text: str, cure: str) -> Finding:
    """Worth knowing."""
    return Finding(severity=Severity.NOTE, subject=subject, text=text, cure=cure)
