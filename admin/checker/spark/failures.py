"""Errors of Spark, with messages that a user can act on."""

from qsync.errors import ConfigError


class NoSpark(ConfigError):
    """Spark could not be started or reached, or ended a job with an error."""

    code = "NO_SPARK"
    number = 97
