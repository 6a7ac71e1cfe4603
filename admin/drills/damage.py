"""Harm to the log of a stopped node, such as a bad disk does."""

import struct
from collections.abc import Callable

import lmdb

from admin.lab.lab import LabNode, StillRunning
from qsync.errors import StoreError

_BATCHES, _KEY = b"batches", struct.Struct(">Q")
_DATABASES_MAX = 8
_BIT = 0x10


def tear(node: LabNode) -> None:
    """The last batch of the log keeps only its first half."""
    _change(node, lambda batch: batch[: len(batch) // 2])


def flip(node: LabNode) -> None:
    """In the middle of the last batch of the log one bit is another."""

    def flipped(batch: bytes) -> bytes:
        at = len(batch) // 2
        return batch[:at] + bytes([batch[at] ^ _BIT]) + batch[at + 1 :]

    _change(node, flipped)


def _change(node: LabNode, change: Callable[[bytes], bytes]) -> None:
    if node.process is not None:
        raise StillRunning(f"{node.name} runs, so its log is left alone", hint="kill it first")
    try:
        with lmdb.open(str(node.dir / "log"), max_dbs=_DATABASES_MAX) as environment:
            batches = environment.open_db(_BATCHES)
            with environment.begin(write=True) as transaction, transaction.cursor(batches) as at:
                if not at.last():
                    raise StoreError(
                        f"the log of {node.name} is empty, so there is nothing to harm"
                    )
                transaction.put(at.key(), change(bytes(at.value())), db=batches)
    except lmdb.Error as error:
        raise StoreError(f"the log of {node.name} cannot be opened: {error}") from error
