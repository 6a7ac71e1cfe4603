"""One table: which right each verb takes. A verb without a row cannot be served.

It is looked up where a client's question arrives, before anything is done for it. Writes are
judged by their operations (`qsync.data.needs`), where they are executed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from qsync.data.needs import of_operations
from qsync.errors import AccessDenied
from qsync.rights import Need, Privilege
from qsync.wire import verbs
from qsync.wire.verbs import VERB_OF, Name, Verb

Needs = Sequence[Need]


class VerbRight(NamedTuple):
    """`words`: for people. `needs`: of a request of that verb, by the user who asks."""

    words: str
    needs: Callable[[str, verbs.Request], Needs]


def _just(privilege: Privilege) -> VerbRight:
    return VerbRight(privilege.value, lambda _, __: [Need(privilege)])


def _on(privilege: Privilege, space: Name | None) -> Need:
    return Need(privilege, space)


def _rows(user: str, request: verbs.Request) -> Needs:
    """A read of rows; what the asking transaction would write counts as written."""
    assert isinstance(request, verbs.RowsRequest)
    ops = () if isinstance(request, verbs.GetRequest) else request.ops
    return [_on(Privilege.READ, request.space), *of_operations(user, ops)]


def _digest(_: str, request: verbs.Request) -> Needs:
    assert isinstance(request, verbs.DigestRequest)
    return [_on(Privilege.READ, request.space)]


def _changes(_: str, request: verbs.Request) -> Needs:
    assert isinstance(request, verbs.ChangesRequest)
    return [_on(Privilege.READ, request.space)]


def _options(_: str, request: verbs.Request) -> Needs:
    assert isinstance(request, verbs.OptionsRequest)
    return [Need(Privilege.SETTINGS if request.given else Privilege.SESSION)]


def _dry_run(_: str, request: verbs.Request) -> Needs:
    assert isinstance(request, verbs.DryRunRequest)
    return [Need(_OPERATIONS.get(request.what, Privilege.SUPER))]


def _rights(user: str, request: verbs.Request) -> Needs:
    """Everybody may know his own; also who is called what stands for everybody, but no more."""
    assert isinstance(request, verbs.RightsRequest)
    own = request.name is None or request.name == user != verbs.EVERYBODY
    return [Need(Privilege.SESSION if own else Privilege.AUDIT)]


_OPERATIONS: Final = {
    "promote": Privilege.PROMOTE,
    "demote": Privilege.DEMOTE,
    "clear_synchro_queue": Privilege.CLEAR,
}
_READS: Final = VerbRight("read on the space", _rows)

VERB_RIGHTS: Final[Mapping[Verb, VerbRight]] = {
    Verb.PING: _just(Privilege.SESSION),
    Verb.SCHEMA: VerbRight(
        "session; it tells of spaces on which anything was granted", lambda _, __: []
    ),
    Verb.WRITE: VerbRight("what its operations take", lambda _, __: []),
    Verb.GET: _READS,
    Verb.SELECT: _READS,
    Verb.COUNT: _READS,
    Verb.STATUS: _just(Privilege.SESSION),
    Verb.INFO: _just(Privilege.SESSION),
    Verb.PROMOTE: _just(Privilege.PROMOTE),
    Verb.DEMOTE: _just(Privilege.DEMOTE),
    Verb.CLEAR: _just(Privilege.CLEAR),
    Verb.ROLLBACK_QUEUE: _just(Privilege.CLEAR),
    Verb.LOG: _just(Privilege.DUMP),
    Verb.DIGEST: VerbRight("read on the space, or everywhere without one", _digest),
    Verb.LOST: _just(Privilege.SESSION),
    Verb.DRY_RUN: VerbRight("that of the operation", _dry_run),
    Verb.TX_GET: VerbRight("read on the space, and what its operations take", _rows),
    Verb.WATCH: _just(Privilege.SESSION),
    Verb.CHANGES: VerbRight("read on the space, or everywhere without one", _changes),
    Verb.OPTIONS: VerbRight("session to see them, settings to change them", _options),
    Verb.SNAPSHOT: _just(Privilege.BACKUP),
    Verb.TRACE: _just(Privilege.TRACE),
    Verb.FAULT: _just(Privilege.FAULT),
    Verb.PACKED: _just(Privilege.DUMP),
    Verb.CHANGE_MEMBER: _just(Privilege.MEMBER),
    Verb.SNAPSHOT_READ: _just(Privilege.BACKUP),
    Verb.RIGHTS: VerbRight("session for one's own, audit for those of others", _rights),
    Verb.RELOAD: _just(Privilege.SETTINGS),
}


def check_whole() -> None:
    """Every verb has its row. A node looks when it starts. Raises AssertionError."""
    lacking = set(Verb) - VERB_RIGHTS.keys()
    assert not lacking, lacking


def needs_of(user: str, request: verbs.Request) -> Needs:
    """Return the rights that a request needs, besides that to log in. Raises AccessDenied."""
    right = VERB_RIGHTS.get(verb_of(request))
    if right is None:
        raise AccessDenied("there is no row for it in the table of rights")
    return right.needs(user, request)


def verb_of(request: verbs.Request) -> Verb:
    """Return the verb of a request."""
    if isinstance(request, verbs.PlainRequest):
        return request.verb
    return VERB_OF[type(request)]
