"""The former place of the pytest plugin, for environments that were made before it moved."""

from qsync._pytest import pytest_configure, qsync_cluster

__all__ = ["pytest_configure", "qsync_cluster"]
