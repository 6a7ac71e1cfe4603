"""How many examples Hypothesis tries: profiles, and numbers that follow them."""

import os

from hypothesis import HealthCheck, settings

USUAL, QUICK, LONG = 100, 25, 20_000

# No deadline: on a shared machine the slowest example says nothing about the code.
settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=USUAL
)
settings.register_profile("quick", settings.get_profile("house"), max_examples=QUICK)
settings.register_profile("long", settings.get_profile("house"), max_examples=LONG)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


def scaled(number: int) -> int:
    """This number in the usual profile; in another one less or more, as for all."""
    asked: int = settings().max_examples
    return max(1, number * asked // USUAL)
