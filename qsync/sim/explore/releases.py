"""Scopes of nodes of different releases: log features that not all of them can read."""

from qsync.sim.explore.scope import Scope

RELEASES = (
    Scope(
        name="features",
        claim="a feature is enabled only when every node that may be sent the log knows it, with "
        "upgrades and downgrades of nodes at any moment",
        prelude="elect 2",
        bounds={"upgrades": 1, "downgrades": 1, "heartbeats": 1, "campaigns": 1},
        older=frozenset({1}),
        campaigning=frozenset({3}),
        beating=frozenset({2}),
        ordered=True,
        slow_disk=False,
        records=False,
        whole=True,
        reaches=frozenset({"upgraded", "downgrade refused", "feature enabled", "elected"}),
        kills=frozenset({"feature_enabled_alone", "outdated_is_sent_on"}),
    ),
)
