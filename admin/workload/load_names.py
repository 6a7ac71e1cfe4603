"""Kinds of load that clients can put on a cluster, by name."""

from enum import StrEnum


class LoadKind(StrEnum):
    """What it is, and does: `admin.workload.catalogue`."""

    MIXED = "mixed"
    REGISTER = "register"
    CAS = "cas"
    APPEND = "append"
    BANK = "bank"
    SET = "set"
    QUEUE = "queue"
