"""Features of the log: whatever order nodes are upgraded in, nobody has what it cannot read."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

import pytest

from qsync import features, upgrading
from qsync.consumer import consumer_of
from qsync.core.machine import Machine
from qsync.data import tuples
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.errors import WrongFormat
from tests.scenarios import acts
from tests.scenarios.stage import Stage

RUNS, STEPS = 100, 18
HELD = "a node holds what it does not know"


class Upgraded:
    """Three nodes and one that comes to join, restarted with other releases by the dice."""

    def __init__(self, seed: int) -> None:
        self.stage = Stage()
        self.dice = Random(seed)
        self.do("cluster 3")
        self.do("elect 1")
        self.enabled = 0

    def do(self, line: str) -> None:
        """One command of a transcript."""
        name, *words = line.split()
        acts.ACTS[name](self.stage, words)

    def step(self) -> None:
        """One of them is upgraded, or goes back, or leads, or comes, or goes on."""
        me, running = self.dice.randint(1, 3), [int(each.me) for each in self.stage.running]
        match self.dice.choice(["old", "new", "new", "new", "elect", "join", "beat", "beat"]):
            case "old" | "new" as release:
                if me in running:
                    self.do(f"crash {me}")
                if len(self.stage.running) < 2:
                    self.do("deliver")
                self.do(f"restart {me} features={'x' if release == 'new' else ''}")
            case "elect" if len(running) > 1:
                self.do(f"elect {self.dice.choice(running)}" if me in running else "deliver")
            case "join":
                self._join(running)
            case _:
                for actor in self.stage.running:
                    if actor.machine.leader is not None:
                        self.do(f"beat {actor.me}")
        self.do("deliver")
        for actor in self.stage.running:
            actor.core.absorb()
            held = features.enabled(actor.core.settings)
            self.enabled += bool(held)
            assert held <= actor.config.features, HELD

    def _join(self, running: list[int]) -> None:
        """A newcomer is there, and then a learner."""
        if 4 not in running:
            self.do(f"newcomer 4 features={self.dice.choice(['', 'x'])}")
            return
        for actor in [each for each in self.stage.running if each.machine.leader]:
            self.do(f"member {actor.me} add 4 learner")


def upgrades() -> int:
    """How often a feature was seen enabled."""
    enabled = 0
    for seed in range(RUNS):
        run = Upgraded(seed)
        for _ in range(STEPS):
            run.step()
        enabled += run.enabled
    return enabled


def test_no_order_of_upgrades_gives_a_node_what_it_cannot_read() -> None:
    assert upgrades() > RUNS / 10


def _only_members(machine: Machine, wanted: frozenset[str]) -> list[str]:
    """A node that is not a member is not asked."""
    followed = machine.replicated_log.configurations.followed
    assert followed is not None
    ids = [f"node {int(each.replica)} " for each in followed.members]
    return [why for why in HONEST(machine, wanted) if why.startswith(tuple(ids))]


def _by_majority(machine: Machine, wanted: frozenset[str]) -> list[str]:
    """Most are enough."""
    return [] if len(HONEST(machine, wanted)) <= len(machine.config.voters) // 2 else ["too few"]


def _all_are_admitted(_settings: Mapping[str, str], _who: str, _known: frozenset[str]) -> None:
    """Nobody is asked what it knows when it connects."""


HONEST = upgrading.unready
MUTANTS: dict[str, tuple[str, Callable[..., object]]] = {
    "only_members": ("unready", _only_members),
    "by_majority": ("unready", _by_majority),
    "all_are_admitted": ("admit", _all_are_admitted),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_rule_gives_some_node_what_it_cannot_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, broken = MUTANTS[name]
    monkeypatch.setattr(upgrading, where, broken)
    monkeypatch.setattr(upgrading, "refuse_unknown", lambda *_: None)
    with pytest.raises(AssertionError, match=HELD):
        upgrades()


def test_a_node_that_is_down_is_not_said_to_lack_a_feature() -> None:
    stage = Stage()
    for line in ("cluster 3", "crash 3", "restart 2 features=x", "restart 1 features=x", "elect 1"):
        name, *words = line.split()
        acts.ACTS[name](stage, words)
    machine, new = stage.actor("1").machine, frozenset({"x"})
    assert upgrading.lacking(machine, new) == []
    assert upgrading.unheard(machine) == ["node 3 was not heard yet, so nobody knows its features"]
    assert upgrading.unready(machine, new) == upgrading.unheard(machine)


def test_consumers_have_owners_once_there_are_users_and_every_node_knows_of_owners() -> None:
    """An older leader would write their rows without the owner, and let everybody move them."""
    run = Upgraded(1)
    for line in ("crash 3", "restart 3 features=users", "elect 1", "deliver", "beat 1", "deliver"):
        run.do(line)
    leader = run.stage.actor("1").core
    assert features.enabled(leader.settings) == set(), "there are no users yet"
    leader.submit(None, Request(ops=[[Op.ENABLE_USERS, bytes(32)], [Op.CREATE_USER, "ann", None]]))
    for line in ("deliver", "beat 1", "deliver"):
        run.do(line)
    assert features.enabled(leader.settings) == {features.USERS}, "node 3 would not read them"
    assert upgrading.lacking(leader.machine, frozenset({features.CONSUMER_OWNERS})) == [
        "node 3 does not know feature consumer_owners"
    ]
    register: list[object] = [Op.REGISTER_CONSUMER, "mailer", "subscriber", None, ""]
    (row,) = leader.submit(None, Request(ops=[register], user="ann")).results
    assert row is not None
    assert consumer_of(tuples.stored(row)).owner == ""
    run.do("crash 3")
    run.do(f"restart 3 features={features.text_of(features.KNOWN)}")
    for line in ("deliver", "beat 1", "deliver"):
        run.do(line)
    for actor in run.stage.running:
        actor.core.absorb()
        assert features.enabled(actor.core.settings) == {features.USERS, features.CONSUMER_OWNERS}
    register[1] = "hers"
    (row,) = leader.submit(None, Request(ops=[register], user="ann")).results
    assert row is not None
    assert consumer_of(tuples.stored(row)).owner == "ann"
    with pytest.raises(WrongFormat, match="feature consumer_owners"):
        upgrading.refuse_unknown(
            replace(leader.machine.config, features=frozenset({features.USERS})), leader.settings
        )


def test_what_is_about_another_feature_is_due_where_that_is_used() -> None:
    known = features.KNOWN | {"x"}
    assert features.due(known, ()) == {"x"}
    assert features.due(known, {features.USERS}) == {"x", features.CONSUMER_OWNERS}
    assert features.due(known, known) == set()
    assert features.due({features.USERS}, {features.USERS}) == set()


@pytest.mark.parametrize("text", ["y,x", "x,x", "x,", "a b", ","])
def test_a_list_of_features_has_one_form(text: str) -> None:
    with pytest.raises(ValueError, match="list of features"):
        features.parse(text)


def test_a_handshake_tells_release_and_features() -> None:
    words = ("secret", *features.words_of({"b", "a"}, "0.2.0"))
    assert words == ("secret", "release:0.2.0", "log:a", "log:b")
    assert features.told_in(words) == {"a", "b"}
    assert features.release_of(words) == "0.2.0"
    assert features.release_of(()) == ""
    assert features.parse(features.text_of({"b", "a"})) == {"a", "b"}
