"""Directories that a command writes are new or empty."""

import errno
import os
from pathlib import Path

import pytest

from admin.lab.failures import DirectoryNotEmpty
from admin.lab.new_directory import check_new, filled, made


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


def test_a_new_directory_that_nothing_came_into_does_not_outlive_an_error(tmp_path: Path) -> None:
    there, new, used = tmp_path / "there", tmp_path / "new", tmp_path / "used"
    there.mkdir()

    def fail(directory: Path, *content: Path) -> None:
        with made(directory):
            for each in content:
                each.mkdir()
            raise KeyError

    for directory, *content in ((there,), (new,), (used, used / "lab")):
        with pytest.raises(KeyError):
            fail(directory, *content)
    assert sorted(tmp_path.iterdir()) == [there, used]


@pytest.mark.parametrize(
    ("number", "named"), [(errno.ENOSPC, True), (errno.EIO, True), (errno.EBADF, False)]
)
def test_an_error_of_the_disk_names_the_directory_that_was_filled(
    tmp_path: Path, number: int, *, named: bool
) -> None:
    """A mistake of ours is no error of the disk, and is seen whole."""
    with pytest.raises(OSError, match=os.strerror(number)) as failed, filled(tmp_path / "c"):
        raise OSError(number, os.strerror(number))
    assert failed.value.filename == (str(tmp_path / "c") if named else None)
    assert not (tmp_path / "c").exists()
