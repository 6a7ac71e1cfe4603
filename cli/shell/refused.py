"""Tarantool names that the shell refuses: the reason, and the alternative.

`box...` and modules by their name, methods as `space:NAME`, options of `box.cfg` as `cfg.NAME`.
"""

from collections.abc import Mapping
from typing import Final

from admin.box.session import NotSupported

_NO_SERVER_LUA: Final = "nodes run no Lua: functions and triggers cannot be kept in them"
_CALL_HERE: Final = "define the function in the shell and call it; box.atomic makes it one step"
_FEED: Final = "db.watch of the Python client gives every confirmed change in order, each once"
_MEMBERS: Final = "`qsync member add`, `remove` and `set-role` change who is a member"
_CUT: Final = "`qsync lab cut A B` cuts a link of a lab, `qsync lab heal` mends it"
_NO_SQL: Final = "there is no SQL"
_SELECT: Final = "space:select() and the Python client read; an index finds by any of its keys"
_LOG: Final = "the node writes its log to stderr; `qsync start --help` has its options"
_FILE: Final = "the node's file says how it starts: `qsync config schema` lists its options"
_CHECK: Final = "`qsync log cat` and `qsync log verify` read a log"
_SANDBOX: Final = "the shell's Lua reaches the cluster and nothing else"
_PYTHON: Final = "a script with the Python client has all of Python"
_WATCH: Final = "box.watch and the feed of changes tell what happens"
_BY_HAND: Final = "`qsync promote`, `demote` and `box.ctl` decide who leads"

_NO_COUNTER: Final = "a space has no counter"
_SEQUENCE: Final = "box.schema.sequence.create, then :next()"

Refusal = tuple[str, str]

