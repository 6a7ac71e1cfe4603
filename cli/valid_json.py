"""JSON that every reader takes: without NaN and infinities, which Python writes all the same."""

import json
import math
from collections.abc import Callable


def dumps(value: object, default: Callable[[object], object]) -> str:
    """On one line. NaN and infinities are texts; `default` makes a text of what JSON lacks."""
    try:
        return json.dumps(value, ensure_ascii=False, default=default, allow_nan=False)
    except ValueError:  # few values have such a number, and all would be searched for it
        return json.dumps(_finite(value), ensure_ascii=False, default=default, allow_nan=False)


def _finite(value: object) -> object:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {_finite(key): _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value
