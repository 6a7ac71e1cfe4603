"""Transcripts notice when the rule that they tell of is broken."""

from pathlib import Path

import pytest

from qsync.sim.mutants.catalogue import CATALOGUE
from tests.scenarios.test_scenarios import HERE, perform

NOTICED = {
    "reads_by_index": "a_follower_reads_only_from_the_log_of_its_leader",
    "reads_beyond_leader": "a_follower_shows_fresh_reads_no_more_than_its_leader_shows",
    "refuses_by_head": "a_refusal_does_not_show_pending_data",
    "records_alone": "a_recorded_refusal_is_answered_when_it_is_on_a_quorum",
    "records_nothing": "a_doubted_refusal_is_recorded_under_its_number",
    "promise_shortened": "a_promise_is_not_shortened_by_new_settings",
    "refused_is_dead": "a_refused_connection_ends_patience_and_no_promise",
    "promise_forgotten": "a_restarted_voter_waits_as_long_as_it_may_have_promised",
    "candidate_indulgent": "a_candidate_keeps_its_own_promise",
    "lease_from_answer": "a_lease_runs_from_the_sending_of_its_round",
    "lease_twice_the_promise": "a_lease_is_as_long_as_the_followers_said",
    "lease_after_permit": "a_lease_is_void_before_another_node_may_lead",
}


@pytest.mark.pure
@pytest.mark.parametrize("mutant", NOTICED)
def test_a_transcript_notices_the_broken_rule(mutant: str) -> None:
    path: Path = HERE / f"{NOTICED[mutant]}.txt"
    text = path.read_text(encoding="utf-8")
    assert perform(text, CATALOGUE[mutant].remodel) != text
