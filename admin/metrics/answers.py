"""The HTTP requests to a node and their answers, without a connection."""

import json
from collections.abc import Callable
from typing import Final, NamedTuple

from admin.metrics import health, text
from admin.page import dress
from admin.page.look import ClusterLook
from qsync.status.record import NodeStatus, as_members

PAGE: Final = "/"
PAGE_AS_JSON: Final = "/status.json"
_JSON, _HTML = "application/json", "text/html; charset=utf-8"
_UNAUTHORIZED, _NOT_FOUND, _OUR_MISTAKE = 401, 404, 500

Status = Callable[[], NodeStatus]


class HttpAnswer(NamedTuple):
    """`kind`: the content type. `last`: the connection is closed behind it."""

    code: int
    body: bytes
    kind: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()
    last: bool = False


class HttpPages:
    """The known paths."""

    def __init__(
        self, status: Status, look: ClusterLook | None = None, *, open_health: bool = False
    ) -> None:
        """`look`: what the status page shows; without it there is none.

        `open_health`: whoever shows no token is answered at the health URLs, with a code alone.
        """
        self._status = status
        self._look = look
        self._open_health = open_health

    async def answer(self, target: str) -> HttpAnswer:
        """Return the answer to a GET of a target. Only health URLs have parameters."""
        path = target.partition("?")[0]
        if self._look is not None and path in {PAGE, PAGE_AS_JSON}:
            return await self._page(self._look, path)
        if path == "/metrics":
            return HttpAnswer(200, text.expose([self._status()]).encode(), text.CONTENT_TYPE)
        if path == "/status":
            return HttpAnswer(200, as_json(as_members(self._status())))
        found = health.answer(target, self._status())
        if found is None:
            pages = [] if self._look is None else [PAGE, PAGE_AS_JSON]
            known = [*pages, "/metrics", "/status", *health.CHECKS]
            wrong = {"error": f"there is no {target}", "there is": known}
            return HttpAnswer(_NOT_FOUND, as_json(wrong))
        return HttpAnswer(found[0], as_json(found[1]))

    def answer_stranger(self, target: str) -> HttpAnswer:
        """Return the answer without a valid token: nothing but, perhaps, a code of health."""
        found = health.answer(target, self._status()) if self._open_health else None
        if found is not None:
            return HttpAnswer(found[0], as_json({}))
        ways = [("WWW-Authenticate", "Bearer")]
        if target.partition("?")[0] == PAGE:
            # A browser cannot be told to show a bearer token; it asks for a password, which is it.
            ways.append(("WWW-Authenticate", 'Basic realm="qsync: the token is the password"'))
        wrong = {"error": "show the token: Authorization: Bearer TOKEN"}
        return HttpAnswer(_UNAUTHORIZED, as_json(wrong), headers=tuple(ways))

    async def _page(self, look: ClusterLook, target: str) -> HttpAnswer:
        """Each in a connection of its own: who keeps one open takes no room from the others."""
        found = await look.page()
        if found is None:
            wrong = {"error": "a mistake of qsync; the node's timeline has it, as a mishap"}
            return HttpAnswer(_OUR_MISTAKE, as_json(wrong), last=True)
        if target == PAGE:
            return HttpAnswer(200, found.html, _HTML, dress.HEADERS, last=True)
        return HttpAnswer(200, found.document, last=True)


def as_json(data: object) -> bytes:
    """A line of it."""
    return json.dumps(data, default=str).encode() + b"\n"
