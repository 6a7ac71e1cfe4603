"""Kinds of operations and of reads, as requests carry them."""

from enum import IntEnum, StrEnum


class Op(IntEnum):
    """First element of every operation of a request."""

    INSERT = 1
    REPLACE = 2
    UPDATE = 3
    UPSERT = 4
    DELETE = 5
    TRUNCATE = 6
    CREATE_SPACE = 10
    ALTER_SPACE = 11
    DROP_SPACE = 12
    CREATE_INDEX = 13
    DROP_INDEX = 14
    NEXT_VALUE = 15
    CREATE_SEQUENCE = 16
    CHANGE_SETTINGS = 17
    REQUIRE_EQUAL = 20
    REQUIRE_EXISTENCE = 21
    OPEN_SESSION = 30
    EXPIRE_SESSION = 31
    GIVE_UP = 32
    REGISTER_CONSUMER = 40
    ADVANCE_CONSUMER = 41
    MOVE_REPLICA = 42
    LET_GO_CONSUMER = 43
    DROP_CONSUMER = 44
    ENABLE_USERS = 50
    CREATE_USER = 51
    ALTER_USER = 52
    DROP_USER = 53
    CREATE_ROLE = 54
    DROP_ROLE = 55
    GRANT = 56
    REVOKE = 57


class ReadKind(StrEnum):
    """First element of everything that a request says it has read."""

    KEY = "k"
    RANGE = "r"
    LOG_POSITION = "p"
