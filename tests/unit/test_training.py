"""Modules are compiled by the counts of a load: they are written, and the compiler takes them."""

import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.repo import tree

SOURCE = """
#include <Python.h>
static PyObject *twice(PyObject *self, PyObject *x) { return PyNumber_Add(x, x); }
static PyMethodDef methods[] = {{"twice", twice, METH_O, ""}, {0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "often", "", -1, methods};
PyMODINIT_FUNC PyInit_often(void) { return PyModule_Create(&module); }
"""
LEARNS = "import often; print([often.twice(n) for n in range(100)][-1])"


class Tools:
    """The modules of `.build`, which is no package."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(tree.ROOT / ".build")
        self.c_compiler: ModuleType = importlib.import_module("c_compiler")
        self.training: ModuleType = importlib.import_module("training")

    def needs(self) -> Sequence[str]:
        """The flags without which nothing is learned."""
        return [*self.training.COUNTING, *self.training.LEARNING]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    found = Tools(monkeypatch)
    if found.c_compiler.compiler() is None:
        pytest.skip("there is no C compiler")
    return found


@pytest.fixture
def often(tmp_path: Path) -> SimpleNamespace:
    """A library of one source, as mypyc would have written it."""
    source = tmp_path / "often.c"
    source.write_text(SOURCE, encoding="utf-8")
    extension = SimpleNamespace(name="often", sources=[str(source)])
    flags = ["-fPIC", "-O2", f"-I{sysconfig.get_path('include')}"]
    return SimpleNamespace(extensions=[extension], sources=[source], flags=flags)


def nothing(_tree: Path, _home: Path) -> None:
    """A load that runs nothing."""


def learns(where: Path, _home: Path) -> None:
    """A load that calls the only function a hundred times."""
    done = subprocess.run(
        [sys.executable, "-c", LEARNS],
        env={**os.environ, "PYTHONPATH": str(where)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "198"


def test_a_load_leaves_counts_that_the_compiler_takes(
    tools: Tools, often: SimpleNamespace, tmp_path: Path
) -> None:
    if list(tools.c_compiler.accepted(tools.needs())) != tools.needs():
        pytest.skip("this compiler learns from no load")
    counts = tools.training.count(often, tree.ROOT, tmp_path / "training", learns)
    (source,) = often.sources
    assert counts[source].stat().st_size > 0
    without_counts_an_error = [*often.flags, "-Werror=missing-profile"]
    learned = tools.training.compile_by(counts[source], source, without_counts_an_error)
    (made,) = tools.c_compiler.link_all(often.extensions, {source: learned}, tmp_path)
    learns(made.parent, tmp_path)


def test_what_no_load_ran_has_no_counts(
    tools: Tools, often: SimpleNamespace, tmp_path: Path
) -> None:
    if list(tools.c_compiler.accepted(tools.needs())) != tools.needs():
        pytest.skip("this compiler learns from no load")
    assert tools.training.count(often, tree.ROOT, tmp_path / "training", nothing) == {}


def test_a_compiler_that_does_not_count_is_named(
    tools: Tools, often: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "cc"
    real = shutil.which(tools.c_compiler.words("CC")[0])
    plain.write_text(
        f'#!/bin/sh\ncase "$*" in *-fprofile*) exit 1;; esac\nexec {real} "$@"\n', encoding="utf-8"
    )
    plain.chmod(0o755)
    monkeypatch.setenv("CC", str(plain))
    with pytest.raises(tools.c_compiler.NotTrainedError, match="only gcc"):
        tools.training.count(often, tree.ROOT, tmp_path / "training", nothing)


def test_flags_that_a_compiler_does_not_know_are_left_out(tools: Tools) -> None:
    assert tools.c_compiler.accepted(["-O2", "-fno-such-flag"]) == ["-O2"]
