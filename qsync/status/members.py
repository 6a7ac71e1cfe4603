"""The other members in a node's status: what comes from them, what goes there, and votes."""

from typing import Annotated, Final

from msgspec import Struct, field

IN_TOUCH = "up"
"""The status of a connection that stands."""


class SnapshotStatus(Struct, frozen=True, kw_only=True):
    """A snapshot on its way from a leader to who lacks what its log has no more."""

    index: Annotated[int, "index at which its rows hold; 0: not known yet"] = 0
    chunks: Annotated[int, "chunks that are durable where it goes"] = 0
    chunks_in_all: Annotated[int, "how many there are; 0: not counted"] = 0
    bytes: Annotated[int, "size of the chunks that are durable there"] = 0
    bytes_in_all: Annotated[int, "size of all; 0: not counted"] = 0

    @property
    def share(self) -> float:
        """How much of it is there, 0 to 1; 0 where they were not counted."""
        return self.chunks / self.chunks_in_all if self.chunks_in_all else 0.0


class UpstreamStatus(Struct, frozen=True, kw_only=True):
    """What comes to this node from a member. Only the leader sends entries."""

    status: Annotated[
        str,
        "`follow`, `snapshot` (it takes one), `sync` (this node counts in no quorum yet), `ready` "
        "(connected, and not the leader), `disconnected`, or `stopped`",
    ] = ""
    idle: Annotated[float | None, "seconds since the leader was heard"] = None
    lag: Annotated[
        float | None, "seconds since the oldest entry was made that cannot be shown here yet"
    ] = None
    peer: Annotated[str | None, "its address"] = None
    message: Annotated[str | None, "what is wrong"] = None
    behind: Annotated[int | None, "entries of the leader that are not on disk here"] = None
    snapshot: Annotated[SnapshotStatus | None, "the snapshot that comes from it"] = None


class DownstreamStatus(Struct, frozen=True, kw_only=True):
    """What the leader knows of a follower."""

    status: Annotated[
        str, "`follow`, `snapshot` (it is sent one), or `stopped` without a connection"
    ] = ""
    idle: Annotated[float | None, "seconds since it was heard"] = None
    lag: Annotated[
        float | None, "seconds since the oldest entry was made that it has not acked"
    ] = None
    vclock: Annotated[dict[int, int], "the last lsn of each origin that it has acked"] = field(
        default_factory=dict
    )
    message: Annotated[str | None, "what is wrong"] = None
    acked: Annotated[int, "index up to which it has acked"] = 0
    behind: Annotated[int, "entries of the leader's log that it has not acked"] = 0
    counts: Annotated[bool, "whether its acks count in the quorum"] = True
    snapshot: Annotated[SnapshotStatus | None, "the snapshot that it is sent"] = None


class MemberStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A member; the node itself has no upstream, and only the leader has downstreams."""

    id: Annotated[int, "its replica id"]
    uuid: Annotated[
        str | None,
        "the instance that runs there; before this node has met it, that of the configuration; "
        "null: neither is known",
    ]
    name: Annotated[str | None, "its name"]
    lsn: Annotated[int, "the last number of its own transactions"]
    upstream: Annotated[UpstreamStatus | None, "what comes from it"] = None
    downstream: Annotated[DownstreamStatus | None, "what the leader knows of it"] = None


FOLLOWS: Final = "follow"
"""The `status` of an anonymous replica that is connected."""


class AnonymousStatus(Struct, frozen=True, kw_only=True):
    """A replica that follows without being a member."""

    id: Annotated[int, "the id that it uses among nodes; `_cluster` has none of it"] = 0
    uuid: Annotated[str, "its instance"] = ""
    name: Annotated[str, "its name"] = ""
    address: Annotated[str, "where it is dialled"] = ""
    status: Annotated[str, "`follow`, or `stopped` without a connection"] = ""
    acked: Annotated[int | None, "on the leader: index up to which it has acked"] = None
    behind: Annotated[int | None, "on the leader: entries that it has not acked"] = None
    expires: Annotated[float, "seconds until it is forgotten, unless it is heard"] = 0.0


class PeerStatus(Struct, frozen=True, kw_only=True):
    """A connection from this node to a member."""

    id: Annotated[int, "replica id of the member"] = 0
    name: Annotated[str, "its name"] = ""
    status: Annotated[str, "`up`, or why the connection does not stand"] = ""
    epoch: Annotated[int, "how often it has been connected to"] = 0
    message: Annotated[str | None, "what is wrong"] = None
    acked: Annotated[int | None, "index up to which it has acked; reported by the leader"] = None
    lag: Annotated[int | None, "entries that it has not acked; reported by the leader"] = None
    idle: Annotated[float | None, "seconds since it was heard; reported by the leader"] = None
    recruit: Annotated[bool | None, "whether it counts in no quorum; reported by the leader"] = None
    stranger: Annotated[
        bool | None, "whether its directory is not in the configuration; reported by the leader"
    ] = None
    snapshot: Annotated[SnapshotStatus | None, "what it is sent; reported by the leader"] = None

    @property
    def counts(self) -> bool:
        """Its acks count in a quorum, as far as the leader knows."""
        return self.status == IN_TOUCH and not self.recruit


class VoteStatus(Struct, frozen=True, kw_only=True):
    """Who asked for votes, and what this node heard."""

    term: Annotated[int, "for which term"] = 0
    candidate: Annotated[int, "replica id of who asked"] = 0
    pre: Annotated[bool, "whether it only asked who would vote (pre-vote)"] = False
    answers: Annotated[dict[int, str], "`AYE` or the reason of the refusal, by replica id"] = field(
        default_factory=dict
    )


class ElectionStatus(Struct, frozen=True, kw_only=True):
    """Role and term of the node, and the leader that it follows."""

    state: Annotated[str, "`leader`, `candidate` or `follower`"] = ""
    term: Annotated[int, "the term that this node is in"] = 0
    vote: Annotated[int | None, "replica id that it voted for in this term"] = None
    leader: Annotated[int, "replica id of the leader; 0: none"] = 0
    leader_name: Annotated[str | None, "its name"] = None
    leader_idle: Annotated[float | None, "seconds since it was heard; 0 on the leader"] = None
    timeout: Annotated[float, "seconds of silence after which an election is called"] = 0.0
    fencing: Annotated[str, "when a leader without a quorum steps down"] = ""
    fenced: Annotated[bool, "whether it led this term and has lost its quorum"] = False
    tallies: Annotated[tuple[VoteStatus, ...], "the recent votes, the oldest first"] = ()
