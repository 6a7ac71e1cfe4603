"""Settings that the whole cluster shares: rows of `_settings`, and what their texts may be.

They are part of the log, so nodes cannot disagree on them for long, whatever their files say.
"""

from collections.abc import Callable, Mapping
from typing import Final

from qsync import features
from qsync.options.core_options import CORE_OPTIONS

SETTINGS: Final[Mapping[str, Callable[[str], object]]] = {
    each.name: each.parse for each in CORE_OPTIONS if each.shared
}
"""Each by its name in the configuration file; a parser raises ValueError, "the value ..."."""
TEXT_CHARACTERS_MAX = 200


def parse(key: str, text: object) -> object:
    """The value that a text means. Raises ValueError whose text completes "KEY = TEXT ..."."""
    if key != features.SETTING and key not in SETTINGS:
        raise ValueError(
            f"is no setting of the cluster; there are {', '.join(SETTINGS)}; any other option is "
            "in the configuration of each node"
        )
    if not isinstance(text, str) or len(text) > TEXT_CHARACTERS_MAX:
        raise ValueError(f"is not a text of at most {TEXT_CHARACTERS_MAX} characters")
    return features.parse(text) if key == features.SETTING else SETTINGS[key](text)
