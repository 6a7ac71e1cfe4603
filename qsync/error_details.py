"""Keys of the details of an error (`QsyncError.details`) that programs read."""

from typing import Final

CUT: Final = "cut"
"""In the details of OutcomeUnknown: this attempt is gone for good, only others may be left."""
COMPACTED: Final = "compacted"
"""In the details of OutcomeUnknown: it was decided, and the log that says how was trimmed."""
SUPERSEDED_BY: Final = "superseded_by"
"""In the details of OutcomeUnknown: the cluster that goes on, which knows no token of ours."""
RETRY_AFTER: Final = "retry_after"
"""In the details of a refusal: in how many seconds it may be tried again."""
OUTCOMES_MAX: Final = "outcomes_max"
"""In the details of Overloaded: the session is full, and keeps so many outcomes."""
BY_LEADER: Final = "by_leader"
"""In the details of AccessDenied: the leader says so, which knows every user there is."""
RECORDED: Final = "recorded"
"""In the details of a refusal: it is in the log under the request's number, and stands for good."""
