"""Errors of backups, and of the places where they are kept."""

from qsync.errors import ConfigError, QsyncError


class NoBackup(ConfigError):
    """There is no backup at that place, or none under that name."""

    code = "NO_BACKUP"
    number = 101


class BackupDamaged(QsyncError):
    """A part of a backup is missing, or is not as it was written."""

    code = "BACKUP_DAMAGED"
    number = 102
    hint = "another copy of the place has it, or restore from another backup of it"


class BackupGap(QsyncError):
    """No backup reaches the requested point: the log up to it was never stored."""

    code = "BACKUP_GAP"
    number = 103
    hint = "`qsync backup list` shows which points can be restored"


class ForeignBackup(QsyncError):
    """The place holds backups of another cluster, or another history of this one."""

    code = "FOREIGN_BACKUP"
    number = 104
    hint = "one place for each cluster: name another one"


class BackupKeyRefused(QsyncError):
    """The place is sealed and this key is not its key, or it is not sealed and a key was given."""

    code = "BACKUP_KEY"
    number = 106
    hint = "--key-file FILE, QSYNC_BACKUP_KEY_FILE or QSYNC_BACKUP_KEY, or --ask-key"


class BackupPlaceLost(QsyncError):
    """The place where backups are kept cannot be read or written. What is there stays."""

    code = "BACKUP_PLACE"
    number = 105
    retryable = True
    hint = "the same command continues with the existing files"
