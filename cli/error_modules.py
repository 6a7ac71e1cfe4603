"""The modules that define errors: `qsync explain` loads them by name, when it runs."""

ERROR_MODULES = (
    "qsync.errors",
    "qsync.client.closed",
    "qsync.client.draft",
    "admin.lab.failures",
    "admin.lab.ports",
    "admin.drills.demo",
    "admin.box.session",
    "admin.box.ctl",
    "admin.backup.failures",
    "admin.recovery.failures",
    "qsync.life",
    "qsync.tls.errors",
    "admin.evidence.manifest",
    "admin.checker.spark.failures",
    "admin.checker.spark.java",
    "cli.exits",
    "cli.shell.failures",
    "admin.cluster.ask",
    "admin.drills.failures",
)
