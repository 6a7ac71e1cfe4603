"""What hatch runs while it builds a wheel: the manual, and hot modules compiled, or why not."""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FORM = "QSYNC_FORM"
"""An environment variable: `pure` asks for a wheel without compiled modules."""
WORK = "QSYNC_COMPILE_WORK"
"""An environment variable: a folder that keeps what was compiled, for the next wheel."""
NEEDS = ["mypy>=2.4", "setuptools>=77", "sortedcontainers-stubs>=2.4.3", "types-pyyaml>=6.0.12"]
"""What compiling needs beside the libraries that we call, whose types it reads."""


def _beside(name: str) -> Any:
    """A module of this folder, which is no package."""
    where = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert where is not None
    assert where.loader is not None
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    return module


class CustomBuildHook(BuildHookInterface):
    """Compiles into a folder of its own, and adds that to the wheel beside the sources."""

    _made: Path | None = None
    _manual: Path | None = None

    def dependencies(self) -> list[str]:
        """None where nothing is compiled: a pure build needs hatchling alone."""
        if os.environ.get(FORM) == "pure" or _beside("compiling").compiler() is None:
            return []
        return [*NEEDS, *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """A wheel with extension modules is for one Python on one platform."""
        if version == "editable":
            return
        self._manual = Path(tempfile.mkdtemp(prefix="qsync-man-"))
        for page in _beside("man").write(self._manual, self.metadata.version):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
        if os.environ.get(FORM) == "pure":
            return
        compiling, root = _beside("compiling"), Path(self.root)
        self._made = Path(tempfile.mkdtemp(prefix="qsync-"))
        level, kept = os.environ.get("QSYNC_COMPILE_LEVEL", "2"), os.environ.get(WORK)
        work = Path(kept) if kept else None
        try:
            made = compiling.compile_into(self._made, root=root, level=level, work=work)
        except compiling.NotCompiledError as why:
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
