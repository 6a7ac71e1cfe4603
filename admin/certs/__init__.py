"""Makes, shows and verifies the certificates of a cluster."""

from typing import Final

ADMINISTRATOR: Final = "root"
"""The user whose certificate the founder of a cluster gets: its first user."""
NODE_DIRECTORY: Final = "tls"
"""The directory of a node's certificates, below its own."""
