"""Histories with published verdicts, compared with ours.

A list is a CSV of `file,format,label,source`; the files are next to it. A label is `linearizable`,
`not-linearizable`, a level of isolation (`serializable`, `not-serializable`, `violates ...`), or
names of anomalies, `without` others. Text in brackets is a remark, except a cycle such as `T4 -rw->
T2 -ww-> T4`, which must be found.
"""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from admin.checker.elle import (
    Edge,
    IsolationLevel,
    anomalies,
    check_appends,
    dependencies,
    understood,
)
from admin.checker.elle.levels import PROHIBITED
from admin.checker.kinds import ObjectKind, hints
from admin.checker.linear import LINEARIZABLE
from admin.checker.quick import HistoryReport, check_file
from admin.checker.verdict import Result

COLUMNS = ("file", "format", "label")

_NOT = re.compile(r"^(?:not|non)[- ]\s*")
_GOOD = frozenset({"valid", "ok", "pass", "good"})
_BAD = frozenset({"invalid", "bad", "fail"})
_ARROW = re.compile(r"T(\d+)\s*-(\w+)->\s*(?=T(\d+))")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelLine:
    """One line of the list."""

    file: Path
    format: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelComparison:
    """The result of a comparison; `why` is empty if both agree."""

    file: str
    label: str
    found: str
    why: str

    @property
    def agrees(self) -> bool:
        """Whether our verdict equals the published one."""
        return not self.why


def load(path: Path) -> list[LabelLine]:
    """Read a list. Raises ValueError, which names the file, if it is not a list."""
    try:
        return _listed(path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is no CSV: {error}") from error


def _listed(path: Path) -> list[LabelLine]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(f"{path} has no column {', '.join(missing)}")
        return [
            LabelLine(file=path.parent / row["file"], format=row["format"], label=row["label"])
            for row in reader
            if row["file"]
        ]


def compare(labelled: LabelLine) -> LabelComparison:
    """Check one file and compare the verdict with its label."""
    try:
        report = check_file(labelled.file, hints(labelled.format))
    except (OSError, ValueError) as error:
        return unreadable(labelled, error)
    return held(labelled, report)


def unreadable(labelled: LabelLine, error: Exception) -> LabelComparison:
    """Return the verdict on a file that is not a history."""
    return _compared(labelled, "unreadable", str(error))


def held(labelled: LabelLine, report: HistoryReport) -> LabelComparison:
    """Compare the findings with the label."""
    found = _found(report)
    try:
        wrong = next(_differences(labelled.label, report), "")
    except ValueError as error:
        wrong = str(error)
    return _compared(labelled, found, wrong)


def _compared(labelled: LabelLine, found: str, why: str) -> LabelComparison:
    return LabelComparison(file=str(labelled.file), label=labelled.label, found=found, why=why)


def _found(report: HistoryReport) -> str:
    if ObjectKind.LIST_APPEND in report.kinds:
        return ", ".join(anomalies(report.operations)) or "no anomalies"
    return _result(report).value


def _result(report: HistoryReport) -> Result:
    """Return the result that a label is about: linearizability or transactions."""
    names = {LINEARIZABLE, IsolationLevel.STRICT_SERIALIZABLE.value}
    result = next(e.verdict.result for e in report.checked if e.verdict.invariant in names)
    # A history in which nothing took effect has an order: the empty one.
    return Result.PASS if result is Result.UNKNOWN and report.empty else result


def _differences(label: str, report: HistoryReport) -> Iterator[str]:
    """All differences between a label and a report."""
    words = re.sub(r"\([^)]*\)", "", label).strip()
    wanted = _about_order(words)
    if wanted is not None:
        found = _result(report)
        if found is not wanted:
            yield f"{wanted} was published, {found} found"
    elif ObjectKind.LIST_APPEND in report.kinds:
        yield from (_about_level(words) or _about_anomalies(words))(report)
    else:
        raise ValueError(f"the label {label!r} is not understood")
    yield from _missing_arrows(label, report)


def _about_order(words: str) -> Result | None:
    bare = _NOT.sub("", words.lower())
    if bare == "linearizable":
        return Result.FAIL if bare != words.lower() else Result.PASS
    if words.lower() in _GOOD:
        return Result.PASS
    return Result.FAIL if words.lower() in _BAD else None


def _about_level(words: str) -> Callable[[HistoryReport], Iterator[str]] | None:
    """`LEVEL`, `not-LEVEL`, `violates LEVEL` or `violates LEVEL only`."""
    match = re.fullmatch(r"(not[- ]|violates )?([a-z-]+?)( only)?", words.lower())
    if match is None or match[2] not in {level.value for level in IsolationLevel}:
        return None
    level, broken, only = IsolationLevel(match[2]), match[1] is not None, match[3] is not None

    def differences(report: HistoryReport) -> Iterator[str]:
        wanted = {level: Result.FAIL if broken else Result.PASS}
        if only:
            held = (one for one in IsolationLevel if not PROHIBITED[one] >= PROHIBITED[level])
            wanted |= dict.fromkeys(held, Result.PASS)
        for one, result in wanted.items():
            found = check_appends(report.operations, level=one).result
            if found is not result:
                yield f"{one}: {result} was published, {found} found"

    return differences


def _about_anomalies(words: str) -> Callable[[HistoryReport], Iterator[str]]:
    """`G1c, G-single without G0`: the former are found, the latter are not."""
    there, _, absent = words.partition(" without ")
    wanted, unwanted = _names(there), _names(absent)
    if not wanted:
        raise ValueError(f"the label {words!r} is not understood")

    def differences(report: HistoryReport) -> Iterator[str]:
        found = {_canonical(name) for name in anomalies(report.operations)}
        if "own-append-missing" in found:
            found.add("internal")  # Elle has one name for both
        for name in wanted:
            if name not in found:
                yield f"{name} was published and is not found"
        for name in unwanted:
            if name in found:
                yield f"{name} was found, and published as absent"

    return differences


def _names(words: str) -> list[str]:
    names = [each for each in re.split(r"[\s,;+]+|\band\b", words) if each]
    known = {_canonical(name) for name in PROHIBITED[IsolationLevel.STRICT_SERIALIZABLE]}
    for name in names:
        if _canonical(name) not in known:
            raise ValueError(f"there is no anomaly {name!r}")
    return [_canonical(name) for name in names]


def _canonical(name: str) -> str:
    """Lists have only items, no predicates, so both spellings mean the same."""
    return name.replace("-item", "")


def _missing_arrows(label: str, report: HistoryReport) -> Iterator[str]:
    arrows = _ARROW.findall(label)
    if not arrows or ObjectKind.LIST_APPEND not in report.kinds:
        return
    graph = dependencies(understood(report.operations))
    for start, kind, end in arrows:
        one, other = int(start) - 1, int(end) - 1
        inside = max(one, other) < graph.size and kind.upper() in Edge.__members__
        if not inside or not graph.kinds[one].get(other, 0) & Edge[kind.upper()]:
            yield f"T{start} -{kind}-> T{end} was published and is not found"
