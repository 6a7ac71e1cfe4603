"""Certificates of a cluster: made, looked at, judged."""

from typing import Final

ADMINISTRATOR: Final = "root"
"""Who lays a cluster out gets the certificate of that user, the first one that it is to have."""
NODE_DIRECTORY: Final = "tls"
"""Where a node's own are, below its directory."""