REFUSED: Final[Mapping[str, Refusal]] = {
    "box.schema.func": (_NO_SERVER_LUA, _CALL_HERE),
    "box.schema.upgrade": (
        "a release upgrades the cluster by itself",
        "`qsync status` shows how far it is",
    ),
    "box.schema.downgrade": (
        "a cluster is not downgraded",
        "restore a backup made by the older release",
    ),
    "box.schema.sequence.drop": ("a sequence cannot be dropped", "leave it, or make another one"),
    "box.execute": (_NO_SQL, _SELECT),
    "box.prepare": (_NO_SQL, _SELECT),
    "box.unprepare": (_NO_SQL, _SELECT),
    "box.broadcast": ("nodes broadcast only their own state", "put it into a space and watch that"),
    "box.txn_id": (
        "a transaction has no number before it is committed",
        "`\\tx` shows the receipt",
    ),
    "box.slab": ("rows are in LMDB, and in no slabs", "box.info.memory tells what takes room"),
    "box.runtime": ("rows are in LMDB, and in no arena", "box.info.memory tells what takes room"),
    "box.iproto": ("the wire protocol is another one", "docs/reference/wire.md describes it"),
    "box.internal": ("internals are not offered", "box.info and `qsync log cat` show the state"),
    "box.read_view": ("a read is of one moment by itself", "box.begin() makes several of one"),
    "box.on_commit iterator": (
        "the rows of a transaction are not given to its triggers",
        "leave the iterator alone, or keep the rows in a local; " + _FEED,
    ),
    "box.space._vspace_sequence": (_NO_COUNTER, _SEQUENCE),
    "box.space._space_sequence": (_NO_COUNTER, _SEQUENCE),
    "box.space._func": (_NO_SERVER_LUA, _CALL_HERE),
    "box.space._vfunc": (_NO_SERVER_LUA, _CALL_HERE),
    "box.space._func_index": (_NO_SERVER_LUA, "an index is on fields"),
    "box.space._trigger": (_NO_SERVER_LUA, _FEED),
    "box.space._collation": ("texts are ordered by their bytes", "leave the collation out"),
    "box.space._vcollation": ("texts are ordered by their bytes", "leave the collation out"),
    "box.space._session_settings": (
        "a session has no settings on the node",
        "`\\set` has those of the shell",
    ),
    "box.ctl.make_bootstrap_leader": ("the voters elect the first leader", _BY_HAND),
    "box.ctl.on_recovery_state": (_NO_SERVER_LUA, _WATCH),
    "box.ctl.on_schema_init": (_NO_SERVER_LUA, _WATCH),
    "box.ctl.on_shutdown": (_NO_SERVER_LUA, _WATCH),
    "box.ctl.set_on_shutdown_timeout": (_NO_SERVER_LUA, _FILE),
    "box.ctl.is_recovery_finished": (
        "a node answers when it has recovered",
        "box.info.status says so",
    ),
    "box.session.on_connect": (_NO_SERVER_LUA, _WATCH),
    "box.session.on_disconnect": (_NO_SERVER_LUA, _WATCH),
    "box.session.on_auth": (_NO_SERVER_LUA, "the audit log tells who logged in"),
    "box.session.push": (_NO_SERVER_LUA, _WATCH),
    "box.session.settings": (
        "a session has no settings on the node",
        "`\\set` has those of the shell",
    ),
    "box.session.sync": (
        "requests of this protocol have no sync",
        "`\\tx` shows token and receipt",
    ),
    "box.info.sql": (_NO_SQL, _SELECT),
    "box.info.vinyl": ("there is no vinyl", "box.info.memory tells what takes room"),
    "box.info.schema_version": ("a schema has no version", "`\\d SPACE` shows a definition"),
    "box.info.config": ("options are not in box.info", "box.cfg, and `qsync config show --origin`"),
    "space:on_replace": (_NO_SERVER_LUA, _FEED),
    "space:before_replace": (_NO_SERVER_LUA, "space:format() checks types; " + _CALL_HERE),
    "space:run_triggers": (_NO_SERVER_LUA, _FEED),
    "space:auto_increment": (_NO_COUNTER, _SEQUENCE),
    "space:bsize": ("bytes are not counted by space", "box.info.memory.data is of all of them"),
    "space:add_column": ("columns are added with the format", "space:format{...}"),
    "space:upgrade": (_NO_SERVER_LUA, "rewrite the rows in transactions of the client"),
    "index:alter": ("an index is not altered", "create another one, then drop this one"),
    "index:rename": ("an index is not renamed", "create another one, then drop this one"),
    "index:random": (
        "an index gives no random row",
        "index:select(key, {iterator = 'GE', limit = 1})",
    ),
    "index:bsize": ("bytes are not counted by index", "box.info.memory.data is of all of them"),
    "index:stat": ("counts are not kept by index", "box.stat"),
    "index:compact": ("there is no vinyl", "rows are folded by themselves"),
    "tuple:update": ("a tuple is not changed by itself", "space:update(key, operations)"),
    "tuple:upsert": ("a tuple is not changed by itself", "space:upsert(tuple, operations)"),
    "connection:eval": (_NO_SERVER_LUA, _CALL_HERE),
    "connection:call": (_NO_SERVER_LUA, _CALL_HERE),
    "connection:execute": (_NO_SQL, _SELECT),
    "require fio": (_SANDBOX, _PYTHON),
    "require xlog": (_SANDBOX, _CHECK),
    "require socket": (_SANDBOX, _PYTHON),
    "require http.client": (_SANDBOX, _PYTHON),
    "require console": ("nodes run no Lua", "this shell is the console"),
    "require compat": ("there is one behaviour", "docs/reference/box.md says what differs"),
    "require trigger": (_NO_SERVER_LUA, _FEED),
    "require fun": ("the shell has no iterators of `fun`", "for loops, or " + _PYTHON),
    "require decimal": ("the shell has no decimals", "store text or scaled integers"),
    "require datetime": ("the shell has no dates", "store seconds, as clock.time() gives them"),
    "require digest": (_SANDBOX, _PYTHON),
    "require crypto": (_SANDBOX, _PYTHON),
    "require popen": (_SANDBOX, _PYTHON),
    "require ffi": (_SANDBOX, _PYTHON),
    "require swim": ("members know each other from the configuration", _MEMBERS),
    "require config": ("there is no config module", _FILE),
    "require luatest": ("tests are written in Python", "the fixture qsync_cluster of pytest"),
    "require tap": ("tests are written in Python", "the fixture qsync_cluster of pytest"),
    "cfg.replication": ("members are not changed by an option", f"{_MEMBERS}; {_CUT}"),
    "cfg.replication_anon": ("a replica is anonymous from its file on", _FILE),
    "cfg.replication_connect_timeout": ("links are tried again for ever", "replication_timeout"),
    "cfg.replication_connect_quorum": ("a node starts without the others", "box.ctl.wait_rw()"),
    "cfg.replication_reconnect_timeout": ("links are tried again for ever", "replication_timeout"),
    "cfg.replication_sync_timeout": ("a node that lags serves no fresh reads", "box.ctl.wait_rw()"),
    "cfg.replication_sync_lag": ("a node that lags serves no fresh reads", "box.ctl.wait_rw()"),
    "cfg.replication_skip_conflict": (
        "replicas apply one log and have no conflicts",
        "leave it out",
    ),
    "cfg.replication_threads": ("a node has one loop", "leave it out"),
    "cfg.bootstrap_strategy": ("the voters of the configuration elect the first leader", _FILE),
    "cfg.bootstrap_leader": ("the voters of the configuration elect the first leader", _FILE),
    "cfg.listen": ("an address is not changed while the node runs", _FILE),
    "cfg.log": (_LOG, _FILE),
    "cfg.log_level": (_LOG, _FILE),
    "cfg.wal_queue_max_size": (
        "what waits for the disk is limited by the limbo",
        "replication_synchro_queue_max_size",
    ),
    "cfg.wal_mode": ("every answered write is durable", "`wait = 'none'` answers sooner"),
    "cfg.wal_dir": ("a node has one directory", _FILE),
    "cfg.memtx_dir": ("a node has one directory", _FILE),
    "cfg.work_dir": ("a node has one directory", _FILE),
    "cfg.memtx_memory": ("rows are in LMDB and not limited by memory", _FILE),
    "cfg.checkpoint_count": (
        "it is an option of the store",
        "`store.checkpoint_count` in the node's file",
    ),
    "cfg.checkpoint_interval": (
        "it is an option of the store",
        "`store.checkpoint_interval` in the node's file",
    ),
    "cfg.election_fencing_enabled": (
        "it has another name",
        "election_fencing_mode = 'off', 'soft' or 'strict'",
    ),
    "cfg.txn_synchro_timeout": ("it has another name", "replication_synchro_timeout"),
    "cfg.txn_timeout": ("a transaction is held by the client", "box.commit{timeout = ..}"),
    "cfg.replicaset_uuid": ("an identity is in the directory", _FILE),
    "cfg.replicaset_name": ("an identity is in the directory", _FILE),
    "cfg.instance_uuid": ("an identity is in the directory", _FILE),
    "cfg.instance_name": ("an identity is in the directory", _FILE),
    "cfg.feedback_enabled": ("nothing is ever sent home", "leave it out"),
}
"""The reason, and the alternative."""


def refusal_of(name: str) -> NotSupported:
    """The error for a name. Raises KeyError for one that is not refused."""
    why, instead = REFUSED[name]
    kind, _, rest = name.partition(".")
    shown = f"box.cfg.{rest}" if kind == "cfg" else name.replace("require ", "module ")
    return NotSupported(f"{shown} is not supported: {why}", hint=instead)
