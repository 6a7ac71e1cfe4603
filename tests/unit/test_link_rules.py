"""What may be wrong with a link, as data; and the pairs that people name."""

import pytest

from admin.links.rules import (
    WHOLE,
    DirectedLink,
    LinkPlan,
    LinkRule,
    across,
    bridge,
    lay_out,
    links_between,
    ports_needed,
    ring,
    rule_from,
)
from qsync.errors import ConfigError

NODES = ["n1", "n2", "n3"]


def test_a_pair_is_spoiled_both_ways_unless_told_otherwise() -> None:
    assert links_between(NODES, "n1", "n2") == [DirectedLink("n1", "n2"), DirectedLink("n2", "n1")]
    assert links_between(NODES, "n1", "n2", one_way=True) == [DirectedLink("n1", "n2")]


def test_one_node_alone_means_its_links_with_all_others() -> None:
    found = links_between(NODES, "n2")
    assert len(found) == 4
    assert all("n2" in link for link in found)


@pytest.mark.parametrize(("one", "other"), [("n9", None), ("n1", "n9"), ("n1", "n1")])
def test_a_link_that_is_none_is_refused(one: str, other: str | None) -> None:
    with pytest.raises(ConfigError):
        links_between(NODES, one, other)


@pytest.mark.parametrize(
    "rule",
    [
        WHOLE,
        LinkRule(cut=True),
        LinkRule(delay=0.2, jitter=0.1, stall=0.5, rate=4096),
        LinkRule(flap=2),
        LinkRule(half_open=True, flip=0.5),
    ],
)
def test_a_rule_is_the_same_after_a_journey_as_json(rule: LinkRule) -> None:
    assert rule_from(rule.as_json()) == rule


@pytest.mark.parametrize(
    "wrong",
    [
        {"delay": -1},
        {"delay": 1e9},
        {"stall": 2},
        {"flip": 2},
        {"half_open": 1},
        {"rate": 1},
        {"cut": 1},
        {"lag": 1},
    ],
)
def test_a_wrong_rule_is_refused_with_its_name(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        rule_from(wrong)


def test_a_flapping_link_is_cut_first_and_then_whole_in_turn() -> None:
    rule = LinkRule(flap=2.0)
    assert [rule.cut_at(at) for at in (0.0, 1.9, 2.0, 3.9, 4.0)] == [True, True, False, False, True]


def test_every_ordered_pair_has_a_port_and_the_plan_survives_its_file() -> None:
    ports = range(20_000, 20_000 + ports_needed(3))
    plan = lay_out(NODES, iter(ports))
    assert len(plan.ports) == 6
    assert sorted([plan.control, *plan.ports.values()]) == list(ports)
    assert LinkPlan.from_json(plan.as_json()) == plan


FIVE = ["n1", "n2", "n3", "n4", "n5"]


def test_a_group_is_cut_from_the_others_and_not_in_itself() -> None:
    cut = across(FIVE, ["n1", "n2"], (), "both")
    assert len(cut) == len(set(cut)) == 12
    assert DirectedLink("n1", "n2") not in cut
    assert across(FIVE, ["n1"], ["n2"], "out") == [DirectedLink("n1", "n2")]
    assert across(FIVE, ["n1"], ["n2"], "in") == [DirectedLink("n2", "n1")]
    assert len(across(FIVE, FIVE, FIVE, "both")) == 20


def test_in_a_ring_everybody_keeps_two_neighbours_and_over_a_bridge_one_sees_all() -> None:
    cut = ring(FIVE)
    assert all(sum(DirectedLink(one, two) in cut for two in FIVE) == 2 for one in FIVE)
    assert set(ring(FIVE[:3])) == {DirectedLink("n1", "n2"), DirectedLink("n2", "n1")}
    bridged = bridge(FIVE, "n3")
    assert not any("n3" in link for link in bridged)
    assert len(bridged) == 8
