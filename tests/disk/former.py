"""A directory as the releases before left it: its log in LMDB, with cuts in it."""

import json
from dataclasses import replace
from pathlib import Path

from election.messages import Term
from qsync.record import Entry
from qsync.store.contract import Tail
from qsync.store.directory import Directory
from qsync.store.identity import FORMAT_WITH_LMDB
from qsync.store.log import LmdbLog
from tests.unit.logs import ME, MEMBER, some, write

BALLOT = replace(MEMBER, term=Term(9))


def former_directory(path: Path) -> tuple[list[Entry], list[Tail]]:
    """Make it; what its log holds."""
    Directory(path, wanted=ME).close()
    identity = path / "identity.json"
    fields = json.loads(identity.read_text()) | {"format": FORMAT_WITH_LMDB}
    identity.write_text(json.dumps(fields))
    log = LmdbLog(path / "log", identity=ME, wall=lambda: 7.0)
    log.recover()
    made = some(40)
    for at in range(0, 40, 4):
        log.write(write(made[at : at + 4], confirmed=20))
    log.write(write(cut_above=33, confirmed=20))
    log.write(write(cut_above=30, confirmed=20))
    other = some(5, after=made[29], term=8)
    log.write(write(other, ballot=BALLOT, confirmed=31))
    tails = log.archived()
    log.close()
    return made[:30] + other, tails
