"""`box.cfg` of a running node: its options, which of them change at once, which need a restart.

Names are Tarantool's. A number is seconds or bytes, as there; a text has a unit, as in our files.
A change lasts until the node stops; the next start reads the file again.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Final

from election.quorum import majority
from qsync import features, units
from qsync.config import NodeConfig
from qsync.config.aliases import ALIASES
from qsync.config.checks import inconsistencies
from qsync.config.kinds import FLAG
from qsync.errors import ConfigError
from qsync.node.assembly import core_config, option_value
from qsync.node.view import NodeView
from qsync.options.core_options import CORE_OPTIONS
from qsync.options.value_kinds import ValueKind, nearest


def effective(own: NodeConfig, shared: Mapping[str, str]) -> NodeConfig:
    """Return the configuration in force: settings of the cluster override those of the node."""
    config = own
    for key, text in shared.items():
        if key == features.SETTING:
            continue
        section, _, name = key.partition(".")
        old = getattr(config, section)
        option = next(each for each in fields(old) if each.name == name)
        try:
            value = option.metadata["option"].kind.parse(text)
        except ValueError:
            continue  # as in `qsync.core.settings`: an unknown text does not count
        config = replace(config, **{section: replace(old, **{name: value})})
    return config


DYNAMIC: Final = tuple(each.tarantool for each in CORE_OPTIONS if each.online)
"""Options that take effect at once, besides `read_only`, which no file has."""
_NAMES: Final = {ALIASES[name]: name for name in DYNAMIC}
_NUMBER_MAX: Final = 1 << 63
"""Of seconds or bytes that are given as a number."""
_READ_ONLY: Final = "read_only"
_QUORUM: Final = "replication_synchro_quorum"

_FIXED: Final[Mapping[str, Callable[[NodeView], object]]] = {
    "listen": lambda node: str(node.config.listen),
    "replication": lambda node: [str(peer.address) for peer in node.book.members],
    "work_dir": lambda node: str(node.config.node.dir),
    "instance_name": lambda node: node.config.node.name,
    "instance_uuid": lambda node: node.identity.instance,
    "replicaset_uuid": lambda node: node.identity.cluster,
    "replicaset_name": lambda node: node.config.cluster.name,
    "cluster_name": lambda node: node.config.cluster.name,
    "memtx_use_mvcc_engine": lambda _: True,
    "wal_mode": lambda _: "fsync",
    "txn_isolation": lambda _: "serializable",
    "replication_linearizable_quorum": lambda node: majority(
        len(node.replica.machine.config.voters)
    ),
}
"""Options that cannot change while the node runs; setting the present value is allowed."""


def current(node: NodeView) -> dict[str, object]:
    """Return every option with its value."""
    shown: dict[str, object] = {name: find(node) for name, find in _FIXED.items()}
    shown[_READ_ONLY] = node.replica.machine.config.read_only
    config = effective(node.config, node.replica.settings)
    for name in DYNAMIC:
        value = option_value(config, ALIASES[name])
        shown[name] = value if isinstance(value, int | float) else str(value)
    quorum = str(shown[_QUORUM])
    if quorum.isdigit():
        shown[_QUORUM] = int(quorum)
    return dict(sorted(shown.items()))


def change(node: NodeView, given: Mapping[str, object]) -> dict[str, object]:
    """Set all of these, or none. Raises ConfigError with option, value and reason of each."""
    wrong: list[str] = []
    config = node.config
    read_only = node.replica.machine.config.read_only
    for name, value in given.items():
        try:
            if name == _READ_ONLY:
                read_only = FLAG.parse(_text(value))
            elif ALIASES.get(name) in node.replica.settings:
                raise ValueError("is set for the whole cluster: `qsync config set` changes it")  # noqa: TRY301 - gathered below
            elif name in DYNAMIC:
                config = _changed(config, ALIASES[name], value)
            else:
                _check_fixed(node, name, value)
        except ValueError as error:
            wrong.append(f"{name}: {_shown(value)} {error}")
    if not wrong:
        wrong += [
            f"{_NAMES.get(one.key, one.key)}: {one.value} {one.reason}"
            for one in inconsistencies(config, config.places)
        ]
    if _QUORUM in given and not wrong:
        # A quorum above the number of voters is accepted, as in Tarantool: it confirms nothing.
        voters = len(node.replica.machine.config.voters)
        quorum = core_config(config, instance=node.identity.instance).synchro_quorum
        why = quorum.shortfall(voters)
        wrong += [] if why is None else [f"{_QUORUM}: {_shown(given[_QUORUM])} {why}"]
    if wrong:
        raise ConfigError(
            "; ".join(wrong),
            hint="nothing was changed; `box.cfg` shows what is set",
            details={"problems": wrong},
        )
    if given:
        machine = node.replica.machine
        node.config = config
        own = core_config(config, instance=node.identity.instance)
        own = replace(own, read_only=read_only, voters=machine.config.voters)
        node.replica.configure(own)
    return current(node)


def _changed(config: NodeConfig, key: str, value: object) -> NodeConfig:
    section, _, name = key.partition(".")
    old = getattr(config, section)
    kind: ValueKind[object] = next(
        each.metadata["option"].kind for each in fields(old) if each.name == name
    )
    parsed = kind.parse(_with_unit(kind, value))
    return replace(config, **{section: replace(old, **{name: parsed})})


def _with_unit(kind: ValueKind[object], value: object) -> str:
    """Give a bare number Tarantool's unit."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("is below zero")
        if not value <= _NUMBER_MAX:  # also what is no number at all
            raise ValueError("is too large")
        if kind.show(1) == units.show_duration(1):
            return units.show_duration(float(value))
        if kind.show(1) == units.show_size(1):
            return units.show_size(int(value))
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return FLAG.show(value)
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("is neither a number, a text nor a boolean")


def _check_fixed(node: NodeView, name: str, value: object) -> None:
    find = _FIXED.get(name)
    if find is None:
        known = [*DYNAMIC, _READ_ONLY, *_FIXED]
        near = nearest(name, known)
        meant = f'; did you mean "{near}"?' if near else ""
        raise ValueError(f"is for an unknown option{meant}")
    present = find(node)
    if value != present:
        raise ValueError(f"cannot be set while the node runs; it is {_shown(present)}")


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)
