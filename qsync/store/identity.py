"""Whose a directory is: `identity.json`, which is written when it is made and says its format."""

import json
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Final

from election.messages import Replica
from qsync.directory_files import IDENTITY
from qsync.errors import WrongFormat
from qsync.member import Member, MemberRole
from qsync.record import instance_text, read_instance
from qsync.store.contract import Identity

FORMAT: Final = 3
"""Version of the layout: DIR/identity.json, DIR/lock, DIR/log, DIR/data.

2: names the founders. 3: the log is a sequence of segments, no LMDB environment.
"""
FORMAT_WITH_LMDB: Final = 2
"""What is still opened: a node that starts raises it to the present one."""
FORMAT_TRIMMED: Final = 4
"""The log may begin behind a snapshot: a release that knows no such log refuses the directory."""


def read_identity(path: Path) -> tuple[Identity, int]:
    """Return the identity of a directory, and the format of that. Its node may run.

    Raises WrongFormat; OSError, FileNotFoundError where there is none.
    """
    try:
        text = (path / IDENTITY).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise WrongFormat(f"{path}/{IDENTITY} is not text") from None
    try:
        fields = json.loads(text)
        version = fields["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise WrongFormat(f"{path}/{IDENTITY} names no format") from None
    if version not in (FORMAT, FORMAT_WITH_LMDB, FORMAT_TRIMMED):
        raise WrongFormat(
            f"{path} has format {version}, this release knows {FORMAT_TRIMMED}",
            hint="use the release that wrote it",
            details={"format": version, "known": FORMAT_TRIMMED},
        )
    try:
        identity = Identity(
            cluster=str(fields["cluster"]),
            instance=str(fields["instance"]),
            replica=Replica(int(fields["replica"])),
            name=str(fields["name"]),
            founders=tuple(_founder(*each) for each in sorted(fields["founders"])),
        )
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise WrongFormat(f"{path}/{IDENTITY} is incomplete: {error!r}") from None
    return identity, int(version)


def identity_text(identity: Identity, version: int) -> str:
    """Return what `read_identity` reads."""
    founders = [
        [each.replica, instance_text(each.instance), each.role, each.name, each.address]
        for each in identity.founders
    ]
    return (
        json.dumps({"format": version, **asdict(identity), "founders": founders}, indent=2) + "\n"
    )


def _founder(
    replica: int, instance: str, role: str = MemberRole.VOTER, name: str = "", address: str = ""
) -> Member:
    """A member by its row; former releases wrote the id and the instance of voters alone."""
    there = read_instance(str(uuid.UUID(instance)))
    return Member(Replica(int(replica)), there, MemberRole(role), str(name), str(address))
