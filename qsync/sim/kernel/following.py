"""A feed of changes, as the client that ships reads it, whose caller may go and come back."""

from typing import Final

import cbor2

from qsync.client.changes import Change
from qsync.client.feed import WAIT_S
from qsync.data.keys import FieldType, KeyPart, encode
from qsync.sim.canon import PropertyViolation, ReferenceLog
from qsync.sim.kernel.caller import Caller, CallerCancelled
from qsync.sim.kernel.program import Program
from qsync.sim.operations import FollowOperation
from qsync.sim.spaces import LISTS

IDLE_S: Final = WAIT_S / 4
_KEY: Final = (KeyPart(field=0, type=FieldType.UNSIGNED),)


async def follow(program: Program, one: Caller, asked: FollowOperation) -> list[Change]:
    """Read so many changes of the lists, or as many as there are; go on where it was cancelled."""
    feed = one.watch(LISTS, after=asked.after, idle=IDLE_S)
    program.began(feed)
    found: list[Change] = []
    while len(found) < asked.changes:
        try:
            found.append(await anext(feed))
        except CallerCancelled:
            continue
        except StopAsyncIteration:
            break
    return found


def check_followed(canon: ReferenceLog, asked: FollowOperation, found: list[Change]) -> None:
    """Check that a feed had every change once, in the order of the log. Raises Violation.

    What is appended is new, so every write changes its row.
    """
    upto = found[-1].index if found else asked.after
    rows = [_rows(canon, asked.keys, index) for index in range(asked.after, upto + 1)]
    wanted = [asked.after + at for at in range(1, len(rows)) if rows[at] != rows[at - 1]]
    indexes = [each.index for each in found]
    if indexes != wanted:
        raise PropertyViolation(8, f"a feed after {asked.after} has {indexes}, not {wanted}")
    for each in found:
        for effect in each.effects:
            row = _row(canon, effect.key[0], each.index)
            if effect.row != row:
                raise PropertyViolation(8, f"a feed has {effect.row} at {each.index}, not {row}")


def _rows(canon: ReferenceLog, keys: int, index: int) -> list[object]:
    return [_row(canon, key, index) for key in range(keys)]


def _row(canon: ReferenceLog, key: object, index: int) -> object:
    assert isinstance(key, int)
    row = canon.row_at((LISTS, encode(_KEY, (key,))), index)
    return None if row is None else cbor2.loads(row)
