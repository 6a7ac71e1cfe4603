"""Environment variables of other Spark installations that prevent ours from starting."""

import os
import re
from pathlib import Path
from typing import Final

from admin.checker.spark.failures import NoSpark

HOME: Final = "SPARK_HOME"
ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
_SHELL: Final = "pyspark-shell"
_CORE: Final = re.compile(r"spark-core_[0-9.]+-([0-9]+\.[0-9]+)[0-9.]*\.jar")


def look() -> None:
    """Raises NoSpark, naming the variable and what to do about it."""
    home = os.environ.get(HOME)
    if home:
        _look_at_home(Path(home))
    arguments = os.environ.get(ARGUMENTS, _SHELL)
    if arguments.split()[-1:] != [_SHELL]:
        raise NoSpark(
            f"{ARGUMENTS} is {arguments!r}, and has to end with {_SHELL}",
            hint="unset it, and give settings with --conf",
        )


def _look_at_home(home: Path) -> None:
    """It replaces the Spark that the extra installs."""
    if not (home / "bin" / "spark-submit").is_file():
        raise NoSpark(f"{HOME} is {home}, where there is no Spark", hint="unset it")
    from pyspark import __version__ as ours  # noqa: PLC0415 - comes with the extra

    for jar in (home / "jars").glob("spark-core_*.jar"):
        found = _CORE.fullmatch(jar.name)
        if found and found[1] != ".".join(ours.split(".")[:2]):
            raise NoSpark(
                f"{HOME} is {home}, a Spark {found[1]}, and the pyspark of this Python is {ours}",
                hint="unset it, or install the pyspark that goes with it",
            )
