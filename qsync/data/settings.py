"""Changes of what the whole cluster shares: rows of `_settings`, all of a request or none."""

from collections.abc import Mapping

from qsync import settings
from qsync.data import schema, tuples
from qsync.data.draft import EffectDraft
from qsync.errors import ConfigError, ProtocolError


def change(draft: EffectDraft, given: object) -> bytes | None:
    """Set each key to its text; None takes it back, so that the nodes' files count again."""
    if not isinstance(given, Mapping):
        raise ProtocolError("settings are a map of names to texts")
    wrong = [problem for key, text in given.items() if (problem := _problem(key, text))]
    if wrong:
        raise ConfigError("; ".join(wrong), hint="nothing was changed", details={"problems": wrong})
    draft.sync = True  # also when nothing changes: that is an answer about what is shared
    space = draft.schema.space(schema.SETTINGS)
    for key, text in given.items():
        row = None if text is None else tuples.encode([key, text])
        at = space.primary.key([key], whole=True)
        old = draft.get(at)
        if old is not None or row is not None:
            draft.put(space, at, old, row)
    return None


def _problem(key: object, text: object) -> str | None:
    try:
        if text is None and key in settings.SETTINGS:
            return None
        settings.parse(str(key), text)
    except ValueError as error:
        return f"{key} = {text!r}: {error}"
    return None
