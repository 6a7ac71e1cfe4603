"""Tells the proxy of a lab what its links are to be like."""

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from admin.lab.ports import LOOPBACK
from admin.links.rules import WHOLE, DirectedLink, LinkPlan, LinkRule, rule_from
from qsync.errors import ConfigError, ProtocolError, Unavailable

TIMEOUT_S = 5.0
_ANSWER_BYTES_MAX = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxiedLink:
    """How a link is. `carried`: bytes so far, both ways."""

    link: DirectedLink
    rule: LinkRule
    carried: int


class Control:
    """The line to the proxy of a plan. Each call is a connection of its own.

    Raises ConfigError for a link that the proxy does not carry; nothing is done then.
    """

    def __init__(self, plan: LinkPlan) -> None:
        self._plan = plan

    def show(self) -> list[ProxiedLink]:
        """Every link. Raises Unavailable when the proxy does not run."""
        return self._ask({})

    def set(self, links: Iterable[DirectedLink], rule: LinkRule) -> list[ProxiedLink]:
        """From now on `links` are like this."""
        wanted = [{"link": list(link), "rule": rule.as_json()} for link in self._carried(links)]
        return self._ask({"set": wanted})

    def reset(self, links: Iterable[DirectedLink]) -> list[ProxiedLink]:
        """Break the connections of these links once."""
        return self._ask({"reset": [list(link) for link in self._carried(links)]})

    def heal(self) -> list[ProxiedLink]:
        """Every link is whole again."""
        return self._ask({"heal": True})

    def _carried(self, links: Iterable[DirectedLink]) -> list[DirectedLink]:
        wanted = list(links)
        for each in wanted:
            if each not in self._plan.ports:
                raise ConfigError(
                    f"the proxy carries no link from {each.source} to {each.target}, so nothing "
                    "was done",
                    hint="nodes of `qsync lab add` have none there; name two nodes of `qsync lab "
                    "links`",
                )
        return wanted

    def _ask(self, asked: dict[str, object]) -> list[ProxiedLink]:
        try:
            place = (LOOPBACK, self._plan.control)
            with socket.create_connection(place, timeout=TIMEOUT_S) as line:
                line.sendall(json.dumps(asked).encode() + b"\n")
                answer = json.loads(_read_line(line))
        except OSError as error:
            _no_proxy(error)
        if "error" in answer:
            raise ConfigError(str(answer["error"]))
        return [
            ProxiedLink(
                link=DirectedLink(*each["link"]),
                rule=rule_from(each["rule"]),
                carried=each["carried"],
            )
            for each in answer["links"]
        ]


def spoiled(conditions: Iterable[ProxiedLink]) -> list[ProxiedLink]:
    """Those that are not whole."""
    return [each for each in conditions if each.rule != WHOLE]


def _read_line(line: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        received = line.recv(1 << 16)
        if not received or len(found) > _ANSWER_BYTES_MAX:
            raise ProtocolError("the proxy of the links hung up in the middle of an answer")
        found += received
    return found


def _no_proxy(error: OSError) -> NoReturn:
    raise Unavailable(
        f"the proxy of the links does not answer: {error}",
        hint="`qsync lab up` starts it; a lab laid out with --direct has none",
    ) from None
