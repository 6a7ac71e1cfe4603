"""qsync: a replicated database in which every write has a definite outcome."""

from qsync.version import __version__ as __version__

TYPE_CHECKING = False  # to read typing takes longer than all else here

if TYPE_CHECKING:
    from qsync.client.aio import AsyncClient, connect_async
    from qsync.client.async_.feeds import AsyncFeed
    from qsync.client.async_.space import AsyncSpace
    from qsync.client.async_.transaction import AsyncTransaction
    from qsync.client.async_.typed import AsyncTypedSpace
    from qsync.client.blocking import Client, Pending, Pipeline, connect
    from qsync.client.changes import Change, ChangeBatch, ChangeKind, Effect
    from qsync.client.closed import ClientClosed
    from qsync.client.draft import NoTransaction
    from qsync.client.rows import Receipt
    from qsync.client.sync.feeds import Feed
    from qsync.client.sync.space import Space
    from qsync.client.sync.transaction import Transaction
    from qsync.client.sync.typed import TypedSpace
    from qsync.errors import (
        AccessDenied,
        Compacted,
        ConfigError,
        Conflict,
        Damaged,
        DirectoryGone,
        DirectoryLocked,
        DiskFull,
        DiskUnreadable,
        DuplicateKey,
        ForeignCluster,
        GivenUp,
        LostWrite,
        NoSuchIndex,
        NoSuchSpace,
        NotLeader,
        NotMember,
        Outcome,
        OutcomeUnknown,
        Overloaded,
        ProtocolError,
        QsyncError,
        QuorumTimeout,
        ReadOnly,
        Rebuilding,
        RolledBack,
        SessionExpired,
        SnapshotLost,
        SpaceExists,
        SplitBrain,
        StoreError,
        Superseded,
        SyncQueueFull,
        TooLarge,
        Unanswered,
        Unavailable,
        WrongFormat,
        WrongKey,
        WrongOperation,
        WrongSchema,
        WrongTuple,
        WrongVersion,
    )
    from qsync.node.embedded import EmbeddedNode as Node

PART_OF = "qsync"

__all__ = [
    "AccessDenied",
    "AsyncClient",
    "AsyncFeed",
    "AsyncSpace",
    "AsyncTransaction",
    "AsyncTypedSpace",
    "Change",
    "ChangeBatch",
    "ChangeKind",
    "Client",
    "ClientClosed",
    "Compacted",
    "ConfigError",
    "Conflict",
    "Damaged",
    "DirectoryGone",
    "DirectoryLocked",
    "DiskFull",
    "DiskUnreadable",
    "DuplicateKey",
    "Effect",
    "Feed",
    "ForeignCluster",
    "GivenUp",
    "LostWrite",
    "NoSuchIndex",
    "NoSuchSpace",
    "NoTransaction",
    "Node",
    "NotLeader",
    "NotMember",
    "Outcome",
    "OutcomeUnknown",
    "Overloaded",
    "Pending",
    "Pipeline",
    "ProtocolError",
    "QsyncError",
    "QuorumTimeout",
    "ReadOnly",
    "Rebuilding",
    "Receipt",
    "RolledBack",
    "SessionExpired",
    "SnapshotLost",
    "Space",
    "SpaceExists",
    "SplitBrain",
    "StoreError",
    "Superseded",
    "SyncQueueFull",
    "TooLarge",
    "Transaction",
    "TypedSpace",
    "Unanswered",
    "Unavailable",
    "WrongFormat",
    "WrongKey",
    "WrongOperation",
    "WrongSchema",
    "WrongTuple",
    "WrongVersion",
    "connect",
    "connect_async",
]

_HOMES = {
    "AsyncClient": "qsync.client.aio",
    "AsyncFeed": "qsync.client.async_.feeds",
    "AsyncSpace": "qsync.client.async_.space",
    "AsyncTransaction": "qsync.client.async_.transaction",
    "AsyncTypedSpace": "qsync.client.async_.typed",
    "Change": "qsync.client.changes",
    "ChangeBatch": "qsync.client.changes",
    "ChangeKind": "qsync.client.changes",
    "Client": "qsync.client.blocking",
    "ClientClosed": "qsync.client.closed",
    "Effect": "qsync.client.changes",
    "Feed": "qsync.client.sync.feeds",
    "NoTransaction": "qsync.client.draft",
    "Node": "qsync.node.embedded:EmbeddedNode",
    "Pending": "qsync.client.blocking",
    "Pipeline": "qsync.client.blocking",
    "Receipt": "qsync.client.rows",
    "Space": "qsync.client.sync.space",
    "Transaction": "qsync.client.sync.transaction",
    "TypedSpace": "qsync.client.sync.typed",
    "connect": "qsync.client.blocking",
    "connect_async": "qsync.client.aio",
}
"""The module of each public name; all others are errors.

Loaded at first use: an import is cheap.
"""


def __getattr__(name: str) -> object:
    """Load a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'qsync' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - only now, as the command is not to be slow at its start

    module, _, there = _HOMES.get(name, "qsync.errors").partition(":")
    value: object = getattr(importlib.import_module(module), there or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return sorted({*globals(), *__all__})
