"""What a node has stored of its spaces is what its log makes of them."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import DigestRow, RunTables
from admin.evidence.tables import REPLAY, SNAPSHOT

STORED = "stored-replayed"


def find(run: RunTables) -> RuleFinding:
    """Two digests of a space of one node at one index: of the stored rows, and of the log alone."""
    stored = {_place(each): each for each in run.digests if each.made == SNAPSHOT}
    found = RuleFinding(lacks="" if stored else "no stored rows were compared with the log")
    for replayed in run.digests:
        each = stored.get(_place(replayed))
        if replayed.made != REPLAY or each is None:
            continue
        found.facts += 1
        if each.digest != replayed.digest:
            message = (
                f"space {each.space} as node {each.node} has stored it at {each.index} is "
                f"{each.digest}; its log makes {replayed.digest}"
            )
            rows = (each.shows(), replayed.shows())
            found.broken(STORED, message, rows, node=each.node, index=each.index)
    return found


def _place(each: DigestRow) -> tuple[int, int, int, str]:
    return (each.node, each.generation, each.index, each.space)
