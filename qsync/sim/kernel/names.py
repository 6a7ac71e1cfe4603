"""Names that can be said on a command line, of what only a simulated kernel has."""

from typing import Final

STRIKES: Final = (
    "reject",
    "half_open",
    "flip",
    "break",
    "suspend",
    "stop_in_call",
    "kill_in_call",
    "terminate",
)
"""Every kind of trouble that there is only here; a run knows some of them."""

MUTANTS: Final = (
    "sends_before_durable",
    "told_before_durable",
    "stale_clock",
    "late_is_rolled_back",
    "never_dials_again",
    "silence_unnoticed",
    "no_turn_limit",
    "doubt_forgotten",
    "doubt_unsaid",
    "retry_renumbered",
)
"""Rules of the shipped node and client that can be switched off."""
