"""Three nodes that write down what happens inside: their evidence tells when they do wrong."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

import qsync
from admin.checker.rules import catalogue
from admin.checker.rules.run import RunTables, build
from admin.checker.verdict import Result
from admin.evidence.inside import Inside, gather
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row
from qsync.core.config import CoreConfig
from qsync.core.follower import Follower
from qsync.core.messages import AppendResponse
from qsync.core.outbox import Outbox
from qsync.core.ready import Ready
from qsync.node.node import open_node
from qsync.node.system import NodeSystem
from tests.node import three as three_nodes

COUNT = 30
JUDGED = {
    "one-vote",
    "ballot-kept",
    "quorum-before-confirm",
    "vote-durable",
    "votes-suffice",
    "ack-durable",
    "reads-fresh",
    "confirm-by-acks",
    "reads-by-place",
    "same-directory",
    "promise-kept",
}


def lived(path: Path, meanwhile: Callable[[], None] = lambda: None) -> dict[str, Result]:
    """Verdicts on a short life of three nodes in this very process."""

    found = three_nodes.configs(path, node__events="true")

    async def main() -> None:
        async with AsyncExitStack() as nodes:
            nodes.enter_context(trio.fail_after(60))
            for config in found:
                await nodes.enter_async_context(open_node(config))
            addresses = [str(config.address) for config in found]
            async with qsync.connect_async(addresses, timeout=30, connect_timeout=30) as db:
                await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
                for number in range(COUNT):
                    if number == COUNT // 2:
                        meanwhile()
                    await db.space("t").replace([number])
                    await db.space("t").get([number])
                    await db.space("t").get([number], consistency="lease")

    trio.run(main)
    inside, events = gathered(path)
    assert not inside.why
    return judged(build(MANIFEST, {"events": events}))


MANIFEST = Manifest(run_id="r", source="directories", quorum=2, voters=3)


def judged(run: RunTables) -> dict[str, Result]:
    """By the invariants that look at what nodes wrote down."""
    return {
        rule.id: catalogue.verdict_of(rule, rule.find(run)).result
        for rule in catalogue.RULES
        if rule.id in JUDGED
    }


def gathered(path: Path) -> tuple[Inside, list[Row]]:
    inside = gather({n: path / f"n{n}" for n in (1, 2, 3)})
    return inside, list(inside.rows())


def ack_what_is_not_durable(patch: pytest.MonkeyPatch) -> None:
    def ack(self: Follower) -> AppendResponse | None:
        index = self.matched
        if index == self._acked and not self._ack_due:
            return None
        self._ack_due = False
        self._acked = index
        return AppendResponse(
            term=self.term,
            follower=self.config.me,
            epoch=self._epoch,
            ok=True,
            index=index,
            index_term=self.replicated_log.log.term_at(index),
            recruit=False,
        )

    patch.setattr(Follower, "ack", ack)


def speak_before_the_ballot_is_durable(patch: pytest.MonkeyPatch) -> None:
    fill = Outbox.fill

    def at_once(self: Outbox, ready: Ready, *, durable: bool) -> None:
        fill(self, ready, durable=True)

    patch.setattr(Outbox, "fill", at_once)


def confirm_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CoreConfig, "quorum", property(lambda _: 1))


def test_what_nodes_do_by_the_rules_holds(tmp_path: Path) -> None:
    assert lived(tmp_path) == dict.fromkeys(JUDGED, Result.PASS)


def test_a_promise_that_ended_while_the_machine_was_suspended_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followers elect another leader at once; by the clock of events the promise still runs."""
    slept = [5.0]
    monkeypatch.setattr(NodeSystem, "asleep", lambda _: slept[0])

    def suspend() -> None:
        slept[0] += 3600

    assert lived(tmp_path, suspend) == dict.fromkeys(JUDGED, Result.PASS)
    _, events = gathered(tmp_path)
    told = {each["floor"] for each in events if each["name"] == "slept"}
    assert told == {5_000_000_000, 3605_000_000_000}
    terms = {each["term"] for each in events if each["name"] == "leads"}
    assert len(terms) > 1


@pytest.mark.pure
@pytest.mark.parametrize(
    ("wrong", "invariant"),
    [
        (ack_what_is_not_durable, "ack-durable"),
        (speak_before_the_ballot_is_durable, "vote-durable"),
        (confirm_alone, "quorum-before-confirm"),
        (confirm_alone, "confirm-by-acks"),
    ],
)
def test_what_nodes_do_wrong_is_in_their_own_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[[pytest.MonkeyPatch], None],
    invariant: str,
) -> None:
    wrong(monkeypatch)
    assert lived(tmp_path)[invariant] is Result.FAIL
