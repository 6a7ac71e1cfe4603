"""An entry of a log as one line for people."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from admin.cluster import logs
from qsync.data import keys, schema
from qsync.record import Entry, EntryKind, Flags

_SHOWN_CHARACTERS_MAX = 120
_BYTES_SHOWN_MAX = 16


class EntryLines:
    """Names spaces by the definitions that pass, and before those by `names`; else by number."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = {each.id: each.name for each in schema.SYSTEM} | dict(names)

    def line(self, entry: Entry) -> str:
        """Index, term, origin, time, kind and what it did."""
        when = datetime.fromtimestamp(entry.time, UTC).strftime("%H:%M:%S.%f")[:-3]
        kind = EntryKind(entry.kind).name
        flags = "+".join(flag.name or "" for flag in Flags(entry.flags))
        what = "; ".join(self._told(logs.as_members(entry)))
        if len(what) > _SHOWN_CHARACTERS_MAX:
            what = what[:_SHOWN_CHARACTERS_MAX] + "..."
        return (
            f"{entry.index:>8} t{entry.term} {entry.origin}:{entry.lsn} {when} "
            f"{kind}{' ' + flags if flags else ''} {what}"
        ).rstrip()

    def _told(self, members: dict[str, object]) -> Iterator[str]:
        ref, effects = members.get("ref"), members.get("effects")
        if isinstance(ref, dict):
            yield f"owner {ref['owner']}, lsn {ref['lsn']}"
        if "refused" in members:
            yield f"refused, {members['refused']}: {members['message']}"
        for space, key, row in effects if isinstance(effects, list) else ():
            if space == schema.SPACE and row is not None:
                self._names[row[0]] = str(row[2])
            name = self._names.get(space, f"space {space}")
            if row is None:
                yield f"{name} deleted {_shown(keys.decode(bytes.fromhex(key)))}"
            else:
                yield f"{name} {_shown(row)}"


def _shown(value: object) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        cut = "..." if len(value) > _BYTES_SHOWN_MAX else ""
        return f"0x{value[:_BYTES_SHOWN_MAX].hex()}{cut}"
    return str(value)
