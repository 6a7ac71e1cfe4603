"""The relevant part of a node's state, as plain tuples; also with the nodes renamed.

Two states with equal fingerprints behave the same from here on. So a field may be left out only if
no decision depends on it: each is listed with its reason, and an audit in the tests steps both of
every two states with equal fingerprints.
"""

import hashlib
import marshal
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import FunctionType, MethodType, NoneType
from typing import TypeAlias

from sortedcontainers import SortedDict, SortedList

from election.roles import ElectionTiming
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration
from qsync.record import Entry
from qsync.sim.explore.chain import Chain
from qsync.sim.explore.ids import NodeId, Renaming

LEFT_OUT: dict[tuple[str, str], str] = {
    ("Raft", "history"): "past elections, for people; the open round has its own record",
    ("Campaign", "_history"): "the same",
    ("Voter", "_history"): "the same",
    ("Electorate", "me"): "it follows from the node's place in the cluster",
    ("RaftState", "now"): "times are taken relative to it",
    ("VotePromise", "heard_at"): "for people; decisions use `sticky_until`",
    ("ReplicatedLog", "now"): "the same",
    ("ReplicatedLog", "cuts"): "counted for watchers; outcomes are read again whenever it grows",
    ("PendingWrites", "_writes"): "numbers of writes only pair a write with its end",
    ("Write", "id"): "the same",
    ("Write", "cut_reason"): "for people",
    ("PendingWrites", "_cut_reason"): "for people",
    ("Write", "cut_answered"): "for people",
    ("PendingWrites", "_cut_answered"): "for people",
    (
        "LeadershipTransfer",
        "timeout",
    ): "a duration; it follows from the configuration and `leaving`",
    (
        "Waiters",
        "_seen_at",
    ): "between two turns it equals the replicated log's current state, or is unused",
    ("ExploredNode", "me"): "it follows from the node's place in the cluster",
    ("ExploredNode", "now"): "times are taken relative to it",
    ("ExploredNode", "plan"): "never changes",
    ("ExploredNode", "lives"): "everything with the number of a life has its own copy",
    ("ExploredNode", "_told"): "of the finished turn",
    ("ExploredNode", "_mark"): "the same",
    ("HeartbeatRounds", "_began"): "read by leases only: see LEASES",
    ("HeartbeatRounds", "_lease_until"): "the same",
    ("HeartbeatRounds", "_wanted_until"): "the same",
}
"""Class and field, and why no decision depends on it."""

LEASES = frozenset({
    ("HeartbeatRounds", "_began"),
    ("HeartbeatRounds", "_lease_until"),
    ("HeartbeatRounds", "_wanted_until"),
})  # fmt: skip
"""Matters in scopes whose clients read by lease."""

OLD = -5.0
"""Events older than this many seconds are past every deadline of every scope."""
_LONG_AGO = -1.0e9

Plain: TypeAlias = "bool | int | float | bytes | tuple[Plain, ...] | None"


