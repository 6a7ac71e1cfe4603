"""The choice of engine: this process, or Spark if it is faster or memory is too small."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from admin.checker.memory import memory_available
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.java import NoJava, home
from admin.checker.spark.place import SessionMode, SparkUrl
from admin.evidence.bundle import Bundle, BundlePart, is_bundle
from admin.evidence.tables import TABLES

SPARK_FROM_ROWS = 1_000_000
"""From this many rows Spark is faster, its start included (docs/performance.md)."""
MEMORY_OF_ROW = 1_500
"""Bytes that one process needs per row of any table (measured there, and rounded up)."""
_LINE, _PACKED = 120, 20
"""Bytes of a row as JSON and as Parquet, used if the number of rows of a file is unknown."""
_NEEDED = ("pyspark", "pandas", "pyarrow")
_GB = 1_000_000_000


class CheckEngine(StrEnum):
    """`quick`: this process, without Java. `auto`: chosen by the size of the evidence."""

    AUTO = "auto"
    QUICK = "quick"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The chosen engine, never `auto`; and the reason, as text to follow a colon."""

    engine: CheckEngine
    reason: str

    @property
    def sentence(self) -> str:
        """The choice in one line."""
        where = "in this process" if self.engine is CheckEngine.QUICK else "on Spark"
        return f"judged {where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What the choice depends on besides the size.

    `spark_from`: rows. `memory`: free bytes, None if unknown. `named`: the options that the user
    gave and only Spark uses. `lacks`: why Spark cannot run, empty if it can.
    """

    spark_from: int = SPARK_FROM_ROWS
    memory: int | None = None
    named: str = ""
    lacks: Callable[[], str] = lambda: ""

    @classmethod
    def of_this_machine(
        cls, *, spark_from: int | None = None, url: str | None = None, settings: bool = False
    ) -> "EngineLimits":
        """The circumstances now. `url`: where Spark runs; `settings`: Spark settings were given."""
        place = SparkUrl.of(url)
        named = "--master" if url else "--conf" if settings else ""
        if place.way is SessionMode.SUBMITTED:
            named = "spark-submit"
        return cls(
            spark_from=SPARK_FROM_ROWS if spark_from is None else spark_from,
            memory=memory_available(),
            named=named,
            lacks=lambda: lacking(place),
        )


def choose_engine(asked: CheckEngine, rows: int, limits: EngineLimits) -> EngineChoice:
    """Choose for evidence of this many rows. Raises NoSpark if neither engine can check it."""
    if asked is not CheckEngine.AUTO:
        return EngineChoice(asked, f"as --engine {asked} says")
    if limits.named:
        return EngineChoice(CheckEngine.SPARK, f"{limits.named} is given")
    size, least = f"about {rows:,} rows", f"Spark is quicker from {limits.spark_from:,} on"
    needed = rows * MEMORY_OF_ROW
    fits = limits.memory is None or needed <= limits.memory
    if fits and rows < limits.spark_from:
        return EngineChoice(CheckEngine.QUICK, f"{size}; {least}")
    missing = limits.lacks()
    if not missing:
        why = least if rows >= limits.spark_from else f"too many for {_gb(limits.memory)} of memory"
        return EngineChoice(CheckEngine.SPARK, f"{size}; {why}")
    if fits:
        return EngineChoice(CheckEngine.QUICK, f"{size}; {least}, but {missing}")
    raise NoSpark(
        f"{size} need some {_gb(needed)} of memory in this process, of which {_gb(limits.memory)} "
        f"are free, and Spark cannot judge them instead: {missing}",
        hint="pip install 'qsync-cluster[spark]', or name another Spark with --master; "
        "--engine quick tries it here all the same",
    )


def rows_in(paths: Iterable[Path]) -> int:
    """The approximate number of rows of bundles and histories; exact if a manifest has it.

    Raises NoEvidence if a manifest cannot be read.
    """
    return sum(_of_bundle(Bundle.open(e)) if is_bundle(e) else _of_file(e) for e in paths)


def lacking(place: SparkUrl) -> str:
    """Why this process cannot start Spark, as text; empty if it can."""
    for name in _NEEDED:
        if find_spec(name) is None:
            return f"{name} is not installed"
    if place.way in {SessionMode.LOCAL, SessionMode.CLUSTER}:
        try:
            home()
        except NoJava as error:
            return error.message
    return ""


def _of_bundle(bundle: Bundle) -> int:
    known = bundle.manifest.rows
    return sum(
        known[name] if name in known else sum(map(_of_part, bundle.parts(name))) for name in TABLES
    )


def _of_part(part: BundlePart) -> int:
    return part.path.stat().st_size // (_PACKED if part.is_parquet else _LINE)


def _of_file(path: Path) -> int:
    return path.stat().st_size // _LINE if path.is_file() else 0


def _gb(amount: int | None) -> str:
    return f"{(amount or 0) / _GB:.1f} GB"
