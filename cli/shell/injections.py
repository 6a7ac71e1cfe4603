"""Tarantool's fault injections (`box.error.injection`), as faults of our own.

Some are fault points of a node; some are rules for the links of a lab, whose proxies carry the
traffic of its nodes. All others are refused, with the nearest alternative.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from admin.box.session import Box, NotSupported
from admin.links.rules import DELAY_S_MAX as LINK_DELAY_S_MAX
from admin.links.rules import WHOLE, DirectedLink, LinkRule, across
from cli.shell import arguments
from cli.shell.dataverbs import Verb
from qsync.errors import WrongOperation
from qsync.faultpoints import DELAY_S_MAX
from qsync.faults import Fault

if TYPE_CHECKING:
    from admin.lab.lab import Lab

POINTS: Final[Mapping[str, tuple[Fault, float]]] = {
    "ERRINJ_WAL_DELAY": (Fault.SLOW_FSYNC, DELAY_S_MAX),
    "ERRINJ_WAL_SYNC_DELAY": (Fault.SLOW_FSYNC, DELAY_S_MAX),
    "ERRINJ_WAL_IO": (Fault.FAIL_FSYNC, 0.0),
    "ERRINJ_WAL_WRITE": (Fault.FAIL_FSYNC, 0.0),
    "ERRINJ_WAL_WRITE_DISK": (Fault.FAIL_FSYNC, 0.0),
    "ERRINJ_WAL_ROTATE": (Fault.FAIL_FSYNC, 0.0),
}
"""Injections with a fault point of the node, and its seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkInjection:
    """A fault of all links of the node, in both directions.

    `seconds`: the value of the injection delays all traffic; else all traffic is cut while it is
    true. Nodes answer on either connection, so a fault in one direction would stop nothing.
    """

    seconds: bool = False


LINKS: Final[Mapping[str, LinkInjection]] = {
    "ERRINJ_RELAY_SEND_DELAY": LinkInjection(),
    "ERRINJ_RELAY_TIMEOUT": LinkInjection(seconds=True),
    "ERRINJ_APPLIER_READ_TX_ROW_DELAY": LinkInjection(),
}
"""Injections by the proxies between the nodes of a lab."""

_NEAREST: Final[Sequence[tuple[tuple[str, ...], str]]] = (
    (
        ("ERRINJ_RELAY_", "ERRINJ_APPLIER_", "ERRINJ_REPLICA"),
        "links break by `qsync lab cut A B` and `slow A B 200ms`",
    ),
    (("ERRINJ_WAL_", "ERRINJ_XLOG_"), "disks break by `qsync lab fault NODE`"),
    (("ERRINJ_SNAP_",), "`qsync lab kill NODE` kills a node at any moment"),
    (
        ("ERRINJ_RAFT_", "ERRINJ_ELECTION_", "ERRINJ_TXN_LIMBO_", "ERRINJ_BOX_"),
        "`qsync lab pause NODE` stops a node at any moment; `qsync sim --explore` tries all orders",
    ),
)
"""Prefixes of names, and a similar command."""
_ELSE: Final = (
    "`qsync lab fault NODE` arms fault points, `qsync lab cut A B` and `slow` break links"
)


def verbs() -> dict[str, Verb]:
    """Return the verbs by name."""
    return {
        "injection.set": _set,
        "injection.get": _get,
        "injection.info": _info,
    }


async def _set(box: Box, args: Sequence[object]) -> object:
    name, value = _name(args), arguments.at(args, 1)
    if name in LINKS:
        await _spoil(box, name, LINKS[name], value)
        return "ok"
    point, seconds = _point(name)
    if not isinstance(value, bool):
        raise WrongOperation(f"{name} is set to true or false, not {value!r}")
    await box.place.break_at(point, armed=value, seconds=seconds)
    return "ok"


async def _get(box: Box, args: Sequence[object]) -> object:
    name = _name(args)
    if name in LINKS:
        return await _spoiled(box, LINKS[name])
    point, _ = _point(name)
    return point in await _armed(box)


async def _info(box: Box, _args: Sequence[object]) -> object:
    armed = await _armed(box)
    states: dict[str, object] = {name: point in armed for name, (point, _) in POINTS.items()}
    try:
        for name, each in LINKS.items():
            states[name] = await _spoiled(box, each)
    except NotSupported:
        pass  # not a lab, so there are no proxies with rules
    return {name: {"state": state} for name, state in states.items()}


def _name(args: Sequence[object]) -> str:
    return arguments.text(arguments.at(args, 0), "the name of an injection")


def _point(name: str) -> tuple[Fault, float]:
    found = POINTS.get(name)
    if found is None:
        nearest = next((told for starts, told in _NEAREST if name.startswith(starts)), _ELSE)
        raise NotSupported(
            f"box.error.injection has no {name}: nodes break at places of their own",
            hint=f"{nearest}; by these names: {', '.join((*POINTS, *LINKS))}",
        )
    return found


async def _armed(box: Box) -> set[object]:
    """The armed fault points."""
    found = await box.info_at("faults")
    listed = found if isinstance(found, list) else []
    return {each["point"] for each in listed if each["left"] != 0}


async def _spoil(box: Box, name: str, what: LinkInjection, value: object) -> None:
    """Set the rule of the links, or heal them."""
    right = isinstance(value, int | float) if what.seconds else isinstance(value, bool)
    if not right or (isinstance(value, bool) and what.seconds):
        kind = "a number of seconds" if what.seconds else "true or false"
        raise WrongOperation(f"{name} is set to {kind}, not {value!r}")
    assert isinstance(value, bool | int | float)
    if what.seconds and not 0 <= value <= LINK_DELAY_S_MAX:
        raise WrongOperation(f"{name} is 0 to {LINK_DELAY_S_MAX:g} seconds, not {value:g}")
    rule = LinkRule(delay=float(value)) if what.seconds else LinkRule(cut=bool(value))
    lab = await _lab(box)
    await box.place.aside(lab.control.set, _links(lab, box), rule)


async def _spoiled(box: Box, what: LinkInjection) -> object:
    """Return the value of the injection; false or 0 for links with other faults."""
    lab = await _lab(box)
    mine = set(_links(lab, box))
    rules = [each.rule for each in await box.place.aside(lab.control.show) if each.link in mine]
    first = rules[0] if rules else WHOLE
    if what.seconds:
        return first.delay
    return bool(rules) and all(each.cut for each in rules)


def _links(lab: "Lab", box: Box) -> list[DirectedLink]:
    return across([each.name for each in lab.nodes], [box.name], [], "both")


async def _lab(box: Box) -> "Lab":
    """The lab of the node: the folder of its directory. Raises NotSupported."""
    from admin.lab import lab as labs  # noqa: PLC0415 - only here
    from admin.lab import names as lab_names  # noqa: PLC0415 - the same

    options = await box.node.options({})
    there = Path(str(options["work_dir"])).parent
    if lab_names.exists(there):
        found = labs.load(there)
        names = [each.name for each in found.nodes]
        if found.cluster == options["replicaset_uuid"] and box.name in names and found.links:
            return found
    raise NotSupported(
        f"links of {box.name} cannot be broken: it is not in a lab with proxies on this machine",
        hint="`qsync lab up` makes one; elsewhere the network itself is to be broken",
    )
