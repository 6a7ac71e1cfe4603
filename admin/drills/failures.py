"""The ways a drill ends without a verdict."""

from qsync.errors import QsyncError


class DrillStopped(QsyncError):
    """A guard or a stop condition ended the drill. Its faults were undone."""

    code = "DRILL_STOPPED"
    number = 90
    hint = "the report has the condition and the observed value"


class DrillNotHealed(QsyncError):
    """A fault of the drill could not be undone."""

    code = "DRILL_NOT_HEALED"
    number = 91
    hint = "`qsync drill heal` tries again; `qsync lab ps` and the nodes' logs show what is wrong"


class DrillRuns(QsyncError):
    """The runner of the drill is alive, so only it may undo its faults."""

    code = "DRILL_RUNS"
    number = 92
    hint = "interrupt it: it heals the cluster before it ends"


class StepFailed(QsyncError):
    """A step of the method failed, or its condition was not met in time."""

    code = "DRILL_STEP_FAILED"
    number = 93
