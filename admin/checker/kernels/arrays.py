"""Columns of large tables as numpy arrays, and the placeholder for a missing text."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Reals: TypeAlias = NDArray[np.float64]

NOBODY = -1
"""The index of a missing text, such as the session of an entry without a numbered request."""
