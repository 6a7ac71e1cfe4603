"""Scopes in which a majority is lost, and a cluster is recovered from one survivor: M8."""

from qsync.member import MemberRole
from qsync.record import Instance
from qsync.sim.explore.members import adding
from qsync.sim.explore.scope import simple_scope

RECOVERIES = (
    simple_scope(
        name="forced-recovery",
        claim="a recovered cluster keeps all that its survivor acked and accepts no node of the "
        "old cluster, which may go on",
        prelude="elect 1",
        bounds={"forces": 1, "writes": 1, "campaigns": 1},
        surviving=frozenset({3}),
        campaigning=frozenset({2, 3}),
        reaches=frozenset({"forced", "elected", "told committed", "refused a foreign cluster"}),
        kills=frozenset({"generation_drops_pending", "generations_meet", "generation_keeps_terms"}),
    ),
    simple_scope(
        name="forced-recovery-joined",
        claim="a node of the old cluster with an empty disk joins the recovered one and votes "
        "there",
        prelude="elect 1; only 1 3; put 1 a; force 3; elect 3; all",
        bounds={"wipes": 1, "changes": 1, "campaigns": 1, "writes": 1},
        crashing=frozenset({1, 2}),
        campaigning=frozenset({1, 2}),
        changes=(
            adding(1, MemberRole.VOTER, Instance(2)),
            adding(2, MemberRole.VOTER, Instance(2)),
        ),
        reaches=frozenset(
            {"wiped", "snapshot_installed", "configuration", "elected", "told committed"}
        ),
        kills=frozenset({"generations_meet", "generation_keeps_voters"}),
    ),
    simple_scope(
        name="forced-recovery-twice",
        claim="two clusters recovered from one, by two operators, never exchange messages",
        prelude="elect 1; only 1 3; put 1 a; force 3; all",
        bounds={"forces": 1, "campaigns": 2, "writes": 1},
        surviving=frozenset({1, 2}),
        reaches=frozenset({"forced", "elected", "told committed", "refused a foreign cluster"}),
        kills=frozenset({"generations_meet"}),
    ),
)
