"""Errors of labs."""

from qsync.errors import ConfigError, QsyncError


class NoSuchLab(ConfigError):
    """There is no lab of that name or in that directory."""

    code = "NO_SUCH_LAB"
    number = 72


class LabExists(ConfigError):
    """A lab exists there already."""

    code = "LAB_EXISTS"
    number = 73


class DirectoryNotEmpty(ConfigError):
    """The directory that the command is to write holds something already."""

    code = "DIRECTORY_NOT_EMPTY"
    number = 107


class NotRunning(QsyncError):
    """The node does not run, so nothing was done to it."""

    code = "NOT_RUNNING"
    number = 70


class StillRunning(QsyncError):
    """The node is running, so its files are not touched."""

    code = "STILL_RUNNING"
    number = 71