class Fingerprints:
    """Encodes states under one renaming of the nodes."""

    def __init__(self, chain: Chain, renaming: Renaming, *, leases: bool = False) -> None:
        self._matters = LEASES if leases else frozenset[tuple[str, str]]()
        self._chain = chain
        self._renaming = renaming
        self._symbols = chain.symbols(renaming)
        self._now = 0.0
        self._seen: dict[int, int] = {}
        self._constants: dict[int, tuple[object, Plain]] = {}
        self._encoders: dict[type, Callable[[object], Plain]] = {}
        self._encoders |= dict.fromkeys((NoneType, bool, int, bytes), _as_it_is)
        self._encoders |= {
            NodeId: self._node,
            float: self._time,
            str: _text,
            Entry: self._entry,
            array: _array,
            tuple: self._tuple,
            list: self._list,
            deque: self._list,
            dict: self._dict,
            OrderedDict: self._dict,
            SortedDict: self._dict,
            set: self._set,
            frozenset: self._set,
            SortedList: self._list,
            FunctionType: _nothing,
            MethodType: _nothing,
            partial: _nothing,
        }

    def of_state(self, whole: object, now: float) -> bytes:
        """A digest of 16 bytes of everything relevant below `whole`."""
        return hashlib.blake2b(self.encoded(whole, now), digest_size=16).digest()

    def encoded(self, whole: object, now: float) -> bytes:
        """The full encoding."""
        self._now = now
        self._seen = {}
        return _dumped(self._plain(whole))

    def of_value(self, value: object) -> bytes:
        """A digest of a message; times in it are encoded as durations."""
        self._now = 0.0
        return hashlib.blake2b(_dumped(self._plain(value)), digest_size=16).digest()

    # -- by kind

    def _plain(self, value: object) -> Plain:
        encoder = self._encoders.get(type(value))
        if encoder is None:
            encoder = self._encoders[type(value)] = self._encoder_of(type(value))
        return encoder(value)

    def _encoder_of(self, kind: type) -> Callable[[object], Plain]:
        if issubclass(kind, Enum):
            return _member
        if issubclass(kind, CoreConfig | ElectionTiming):
            return self._constant
        if issubclass(kind, Configuration):
            return self._configuration
        if is_dataclass(kind):
            names = [each.name for each in fields(kind)]
            return partial(self._fields, kind.__name__, self._kept(kind, names))
        if issubclass(kind, tuple):
            return self._tuple
        slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
        return partial(
            self._object, kind.__name__.encode(), self._kept(kind, slots), self._skipped(kind)
        )

    def _constant(self, value: object) -> Plain:
        """A configuration: its times are durations. There are few, so each is cached."""
        known = self._constants.get(id(value))
        if known is None:
            now, self._now = self._now, 0.0
            assert is_dataclass(value)
            names = [each.name for each in fields(value) if each.name not in ("me", "voters")]
            found = [self._plain(getattr(value, name)) for name in names]
            self._now = now
            known = self._constants[id(value)] = (value, tuple(found))
        return known[1]

    def _configuration(self, value: object) -> Plain:
        """The members: a set, which is kept in the order of their ids."""
        assert isinstance(value, Configuration)
        return tuple(sorted([self._plain(each) for each in value.members], key=_dumped))

    def _kept(self, kind: type, names: list[str]) -> list[tuple[str, bool]]:
        left_out = self._skipped(kind)
        return [(name, "crc" in name) for name in names if name not in left_out]

    def _skipped(self, kind: type) -> frozenset[str]:
        names = {base.__name__ for base in kind.__mro__}
        left_out = LEFT_OUT.keys() - self._matters
        return frozenset(field for (name, field) in left_out if name in names)

    def _fields(self, name: str, kept: list[tuple[str, bool]], value: object) -> Plain:
        found: list[Plain] = [name.encode()]
        for field, is_crc in kept:
            inside = getattr(value, field)
            found.append(self._crcs(inside) if is_crc else self._plain(inside))
        return tuple(found)

    def _object(
        self, name: bytes, slots: list[tuple[str, bool]], left_out: frozenset[str], value: object
    ) -> Plain:
        before = self._seen.get(id(value))
        if before is not None:
            return (b"again", before)
        self._seen[id(value)] = len(self._seen)
        found: list[Plain] = [name]
        plain = self._plain
        for slot, is_crc in slots:
            inside = getattr(value, slot)
            found.append(self._crcs(inside) if is_crc else plain(inside))
        held: dict[str, object] = getattr(value, "__dict__", {})
        for field, inside in held.items():
            if field in left_out:
                continue
            if "crc" in field:
                found.append(self._crcs(inside))
            elif type(inside) is int or type(inside) is bool or inside is None:
                found.append(inside)
            else:
                found.append(plain(inside))
        return tuple(found)

    def _node(self, value: object) -> Plain:
        assert isinstance(value, int)
        return self._renaming[value]

    def _time(self, value: object) -> Plain:
        assert isinstance(value, float)
        since = value - self._now
        return since if since > OLD else _LONG_AGO

    def _entry(self, value: object) -> Plain:
        assert isinstance(value, Entry)
        return (b"entry", self._symbols[value.crc])

    def _crcs(self, value: object) -> Plain:
        symbols = self._symbols
        if isinstance(value, int):
            return symbols[value]
        assert isinstance(value, array | tuple)
        return tuple([symbols[each] for each in value])

    def _tuple(self, value: object) -> Plain:
        assert isinstance(value, tuple)
        if not value:
            return value
        found = [self._plain(each) for each in value]
        if all(type(each) is NodeId for each in value):
            # The voters: a set, in the order in which they are sent to.
            found.sort(key=_dumped)
        return tuple(found)

    def _list(self, value: object) -> Plain:
        assert isinstance(value, list | deque | SortedList)
        if not value:
            return ()
        return tuple([self._plain(each) for each in value])

    def _dict(self, value: object) -> Plain:
        assert isinstance(value, dict)
        found = [(self._plain(key), each) for key, each in value.items()]
        if len(found) > 1:
            found.sort(key=_first)
        return tuple([(key, self._plain(each)) for key, each in found])

    def _set(self, value: object) -> Plain:
        assert isinstance(value, set | frozenset)
        return tuple(sorted([self._plain(each) for each in value], key=_dumped))


def _dumped(value: Plain) -> bytes:
    return marshal.dumps(value, 2)


def _first(pair: tuple[Plain, object]) -> bytes:
    return _dumped(pair[0])


def _as_it_is(value: object) -> Plain:
    assert value is None or isinstance(value, int | bytes)
    return value


def _nothing(_value: object) -> Plain:
    return None


def _text(value: object) -> Plain:
    assert isinstance(value, str)
    return value.encode()


def _member(value: object) -> Plain:
    assert isinstance(value, Enum)
    return value.name.encode()


def _array(value: object) -> Plain:
    assert isinstance(value, array)
    return value.tobytes()
