"""What each transcript covers that no mutant of a replica makes fail."""

WHY = {
    "a_dry_run_of_a_demote_hands_over_only_where_nodes_campaign": "wording of a dry run",
    "a_quorum_formula_reaches_nothing_but_arithmetic": "settings, before a node starts",
    "a_refused_handshake_names_the_other_side": "wording of a refusal",
    "a_refused_write_says_who_leads": "wording of a refusal",
    "a_second_demote_is_refused_while_the_first_goes_on": "wording of a refusal",
    "election_messages_that_make_no_sense_are_refused": "checked before the core sees them",
    "election_options_are_checked_before_a_node_starts": "settings, before a node starts",
    "peers_prove_that_they_know_the_secret": "handshakes, before the core sees anything",
    "quorum_formulas_are_checked_for_every_size": "settings, before a node starts",
    "strangers_and_doubles_are_refused_at_the_door": "handshakes, before the core sees anything",
    "the_term_and_the_vote_of_a_promote_are_one_write": "the contents of one write to the disk",
    "there_are_at_most_31_members": "settings, before a node starts",
    "two_directories_cannot_be_one_member": "handshakes, before the core sees anything",
}
"""By transcript."""
