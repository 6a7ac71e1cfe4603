"""Where a run puts its lab and what it writes: a directory that is kept, or one for the moment."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from admin.lab.lab import LabExists


@contextmanager
def directory(keep: Path | None, *, of: str) -> Iterator[Path]:
    """The new directory `keep`; without one, one that is removed at the end.

    `of`: what runs, for the name. Raises LabExists if there is something in it.
    """
    if keep is not None:
        if keep.exists() and any(keep.iterdir()):
            raise LabExists(f"{keep} is not empty", hint="--keep wants a new directory")
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    made = Path(tempfile.mkdtemp(prefix=f"qsync-{of}-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
