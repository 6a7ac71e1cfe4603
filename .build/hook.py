"""What hatch runs while it builds a wheel: the manual, and hot modules compiled, or why not."""

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))  # the modules beside this one are no package
import c_compiler
import compiling
import man

FORM = "QSYNC_FORM"
"""An environment variable: `pure` asks for a wheel without compiled modules."""
WORK = "QSYNC_COMPILE_WORK"
"""An environment variable: a folder that keeps what was compiled, for the next wheel."""
TRAINED = "QSYNC_COMPILE_TRAINED"
"""An environment variable: not empty for a wheel that is compiled by the counts of a load."""
NEEDS = ["mypy>=2.4", "setuptools>=77", "sortedcontainers-stubs>=2.4.3", "types-pyyaml>=6.0.12"]
"""What compiling needs beside the libraries that we call, whose types it reads."""


class CustomBuildHook(BuildHookInterface):
    """Compiles into a folder of its own, and adds that to the wheel beside the sources."""

    _made: Path | None = None
    _manual: Path | None = None

    def dependencies(self) -> list[str]:
        """None where nothing is compiled: a pure build needs hatchling alone."""
        if os.environ.get(FORM) == "pure" or c_compiler.compiler() is None:
            return []
        return [*NEEDS, *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """A wheel with extension modules is for one Python on one platform."""
        if version == "editable":
            return
        self._manual = Path(tempfile.mkdtemp(prefix="qsync-man-"))
        for page in man.write(self._manual, self.metadata.version):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
        if os.environ.get(FORM) == "pure":
            return
        root = Path(self.root)
        self._made = Path(tempfile.mkdtemp(prefix="qsync-"))
        level, kept = os.environ.get("QSYNC_COMPILE_LEVEL", "2"), os.environ.get(WORK)
        work = Path(kept) if kept else None
        compiled = partial(compiling.compile_into, self._made, root=root, level=level, work=work)
        try:
            try:
                made = compiled(trained=bool(os.environ.get(TRAINED)))
            except c_compiler.NotTrainedError as why:
                self.app.display_warning(f"qsync is compiled without the counts of a load: {why}")
                made = compiled()
        except c_compiler.NotCompiledError as why:
            self.app.display_warning(f"qsync is built in its pure form: {why}")
            return
        for path in made:
            build_data["force_include"][str(path)] = path.relative_to(self._made).as_posix()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatch's call
        """Remove what the wheel holds by now."""
        for folder in (self._made, self._manual):
            if folder is not None:
                shutil.rmtree(folder)
