"""Places of backups: a folder, or whatever `fsspec` reaches, such as S3 or SFTP."""

import errno
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Protocol

from admin.backup.failures import BackupPlaceLost, NoBackup
from qsync.disk_errors import NO_ROOM
from qsync.errors import ConfigError, DiskFull
from qsync.store.private import FILE_OF_GROUP, make_private, replace_with

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

UNREADY: Final = ".new"
"""A file that is being written; it is never read."""
_PASSWORD: Final = re.compile(r"(?<=://)([^/@:]*):[^/]*@")
"""In a URL, of who reaches it: the cluster's log and its status name places, for all to read."""
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""Of file systems that give a file one name only."""


class BackupPlace(Protocol):
    """Files by name, `/` between folders. Each is there whole or not at all."""

    url: str
    """As people write it, without a password."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files directly in a folder, in order; none if it is not there."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders directly in a folder, in order."""
        ...

    def sizes(self, folder: str) -> dict[str, int | None]:
        """Return the names of the files directly in a folder, with the bytes of each.

        None of a place that does not tell them.
        """
        ...

    def read(self, name: str) -> bytes:
        """Return a whole file. Raises NoBackup when it is not there, BackupPlaceLost."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write a file; it replaces one of that name. Raises DiskFull, BackupPlaceLost."""
        ...

    def write_new(self, name: str, content: bytes) -> bool:
        """Write a file if none of that name is there; whether that is the one which is there now.

        Of those that write it at the same time one does. Raises as `write`.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def remove_folder(self, folder: str) -> None:
        """Remove a folder and all files directly in it."""
        ...


def open_place(url: str) -> BackupPlace:
    """Return the place at a path or URL. Raises ConfigError when nothing can reach it."""
    if "://" not in url:
        return Folder(Path(url))
    if url.startswith("file://"):
        return Folder(Path(url.removeprefix("file://")))
    return RemotePlace(url)


class Folder:
    """A folder of this machine: files are flushed, then renamed into place."""

    def __init__(self, path: Path) -> None:
        self.url = str(path)
        self._path = path

    def names(self, folder: str) -> list[str]:
        """Return the files in it."""
        return self._there(folder, folders=False)

    def folders(self, folder: str) -> list[str]:
        """Return the folders in it."""
        return self._there(folder, folders=True)

    def sizes(self, folder: str) -> dict[str, int | None]:
        """Return the sizes of the files in it."""
        found: dict[str, int | None] = {}
        for name in self.names(folder):
            try:
                with self._typed(f"{folder}/{name}"):
                    found[name] = (self._path / folder / name).stat().st_size
            except NoBackup:
                continue  # it was removed meanwhile
        return found

    def read(self, name: str) -> bytes:
        """Return a whole file."""
        with self._typed(name):
            return (self._path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all, whatever happens."""
        with _writing(self.url), self._typed(name):
            self._put(self._path / name, content)

    def write_new(self, name: str, content: bytes) -> bool:
        """Write a file whole or not at all, unless there is one."""
        path = self._path / name
        with _writing(self.url), self._typed(name):
            fresh = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{UNREADY}")
            self._put(fresh, content)
            try:
                is_new = _named(fresh, path)
            finally:
                fresh.unlink(missing_ok=True)
            _keep_name(path.parent)
        return is_new

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._typed(name):
            (self._path / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove it with its files, also unfinished ones."""
        with self._typed(folder):
            path = self._path / folder
            for each in path.iterdir() if path.is_dir() else ():
                each.unlink()
            if path.is_dir():
                path.rmdir()

    def _put(self, path: Path, content: bytes) -> None:
        if not self._path.exists():
            _make_folders(self._path.parent)
            make_private(self._path)  # as a node's directory: it has all that is in one
            _keep_name(self._path.parent)
        _make_folders(path.parent)
        unready = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{UNREADY}")
        # A folder that was there stays as it was, open to others perhaps; its files are not.
        replace_with(unready, path, content, mode=FILE_OF_GROUP)
        _keep_name(path.parent)

    def _there(self, folder: str, *, folders: bool) -> list[str]:
        try:
            with self._typed(folder):
                found = list((self._path / folder).iterdir())
                return sorted(
                    each.name
                    for each in found
                    if each.is_dir() is folders and each.suffix != UNREADY
                )
        except NoBackup:
            return []

    @contextmanager
    def _typed(self, name: str) -> Iterator[None]:
        place = self._path / name
        try:
            yield
        except FileNotFoundError as error:
            raise NoBackup(f"{place} is not there") from error
        except (NotADirectoryError, FileExistsError) as error:
            file = next((each for each in (place, *place.parents) if each.is_file()), place)
            raise ConfigError(
                f"{self.url} is no folder: {file} is a file", hint="name a folder, new or not"
            ) from error
        except OSError as error:
            raise typed(error, str(place)) from error


class RemotePlace:
    """A place that `fsspec` reaches. Object stores write whole files; else checksums tell."""

    def __init__(self, url: str) -> None:
        self.url = _PASSWORD.sub(r"\1:***@", url)
        try:
            import fsspec  # noqa: PLC0415 - an extra, and slow to import
        except ImportError:
            raise ConfigError(
                f"{self.url} is reached by fsspec, which is not installed",
                hint="pip install 'qsync-cluster[backup]', or name a folder",
            ) from None
        try:
            self._files: AbstractFileSystem
            self._files, root = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise ConfigError(f"{self.url} cannot be reached: {error}") from error
        self._root = PurePosixPath(root)

    def names(self, folder: str) -> list[str]:
        """Return the files in it."""
        return sorted(self.sizes(folder))

    def folders(self, folder: str) -> list[str]:
        """Return the folders in it."""
        return sorted(name for name, _ in self._there(folder, kind="directory"))

    def sizes(self, folder: str) -> dict[str, int | None]:
        """Return the sizes of the files in it."""
        return dict(self._there(folder, kind="file"))

    def read(self, name: str) -> bytes:
        """Return a whole file."""
        with self._typed(name):
            content = self._files.cat_file(self._at(name))
            assert isinstance(content, bytes)
            return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file in one call; its checksum shows whether it was cut off."""
        with _writing(self.url), self._typed(name):
            self._files.makedirs(str(PurePosixPath(self._at(name)).parent), exist_ok=True)
            self._files.pipe_file(self._at(name), content)

    def write_new(self, name: str, content: bytes) -> bool:
        """Write a file unless there is one; two within one round trip find the later one."""
        with self._typed(name):
            self._files.invalidate_cache()
            if self._files.exists(self._at(name)):
                return False
        self.write(name, content)
        return self.read(name) == content

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._typed(name):
            if self._files.exists(self._at(name)):
                self._files.rm_file(self._at(name))

    def remove_folder(self, folder: str) -> None:
        """Remove it with its files; object stores have no other folders."""
        with self._typed(folder):
            for name in self.names(folder):
                self._files.rm_file(self._at(f"{folder}/{name}"))
            self._files.invalidate_cache()
            if self._files.exists(self._at(folder)):
                self._files.rmdir(self._at(folder))

    def _there(self, folder: str, *, kind: str) -> list[tuple[str, int | None]]:
        try:
            with self._typed(folder):
                self._files.invalidate_cache()
                found = self._files.ls(self._at(folder), detail=True)
        except NoBackup:
            return []
        return [
            (PurePosixPath(each["name"]).name, each.get("size"))
            for each in found
            if each["type"] == kind
        ]

    def _at(self, name: str) -> str:
        return str(self._root / name)

    @contextmanager
    def _typed(self, name: str) -> Iterator[None]:
        place = f"{self.url.rstrip('/')}/{name}"
        try:
            yield
        except FileNotFoundError as error:
            raise NoBackup(f"{place} is not there") from error
        except OSError as error:
            raise typed(error, place) from error
        except Exception as error:  # each kind of place has errors of its own
            raise BackupPlaceLost(f"{place}: {type(error).__name__}: {error}") from error


def typed(error: OSError, place: str) -> DiskFull | BackupPlaceLost:
    """Turn an error of the system into one of backups."""
    said = error.strerror or str(error)
    if error.errno in NO_ROOM:
        return DiskFull(
            f"no room left for {place}: {said}",
            hint="give it room, and the same command continues with the existing files",
        )
    return BackupPlaceLost(f"{place}: {said}")


@contextmanager
def _writing(url: str) -> Iterator[None]:
    """Raise BackupPlaceLost for NoBackup: on a write it means that a folder cannot be made."""
    try:
        yield
    except NoBackup as error:
        why = error.__cause__
        said = why.strerror if isinstance(why, OSError) and why.strerror else why
        raise BackupPlaceLost(
            f"{url} cannot be written: {said}", hint="name a place that can be written"
        ) from error


def _named(fresh: Path, path: Path) -> bool:
    """Rename a file unless that name exists; without hard links two writers may both succeed."""
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            return False
        fresh.replace(path)
    return True


def _make_folders(folder: Path) -> None:
    """Make it and those above it; on the disk with their names when this returns."""
    if not folder.is_dir():
        _make_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        _keep_name(folder.parent)


def _keep_name(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return  # what we may not read was not made for us
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
