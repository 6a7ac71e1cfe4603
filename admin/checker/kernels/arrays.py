"""Columns of large tables as arrays of numpy, and what stands there for a text that is absent."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Reals: TypeAlias = NDArray[np.float64]

NOBODY = -1
"""The place of a text that is not there, such as the session of what no numbered request made."""
