"""Until when a node does not help to replace its leader: by itself, and by promise."""


class VotePromise:
    """Stickiness is for liveness and may be cut short; leases rest on a promise, which may not.

    `heard_at`: when the leader was heard last; of the leader that is known, if one is.
    `sticky_until`: a leader was heard recently, so votes are refused until then (Raft thesis
    §4.2.3, where `election_timeout` is this time). membership.md M11 i: a promise is never
    shortened, neither by another timing nor because the leader's address refuses connections. It
    ends by its time or by the leader's own word.
    """

    def __init__(self) -> None:
        self.heard_at = 0.0
        self.sticky_until = 0.0
        self._promised_until = 0.0

    def __repr__(self) -> str:
        return f"sticky until {self.sticky_until:g}, promised until {self._promised_until:g}"

    def heard(self, now: float, *, sticky: float) -> None:
        """Note that the leader was heard: no vote for others for `sticky` seconds from now."""
        self.heard_at, self.sticky_until = now, now + sticky

    def promise(self, until: float) -> None:
        """Promise to vote only for the leader until then; of two promises the later end holds."""
        before = self._promised_until
        self._promised_until = max(before, until)
        # membership.md M11 i: no timing makes it shorter.
        assert self._promised_until >= before

    def release(self, now: float) -> None:
        """Release the promise: the leader itself said that it leads no more."""
        self._promised_until = min(self._promised_until, now)
        assert self.left(now) == 0.0

    def left(self, now: float) -> float:
        """Return how many seconds of the last promise are left."""
        return max(0.0, self._promised_until - now)

    def holds(self, now: float) -> bool:
        """Return whether there is a leader that this node must or will not replace."""
        return now < self.sticky_until or now < self._promised_until
