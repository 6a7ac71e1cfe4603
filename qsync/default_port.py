"""The port of a node where nobody names one."""

from typing import Final

DEFAULT_PORT: Final = 3301
DEFAULT_ADDRESS: Final = f"127.0.0.1:{DEFAULT_PORT}"
"""Of a node that nobody has told where to listen."""
