"""Checks the checksums of bundle files: here if that is quick, else in tasks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from admin.checker.spark.chunks import collected, spread
from admin.checker.spark.job_schema import FindingRow
from admin.evidence import checksums
from admin.evidence.bundle import Bundle
from admin.evidence.manifest import AGAIN, NoEvidence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE_BYTES = 1 << 30
"""Larger bundles are checked in tasks: one core reads some GB per second."""


class _File(NamedTuple):
    path: Path
    wanted: dict[str, int]


def is_large(bundles: Sequence[Bundle]) -> bool:
    """Whether it is large enough for separate tasks."""
    return sum(_sizes(_files(bundles))) > LARGE_BYTES


def check(session: "SparkSession", bundles: Sequence[Bundle]) -> None:
    """Raises NoEvidence for the first damaged file."""
    files = _files(bundles)

    def look(file: _File) -> Iterator[FindingRow]:
        told = checksums.damage(*file)
        if told:
            yield FindingRow("", "damage", message=told)

    found = sorted(each.message for each in collected(spread(session, files, _sizes(files), look)))
    if found:
        raise NoEvidence(found[0], hint=AGAIN)


def _files(bundles: Sequence[Bundle]) -> list[_File]:
    return [
        _File(bundle.path.absolute() / name, wanted)
        for bundle in bundles
        for name, wanted in bundle.manifest.checksums.items()
    ]


def _sizes(files: Sequence[_File]) -> list[int]:
    return [file.wanted.get("size", 0) for file in files]
