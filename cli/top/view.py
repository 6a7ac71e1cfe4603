"""The choices of the user at the screen, and the effect of keys on them."""

from dataclasses import dataclass, replace
from enum import StrEnum

from admin.cluster.leadership import ClusterVerb
from admin.cluster.picture import ClusterPicture


class Page(StrEnum):
    """The panels of the lower part of the screen; the wide layout has most of them at once."""

    EVENTS = "events"
    DETAIL = "detail"
    MATRIX = "matrix"
    LIMBO = "limbo"
    HISTORY = "history"
    FINDINGS = "findings"
    HELP = "help"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameConfirmation:
    """A question whose answer is the name of the node, typed out."""

    verb: ClusterVerb
    node: str
    consequence: str
    typed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """`selected`: a replica id, 0 for none. `filter` None: not filtering; `typing`: into it."""

    selected: int = 0
    page: Page = Page.EVENTS
    frozen: bool = False
    read_only: bool = False
    replaying: bool = False
    ask: NameConfirmation | None = None
    filter: str = ""
    typing: bool = False
    message: str = ""
    quitting: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """Find out what a verb would do, to ask about it."""

    verb: ClusterVerb
    node: str


@dataclass(frozen=True, slots=True)
class Do:
    """It was confirmed: do it."""

    verb: ClusterVerb
    node: str


@dataclass(frozen=True, slots=True)
class Save:
    """Write the screen to a file."""


@dataclass(frozen=True, slots=True)
class ToggleRecording:
    """Begin to record, or stop."""


@dataclass(frozen=True, slots=True)
class Seek:
    """Move in a replay, by this many frames."""

    by: int


Wish = Preview | Do | Save | ToggleRecording | Seek
_PAGES = {
    "e": Page.EVENTS,
    "x": Page.MATRIX,
    "l": Page.LIMBO,
    "h": Page.HISTORY,
    "w": Page.FINDINGS,
    "?": Page.HELP,
}
_VERBS = {"p": ClusterVerb.PROMOTE, "d": ClusterVerb.DEMOTE, "c": ClusterVerb.CLEAR}
_SEEKS = {"left": -1, "right": 1, "pageup": -20, "pagedown": 20, "home": -(1 << 30), "end": 1 << 30}
FILTER_CHARACTERS_MAX = 40


def press(view: ViewState, key: str, picture: ClusterPicture) -> tuple[ViewState, Wish | None]:
    """One key: a character, or a name such as `up`, `enter`, `escape`."""
    view = replace(view, message="")
    if view.ask is not None:
        return _answer(view, view.ask, key)
    if view.typing:
        return _type(view, key), None
    if key in {"q", "ctrl-c"}:
        return replace(view, quitting=True), None
    if key in {"j", "down", "k", "up"}:
        return _move(view, 1 if key in {"j", "down"} else -1, picture), None
    if key == "enter":
        return _open(view, picture), None
    if key == "escape":
        return replace(view, page=Page.EVENTS, filter=""), None
    if key in _PAGES:
        page = _PAGES[key]
        return replace(view, page=Page.EVENTS if view.page is page else page), None
    return _act(view, key, picture)


def _act(view: ViewState, key: str, picture: ClusterPicture) -> tuple[ViewState, Wish | None]:
    if key == " ":
        return replace(view, frozen=not view.frozen), None
    if key == "/":
        return replace(view, typing=True, page=Page.EVENTS, filter=""), None
    if key == "s":
        return view, Save()
    if key == "r":
        if view.replaying:
            return replace(view, message="this is a replay already"), None
        return view, ToggleRecording()
    if key in _SEEKS and view.replaying:
        return replace(view, frozen=True), Seek(_SEEKS[key])
    if key in _VERBS:
        return _wish(view, _VERBS[key], picture)
    return view, None


def _wish(
    view: ViewState, verb: ClusterVerb, picture: ClusterPicture
) -> tuple[ViewState, Wish | None]:
    if view.replaying:
        return replace(view, message="the past cannot be changed"), None
    if view.read_only:
        return replace(view, message="--read-only: nothing is changed from here"), None
    leader = picture.leader
    if verb is ClusterVerb.PROMOTE:
        node = dict(picture.rows()).get(view.selected)
        if node is None:
            return replace(view, message="select a node first: j and k, or the arrows"), None
    elif leader is None:
        return replace(view, message=f"no leader, so there is nothing to {verb}"), None
    else:
        node = leader.name
    return replace(view, message=f"asking {node} what that would do ..."), Preview(verb, node)


def _answer(view: ViewState, ask: NameConfirmation, key: str) -> tuple[ViewState, Wish | None]:
    if key in {"escape", "ctrl-c"}:
        return replace(view, ask=None, message=f"{ask.verb} {ask.node}: not done"), None
    if key == "enter":
        if ask.typed == ask.node:
            return replace(view, ask=None, message=f"{ask.verb} {ask.node} ..."), Do(
                ask.verb, ask.node
            )
        words = f"{ask.verb} {ask.node}: not done, since {ask.typed!r} was typed"
        return replace(view, ask=None, message=words), None
    typed = _typed(ask.typed, key)
    return replace(view, ask=replace(ask, typed=typed)), None


def _type(view: ViewState, key: str) -> ViewState:
    if key == "escape":
        return replace(view, typing=False, filter="")
    if key in {"enter", "ctrl-c"}:
        return replace(view, typing=False)
    return replace(view, filter=_typed(view.filter, key))


def _typed(text: str, key: str) -> str:
    if key == "backspace":
        return text[:-1]
    return (text + key)[:FILTER_CHARACTERS_MAX] if len(key) == 1 else text


def _move(view: ViewState, by: int, picture: ClusterPicture) -> ViewState:
    ids = [id for id, _ in picture.rows()]
    if not ids:
        return view
    if view.selected not in ids:
        return replace(view, selected=ids[0] if by > 0 else ids[-1])
    at = max(0, min(len(ids) - 1, ids.index(view.selected) + by))
    return replace(view, selected=ids[at])


def _open(view: ViewState, picture: ClusterPicture) -> ViewState:
    if view.page is Page.DETAIL:
        return replace(view, page=Page.EVENTS)
    first = next((id for id, _ in picture.rows()), 0)
    return replace(view, page=Page.DETAIL, selected=view.selected or first)
