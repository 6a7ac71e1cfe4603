"""Scopes with changes of voters: membership.md, M1 to M4 and M10."""

from qsync.member import MemberRole
from qsync.sim.explore.members import adding, becoming, removing
from qsync.sim.explore.scope import simple_scope

MEMBERSHIPS = (
    simple_scope(
        name="members-one-two",
        claim="a cluster of one adds a second voter: nothing is confirmed before both have it",
        prelude="elect 1",
        bounds={"changes": 1, "writes": 1, "crashes": 1, "campaigns": 1},
        nodes=2,
        founders=1,
        changes=(adding(2),),
        reaches=frozenset({"configuration", "elected", "crash", "told committed"}),
        kills=frozenset({"quorum_of_former_configuration"}),
    ),
    simple_scope(
        name="newcomer-votes",
        claim="a node that does not know yet that it is a voter still votes for the node that "
        "added it",
        prelude="elect 1; only 1; add 1 2 voter; crash 1; all",
        bounds={"campaigns": 1},
        nodes=2,
        founders=1,
        changes=(adding(2),),
        campaigning=frozenset({1}),
        reaches=frozenset({"elected", "confirmed"}),
        kills=frozenset({"votes_only_as_voter"}),
    ),
    simple_scope(
        name="removed-campaigns",
        claim="a voter whose removal is only in its own log may be elected, as no other log is as "
        "new",
        prelude="elect 1; only 1; remove 1 1; crash 1; all",
        bounds={"campaigns": 1},
        nodes=2,
        changes=(removing(1),),
        campaigning=frozenset({1}),
        reaches=frozenset({"elected", "confirmed"}),
        kills=frozenset({"removed_gives_up"}),
    ),
    simple_scope(
        name="leader-leaves",
        claim="a leader that removes itself keeps leading, does not count itself, and hands over",
        prelude="elect 1",
        bounds={"changes": 1, "writes": 1, "crashes": 1, "campaigns": 1},
        nodes=2,
        changes=(removing(1),),
        reaches=frozenset({"configuration", "leaving", "told committed", "elected"}),
        kills=frozenset({"removed_counts_itself", "removed_leads_on"}),
    ),
    simple_scope(
        name="change-rolled-back",
        claim="a ROLLBACK of a change is in force when it is appended, and is decided like a "
        "change",
        prelude="elect 1",
        bounds={"changes": 2, "rollbacks": 1, "campaigns": 1, "crashes": 1},
        nodes=2,
        changes=(removing(1), removing(2)),
        crashing=frozenset({1}),
        reaches=frozenset({"configuration", "rollback", "elected", "confirmed a rollback"}),
        kills=frozenset(
            {
                "rollback_of_change_undecided",
                "change_back_when_confirmed",
                "rolled_back_stays_in_force",
            }
        ),
    ),
    simple_scope(
        name="two-changes",
        claim="two of three voters are removed, one after the other, over a take-over",
        prelude="elect 1",
        bounds={"changes": 2, "campaigns": 1},
        alike=((2, 3),),
        changes=(removing(3), removing(2)),
        campaigning=frozenset({2, 3}),
        reaches=frozenset({"configuration", "elected", "confirmed", "cut"}),
        kills=frozenset({"two_voters_at_once", "change_undecided", "configured_when_confirmed"}),
    ),
    simple_scope(
        name="learner",
        claim="a learner has the log and counts in no quorum, also over a take-over",
        prelude="elect 1",
        bounds={"changes": 1, "writes": 1, "campaigns": 1},
        founders=2,
        changes=(adding(3, MemberRole.LEARNER),),
        campaigning=frozenset({2}),
        reaches=frozenset({"configuration", "elected", "told committed"}),
        kills=frozenset({"learner_counts"}),
    ),
    simple_scope(
        name="learner-voter",
        claim="a learner becomes a voter and counts from that entry on, also over a take-over",
        prelude="elect 1; add 1 3 learner",
        bounds={"changes": 1, "writes": 1, "campaigns": 1},
        founders=2,
        changes=(becoming(3, MemberRole.VOTER),),
        campaigning=frozenset({2}),
        reaches=frozenset({"configuration", "elected", "told committed"}),
        kills=frozenset({"learner_counts"}),
    ),
)

MEMBERSHIPS_LONG = (
    simple_scope(
        name="two-leaders-change",
        claim="the PROMOTE between two leaders keeps their changes apart; four nodes",
        prelude="elect 1; only 1; remove 1 2; only 2 3 4; hold 3 2; hold 4 2; elect 2; all",
        bounds={"changes": 1, "campaigns": 1},
        nodes=4,
        alike=((3, 4),),
        changes=(removing(1),),
        campaigning=frozenset({1}),
        reaches=frozenset({"configuration", "elected", "cut"}),
        kills=frozenset({"change_before_promote"}),
    ),
    simple_scope(
        name="in-and-out",
        claim="a fourth voter is added and another one removed, over a take-over",
        prelude="elect 1",
        bounds={"changes": 2, "campaigns": 1},
        nodes=4,
        founders=3,
        changes=(adding(4), removing(3)),
        campaigning=frozenset({2}),
        reaches=frozenset({"configuration", "elected", "cut"}),
        kills=frozenset({"quorum_of_former_configuration"}),
    ),
)
