"""Scopes of trimmed logs, and of snapshots for nodes that need the trimmed entries."""

from qsync.sim.explore.scope import Scope, simple_scope

SNAPSHOTS = (
    simple_scope(
        name="snapshot-receipts",
        claim="no node serves a read for the receipt of a lost write, even if its place was "
        "trimmed",
        prelude="elect 1; only 1; async 1 p; only 2 3; elect 2; put 2 a; all; connect 2 1; beat 2",
        bounds={"trims": 2, "receipts": 2, "crashes": 1},
        crashing=frozenset({1}),
        reading=frozenset({1}),
        trimming=frozenset({1}),
        reaches=frozenset({"trimmed", "crash", "receipt served"}),
        kills=frozenset({"trimmed_terms_forgotten"}),
    ),
    simple_scope(
        name="snapshot-votes",
        claim="a node that trimmed its whole log still compares its last entry with a candidate's",
        prelude="elect 1; only 1 2; put 1 a; all",
        bounds={"trims": 2, "campaigns": 1, "crashes": 1},
        campaigning=frozenset({3}),
        crashing=frozenset({1, 2}),
        trimming=frozenset({1, 2}),
        reaches=frozenset({"trimmed", "crash"}),
        kills=frozenset({"trimmed_is_empty"}),
    ),
    simple_scope(
        name="snapshot-newcomer",
        claim="a new directory starts from a snapshot and replaces a voter",
        prelude="elect 1; put 1 a; trim 1; trim 1",
        bounds={"wipes": 1, "replaces": 1, "campaigns": 1},
        crashing=frozenset({3}),
        campaigning=frozenset({2}),
        reaches=frozenset({"wiped", "configuration", "snapshot_installed", "elected"}),
        kills=frozenset({"two_changes_in_one"}),
    ),
    Scope(
        name="snapshot-late",
        claim="a late snapshot drops nothing that was acked since",
        prelude="elect 1; hold 1 2; stall 3; put 1 a; lose 1 3; put 1 b; flow 3; trim 1; trim 1; "
        "pass 3; beat 1",
        bounds={"campaigns": 1},
        campaigning=frozenset({3}),
        slow_disk=False,
        records=False,
        reaches=frozenset({"snapshot_installed", "told committed", "elected"}),
        kills=frozenset({"snapshot_drops_log"}),
    ),
    Scope(
        name="snapshot-again",
        claim="a snapshot at or below the confirmed index undoes nothing",
        prelude="elect 1; hold 1 2; put 1 a; lose 1 3; put 1 b; trim 1; trim 1; pass 3; beat 1",
        bounds={},
        slow_disk=False,
        reaches=frozenset({"snapshot_installed", "confirmed"}),
        kills=frozenset({"snapshot_goes_back"}),
    ),
    simple_scope(
        name="snapshot-voters",
        claim="a node that starts from a snapshot uses the configuration in force at its entry",
        prelude="elect 1; only 1 3; put 1 a; trim 1; trim 1; make 1 3 learner; all; hold 1 2; "
        "pass 3; beat 1",
        bounds={"campaigns": 1},
        reaches=frozenset({"snapshot_installed", "elected"}),
        kills=frozenset({"snapshot_of_later_voters"}),
    ),
)
