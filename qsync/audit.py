"""The audit trail: each line has the hash of the one before, so that a cut is detected.

    {"n": 7, "time": ..., "event": ..., ..., "before": HASH OF LINE 6, "hash": HASH OF THE REST}

A line that is changed, left out, moved or put in between breaks the chain there. Lines that were
cut off the end are found by a hash that is kept elsewhere: by the other nodes, in lines of their
trails (`qsync audit verify --witness`), or by another witness (`--head`).
"""

import json
import os
import pwd
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOENT
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self

from qsync.line_files import last_lines

FILE: Final = "audit.jsonl"
BEGIN: Final = "0" * 64
"""The previous hash in the very first line."""
HEAD: Final = "head"
"""The event of a line that holds the head of another node's trail."""
TAIL_BYTES: Final = 64 << 10
"""How much of a file's end is read to go on behind it; more than any two lines."""
BEGIN_BYTES: Final = 128
"""Of a file, by which it is told from others; shorter than any line."""
RENAMED_TRIES: Final = 3
"""How often a file is looked for that is being renamed."""
_HEAD: Final = re.compile(r"[1-9][0-9]{0,17}:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The end of a trail: how many lines it has, and the hash of the last."""

    number: int = 0
    hash: str = BEGIN

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True)
class AuditFault:
    """A line that does not follow from the one before it. `place`: file and line, from 1."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """The state of a trail. `first`: the number of its first line."""

    first: int
    head: AuditHead
    lines: int
    faults: tuple[AuditFault, ...]


def line(
    head: AuditHead, event: str, time: str, fields: Mapping[str, object]
) -> tuple[str, AuditHead]:
    """The next line, and the head then. Fields of our own names are refused by assertion."""
    assert not fields.keys() & {"n", "time", "event", "before", "hash"}
    number = head.number + 1
    said = {"n": number, "time": time, "event": event, **fields, "before": head.hash}
    digest = _digest(said)
    text = json.dumps({**said, "hash": digest}, ensure_ascii=False, default=str)
    return text, AuditHead(number, digest)


def head_of(text: str) -> AuditHead:
    """The head behind a line that was written. Raises ValueError if it is none, or was changed."""
    found = _read(text)
    return AuditHead(int(str(found["n"])), str(found["hash"]))


def files_of(directory: Path) -> list[Path]:
    """The files of a node's trail, oldest first."""
    path = directory / FILE
    older = [
        each for each in directory.glob("audit.*.jsonl") if each.stem.split(".")[-1].isdecimal()
    ]
    older.sort(key=lambda each: -int(each.stem.split(".")[-1]))
    return [*older, *([path] if path.exists() else [])]


def is_unrotated(directory: Path) -> bool:
    """Return whether a node's trail is in its first file still: a full one stays beside it."""
    return files_of(directory) == [directory / FILE]


def append(path: Path, text: str) -> None:
    """On a line of its own, also where the line before it was torn. Raises OSError."""
    with path.open("a+b") as file:
        if file.seek(0, 2):
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                text = "\n" + text
        file.write((text + "\n").encode())


def last_head(directory: Path) -> AuditHead:
    """Behind the last whole line of a node's trail; of no lines where there is none.

    Raises OSError.
    """
    for path in reversed(files_of(directory)):
        for text in reversed(last_lines(path, bytes_max=TAIL_BYTES)):
            try:
                return head_of(text)
            except ValueError:
                continue  # torn by a crash; it stays, and a verification shows it
    return AuditHead()


def note_offline(directory: Path, event: str, time: str, fields: Mapping[str, object]) -> None:
    """A line about a node that does not run, by who is at its machine. Raises OSError."""
    who = {"user": _account(), "address": "local", **fields}
    text, _ = line(last_head(directory), event, time, who)
    append(directory / FILE, text)


def _account() -> str:
    """Return the account that this process runs under."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def heads_told(lines: Iterable[tuple[str, str]], instance: str) -> Iterator[AuditHead]:
    """Return the heads of another node's trail in a trail. Changed lines do not count."""
    for _, text in lines:
        try:
            said = _read(text)
            if (said["event"], said.get("instance")) == (HEAD, instance):
                yield parse_head(str(said["head"]))
        except (KeyError, ValueError):
            continue  # a verification of that trail shows it


