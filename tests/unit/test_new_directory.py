"""Directories that a command writes are new or empty."""

from pathlib import Path

import pytest

from admin.lab.failures import DirectoryNotEmpty
from admin.lab.new_directory import check_new


def test_a_new_and_an_empty_directory_may_be_written(tmp_path: Path) -> None:
    check_new(tmp_path, hint="")
    check_new(tmp_path / "new", hint="")
    (tmp_path / "lost+found").mkdir()
    check_new(tmp_path, hint="", ignored=frozenset({"lost+found"}))


def test_what_is_in_the_way_is_named_and_so_is_the_way_out(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"file{number}").touch()
    with pytest.raises(DirectoryNotEmpty, match=r"holds file0, .*, file4 and 2 more") as refused:
        check_new(tmp_path, hint="name a new directory with --out")
    assert refused.value.hint == "name a new directory with --out"


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryNotEmpty, match="is a file"):
        check_new(tmp_path / "file", hint="")
