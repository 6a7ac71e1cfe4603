"""How a drill can end otherwise than with a verdict."""

from qsync.errors import QsyncError


class DrillStopped(QsyncError):
    """A guard or a stop condition ended the drill. What was broken by then was healed."""

    code = "DRILL_STOPPED"
    number = 90
    hint = "the report says which one, and what was seen"


class DrillNotHealed(QsyncError):
    """What the drill broke could not be put right again."""

    code = "DRILL_NOT_HEALED"
    number = 91
    hint = "`qsync drill heal` tries again; `qsync lab ps` and the nodes' logs show what is wrong"


class DrillRuns(QsyncError):
    """The runner of the drill is alive, so what it broke is left to it."""

    code = "DRILL_RUNS"
    number = 92
    hint = "interrupt it: it heals before it ends"


class StepFailed(QsyncError):
    """A step of the method could not be done, or what it waited for did not come."""

    code = "DRILL_STEP_FAILED"
    number = 93
