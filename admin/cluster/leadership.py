"""Changes of leadership for commands and `top`: the preview in numbers, and the change itself."""

from collections.abc import Mapping
from enum import StrEnum

from admin.cluster import ask
from admin.cluster.surveys import ClusterSurvey
from qsync.wire import replies
from qsync.wire.verbs import ClearRequest, DemoteRequest, DryRunRequest, PromoteRequest


class ClusterVerb(StrEnum):
    """Changes of leadership, by the names that a node's dry run has for them."""

    PROMOTE = "promote"
    DEMOTE = "demote"
    CLEAR = "clear_synchro_queue"


def would(address: str, verb: ClusterVerb) -> dict[str, object]:
    """Return what the change would do at that node, in numbers."""
    return replies.read_map(ask.value(address, DryRunRequest(1, verb)))


def toward(plan: Mapping[str, object], heir: int, found: ClusterSurvey) -> dict[str, object]:
    """Return the numbers of a demotion with `heir` as the successor."""
    known = dict(plan)
    if known.get("leads") is False:
        if found.leader is not None and found.leader.id == heir:
            return known
        no = f"node {known.get('node')} does not lead, so it cannot hand over: promote node {heir}"
        return known | {"refused": no}
    refused = known.get("refused") or _against(heir, found, leader=known.get("node"))
    if refused:
        return known | {"refused": refused, "hands_over_to": None, "confirms": 0}
    return known | {"hands_over_to": heir, "term_after": _next(known.get("term"))}


def _against(heir: int, found: ClusterSurvey, *, leader: object) -> str | None:
    """Return the reason why a member cannot take over."""
    sample = next((each for each in found.samples if each.id == heir), None)
    if heir == leader:
        return f"node {heir} is the one that leads: name another"
    if sample is None:
        return f"node {heir} does not answer, so it would not take over in time"
    if sample.mode == "voter":
        return f"node {heir} never leads: its election mode is voter"
    if sample.recruit:
        return f"node {heir} has not caught up since its directory was empty"
    return None


def _next(term: object) -> int | None:
    return term + 1 if isinstance(term, int) else None


def in_words(numbers: Mapping[str, object], found: ClusterSurvey) -> str:
    """Describe these numbers in a sentence, with the names of members."""
    if numbers.get("refused"):
        return f"refused: {numbers['refused']}"
    words = (
        f"term {numbers.get('term')} -> {numbers.get('term_after')}, "
        f"{numbers.get('pending')} pending: confirms {numbers.get('confirms')}, "
        f"rolls back {numbers.get('rolls_back')}"
    )
    if numbers.get("leads") is False:
        return f"nothing, it does not lead: {words}"
    heir = numbers.get("hands_over_to")
    named = found.names.get(heir, f"node {heir}") if isinstance(heir, int) else None
    return f"{words}, hands over to {named}" if heir else words


def perform(address: str, verb: ClusterVerb, *, heir: int = 0, timeout: float) -> None:
    """Perform the change, and return when it is done. Raises NoAnswer if that is unknown.

    `heir`: the id of the successor of a leader that steps down; 0: a node of its choice.
    """
    match verb:
        case ClusterVerb.PROMOTE:
            ask.change(address, PromoteRequest(1, timeout), timeout=timeout)
        case ClusterVerb.DEMOTE:
            ask.change(address, DemoteRequest(1, heir, timeout), timeout=timeout)
        case ClusterVerb.CLEAR:
            ask.change(address, ClearRequest(1, timeout), timeout=timeout)
