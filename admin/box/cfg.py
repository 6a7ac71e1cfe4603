"""`box.cfg`: the options that a running node can change, by their names."""

from typing import TypedDict


class CfgOptions(TypedDict, total=False):
    """Numbers are seconds or bytes; text has a unit, such as `5s` or `64MiB`.

    What is changed holds until the node stops; its file says how it starts.
    """

    read_only: bool
    election_mode: str
    election_timeout: float | str
    election_fencing_mode: str
    replication_timeout: float | str
    replication_synchro_quorum: int | str
    replication_synchro_timeout: float | str
    replication_synchro_queue_max_size: int | str
    memtx_use_mvcc_engine: bool