def lines_of(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Return all lines with their places, FILE:LINE, from 1. Raises OSError.

    A node may go on in its next file meanwhile, which renames the others: each is found again.
    """
    if len(files) == 1:  # perhaps a pipe
        with files[0].open("rb") as file:
            yield from _numbered(files[0], file)
        return
    found: dict[_SameFile, Path] = {}
    for path in reversed(files):  # the newest first: what is renamed meanwhile is not left out
        with suppress(FileNotFoundError), path.open("rb") as file:
            found.setdefault(_SameFile.of(file), path)
    for wanted, path in reversed(found.items()):
        with _opened(path, wanted) as file:
            yield from _numbered(path, file)


def _numbered(path: Path, file: BinaryIO) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file, 1):
        yield f"{path.name}:{number}", line.decode(errors="replace").removesuffix("\n")


class _SameFile(NamedTuple):
    """What a file is known by under another name; its number alone may be that of a later one."""

    inode: int
    begin: bytes

    @classmethod
    def of(cls, file: BinaryIO) -> Self:
        found = cls(os.fstat(file.fileno()).st_ino, file.read(BEGIN_BYTES))
        file.seek(0)
        return found


def _opened(path: Path, wanted: _SameFile) -> BinaryIO:
    """Open the file that was at that path, wherever it is now. Raises OSError."""
    for _ in range(RENAMED_TRIES):
        for each in (path, *files_of(path.parent)):
            with suppress(FileNotFoundError):
                file = each.open("rb")
                if _SameFile.of(file) == wanted:
                    return file
                file.close()
    raise FileNotFoundError(ENOENT, "the node removed it before it was read", str(path))


def fields_of(text: str) -> dict[str, object]:
    """Return the fields of a line. Raises ValueError if it is none, or was changed."""
    return _read(text)


def parse_head(text: str) -> AuditHead:
    """A head as it is printed, NUMBER:HASH. Raises ValueError."""
    number, _, digest = text.partition(":")
    if not _HEAD.fullmatch(text):
        raise ValueError(f"{text!r} is no head: it is NUMBER:HASH, as `qsync audit verify` prints")
    return AuditHead(int(number), digest)


def verify(
    lines: Iterable[tuple[str, str]], *, kept: Iterable[AuditHead] = (), unrotated: bool = False
) -> AuditVerdict:
    """Judge lines, each with its place, oldest first. `kept`: heads that were kept elsewhere.

    `unrotated`: no older file was begun and left, so the first line of all must be there.
    """
    faults: list[AuditFault] = []
    wanted = {each.number: each.hash for each in kept}
    first, count, head = 0, 0, None
    for place, text in lines:
        count += 1
        try:
            found = _read(text)
        except ValueError as error:
            faults.append(AuditFault(place, str(error)))
            continue
        now = AuditHead(int(str(found["n"])), str(found["hash"]))
        faults += _following(place, head, now, str(found["before"]))
        if unrotated and head is None and now.number > 1:
            faults.append(AuditFault(place, f"the lines before line {now.number} are not there"))
        if wanted.pop(now.number, now.hash) != now.hash:
            faults.append(AuditFault(place, f"line {now.number} is another than was kept"))
        first = first or now.number
        head = now
    if not count:
        faults.append(AuditFault("end", "there is no line: a trail begins with its first one"))
    end = head or AuditHead()
    faults += [
        AuditFault("end", f"line {number}, whose hash was kept, is not there: the trail was cut")
        for number in sorted(wanted)
        if number > end.number or not first
    ]
    return AuditVerdict(first, end, count, tuple(faults))


def _following(
    place: str, head: AuditHead | None, now: AuditHead, before: str
) -> Iterator[AuditFault]:
    if head is None:
        if now.number == 1 and before != BEGIN:
            yield AuditFault(place, "the first line follows something")
        return
    if now.number != head.number + 1:
        yield AuditFault(place, f"line {now.number} comes behind line {head.number}")
    elif before != head.hash:
        yield AuditFault(place, f"line {now.number} does not follow the line before it")


def _read(text: str) -> dict[str, object]:
    """A line whose hash is right. Raises ValueError that says what is wrong."""
    try:
        found = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON: it is torn or was changed") from None
    if not isinstance(found, dict) or not {"n", "before", "hash"} <= found.keys():
        raise ValueError("is no line of an audit trail")
    if not all(isinstance(found.get(key), str) for key in ("time", "event")):
        raise ValueError("does not say what happened, and when")
    if type(found["n"]) is not int or found["hash"] != _digest(found):
        raise ValueError("was changed: its hash is not that of what it says")
    return found


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A map of JSON. Raises ValueError where a name is there twice: only one of them is hashed."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _digest(said: Mapping[str, object]) -> str:
    rest = {key: value for key, value in said.items() if key != "hash"}
    return sha256(json.dumps(rest, sort_keys=True, default=str).encode()).hexdigest()
