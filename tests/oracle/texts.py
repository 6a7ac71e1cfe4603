"""What is said of an entry that is wrong, a second time."""


def dense(node: int, index: int, before: int) -> str:
    """A hole in a log, or an entry twice."""
    return f"index {index} follows {before} in the log of node {node}"


def terms(node: int, term: int, before: int) -> str:
    """A term that falls."""
    return f"term {term} follows {before} in the log of node {node}"


def lsns(node: int, origin: int, lsn: int, before: int) -> str:
    """A gap in what one origin wrote."""
    return f"lsn {lsn} of origin {origin} follows {before} on node {node}"


def chain(node: int, index: int, crc: int, wanted: int) -> str:
    """A checksum that is not that of its entry behind the one before it."""
    return (
        f"entry {index} of node {node} has checksum {crc:#010x}, "
        f"its content and the entry before it make {wanted:#010x}"
    )


def once(node: int, request: tuple[str, int], before: int, index: int) -> str:
    """A request that took effect at two places."""
    told = f"request {request[1]} of session {request[0]} took effect at {before} and {index}"
    return f"{told} in the log of node {node}"
