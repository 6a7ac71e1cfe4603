"""Why a forced recovery is refused."""

from qsync.errors import QsyncError


class RecoveryRefused(QsyncError):
    """A forced recovery may lose more than was accepted, or other members are not stopped."""

    code = "RECOVERY_REFUSED"
    number = 111
