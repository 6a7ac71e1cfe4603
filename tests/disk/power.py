"""A model of a disk: what may be left of a run of file operations when the power goes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from random import Random

SECTOR = 512
"""What a disk writes whole or not at all."""
LOCK_FILE, LOCK_BYTES = "lock.mdb", 8192
"""Memory shared by processes, in a file: after a power cut it holds anything."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """Bytes were handed over to the system."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resized:
    """A file was cut or lengthened."""

    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Flushed:
    """A file or the names of a directory were flushed; with `only`, that range of bytes."""

    path: str
    only: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """An empty file or a directory got a name."""

    path: str
    directory: bool = False


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file or a directory got another name in its directory, in one go."""

    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A name is gone."""

    path: str


@dataclass(frozen=True, slots=True)
class Said:
    """The process reported that a step is done."""

    what: str


Operation = Wrote | Resized | Flushed | Made | Renamed | Removed | Said
Piece = tuple[int, bytes | None]
"""An offset and bytes that lie in one sector; or a size that a file was given, and None."""


@dataclass(slots=True)
class File:
    """The bytes that are safe, and what was written since."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[Piece] = field(default_factory=list)

    def after(self, landed: Sequence[Piece]) -> bytearray:
        """The bytes with these pieces on the disk; a hole reads as zeros."""
        data = bytearray(self.safe)
        for offset, piece in landed:
            data += bytes(max(0, offset - len(data)))
            if piece is None:
                del data[offset:]
            else:
                data[offset : offset + len(piece)] = piece
        return data


Change = dict[str, "File | Folder | None"]
"""Names that change together: what they lead to from now on."""


@dataclass(slots=True)
class Folder:
    """The names that are safe, and the changes since, in order."""

    safe: dict[str, "File | Folder"] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def after(self, changes: int) -> dict[str, "File | Folder"]:
        """The names with so many of the pending changes on the disk."""
        names: dict[str, File | Folder | None] = dict(self.safe)
        for change in self.pending[:changes]:
            names |= change
        return {name: node for name, node in names.items() if node is not None}

    @property
    def names(self) -> dict[str, "File | Folder"]:
        """The names as programs see them."""
        return self.after(len(self.pending))


class Disk:
    """Takes operations one after another; `save` writes down what a power cut now leaves.

    Assumed: a sector is written whole or not at all; what was flushed stays; names of one
    directory change in order. Nothing else: sectors that were not flushed land in any order or
    never, and a name that was not flushed may be missing however safe its content is.
    """

    def __init__(self, found: Path | None = None) -> None:
        """Empty, or with a real directory on it, everything flushed."""
        self.root = Folder() if found is None else _load(found)
        self.said = 0

    def take(self, operation: Operation) -> None:
        """Do it. A power cut in the midst of it is one before it, or one after it."""
        match operation:
            case Wrote(file, offset, data):
                self._file(file).pending += pieces(offset, data)
            case Resized(file, size):
                self._file(file).pending.append((size, None))
            case Flushed(path, only):
                _flush(self._find(path), only)
            case Made(path, directory):
                self._change(path, {_name(path): Folder() if directory else File()})
            case Renamed(path, to):
                assert _parent(path) == _parent(to)
                self._change(path, {_name(path): None, _name(to): self._find(path)})
            case Removed(path):
                self._change(path, {_name(path): None})
            case Said():
                self.said += 1

    def save(self, into: Path, loss: "Loss") -> None:
        """Write what is left to a real directory."""
        _save(self.root, into, loss)

    def unsafe(self, path: str) -> bool:
        """Was something written to this file since it was flushed?"""
        return bool(self._file(path).pending)

    def paths(self) -> list[str]:
        """Of all files, as programs see them."""
        return [path.as_posix() for path in _walk(self.root, PurePosixPath())]

    def _change(self, path: str, change: Change) -> None:
        folder = self._find(_parent(path))
        assert isinstance(folder, Folder)
        folder.pending.append(change)

    def _find(self, path: str) -> File | Folder:
        at: File | Folder = self.root
        for part in PurePosixPath(path).parts:
            assert isinstance(at, Folder)
            at = at.names[part]
        return at

    def _file(self, path: str) -> File:
        found = self._find(path)
        assert isinstance(found, File)
        return found


def pieces(offset: int, data: bytes) -> Iterator[Piece]:
    """A write, sector by sector."""
    at = 0
    while at < len(data):
        size = SECTOR - (offset + at) % SECTOR
        yield offset + at, data[at : at + size]
        at += size


@dataclass(frozen=True, slots=True)
class Loss:
    """What a power cut takes: which pending pieces land, how many pending changes of names do."""

    name: str
    landed: Callable[[list[Piece]], Sequence[Piece]]
    names: Callable[[int], int]
    dice: Random


def losses(dice: Random) -> list[Loss]:
    """From nothing lost (the process alone died) to everything that was not flushed."""

    def some(share: float) -> Callable[[list[Piece]], list[Piece]]:
        def landed(pending: list[Piece]) -> list[Piece]:
            kept = [piece for piece in pending if dice.random() < share]
            dice.shuffle(kept)
            return kept

        return landed

    def all_but_one(pending: list[Piece]) -> list[Piece]:
        gone = dice.randrange(len(pending)) if pending else 0
        return [piece for at, piece in enumerate(pending) if at != gone]

    def some_names(count: int) -> int:
        return dice.randint(0, count)

    return [
        Loss("kept", lambda pending: pending, lambda count: count, dice),
        Loss("lost", lambda _: (), lambda _: 0, dice),
        Loss("one lost", all_but_one, lambda count: count, dice),
        Loss("one kept", lambda pending: pending[-1:], some_names, dice),
        Loss("few kept", some(0.1), some_names, dice),
        Loss("half kept", some(0.5), some_names, dice),
        Loss("most kept", some(0.9), some_names, dice),
    ]


def _flush(node: File | Folder, only: tuple[int, int] | None) -> None:
    if isinstance(node, Folder):
        node.safe = node.names
        node.pending.clear()
        return
    low, high = only or (0, 1 << 62)
    node.safe = node.after([piece for piece in node.pending if low <= piece[0] < high])
    node.pending = [piece for piece in node.pending if not low <= piece[0] < high]


def _save(folder: Folder, into: Path, loss: Loss) -> None:
    into.mkdir()
    for name, node in folder.after(loss.names(len(folder.pending))).items():
        if isinstance(node, Folder):
            _save(node, into / name, loss)
        elif name == LOCK_FILE:
            (into / name).write_bytes(loss.dice.randbytes(LOCK_BYTES))
        else:
            (into / name).write_bytes(node.after(loss.landed(node.pending)))


def _walk(folder: Folder, at: PurePosixPath) -> Iterator[PurePosixPath]:
    for name, node in folder.names.items():
        if isinstance(node, Folder):
            yield from _walk(node, at / name)
        else:
            yield at / name


def _load(path: Path) -> Folder:
    nodes = {
        each.name: _load(each) if each.is_dir() else File(bytearray(each.read_bytes()))
        for each in path.iterdir()
    }
    return Folder(nodes)


def _parent(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _name(path: str) -> str:
    return PurePosixPath(path).name
