"""The voters as rows of `_cluster`: what a configuration entry writes, and what it says."""

import cbor2

from election.messages import Replica
from qsync.data import body, schema, tuples
from qsync.data.body import Effect
from qsync.errors import Damaged
from qsync.record import Instance, instance_text, read_instance

Voters = tuple[tuple[Replica, Instance], ...]
_SPACE = schema.Schema(schema.SYSTEM).space(schema.CLUSTER)
_KEY_PREFIX = len(_SPACE.primary.prefix)


class MemberRows:
    """A configuration entry puts one row a voter, all of them, and deletes those that are out."""

    def encode(self, voters: Voters, *, before: Voters) -> bytes:
        """The body of the transaction that makes `voters` of `before`; it is nobody's request."""
        effects: list[Effect] = [
            [schema.CLUSTER, _key(replica), tuples.encode([int(replica), instance_text(instance)])]
            for replica, instance in voters
        ]
        stay = {replica for replica, _ in voters}
        effects += [[schema.CLUSTER, _key(out), None] for out, _ in before if out not in stay]
        return body.encode((b"", 0, 0), effects, [])

    def decode(self, text: bytes) -> Voters:
        """All voters, by a body. Raises Damaged when it says nothing of voters."""
        try:
            _, _, _, effects, *_ = cbor2.loads(text)
            rows = [tuples.stored(row) for space, _, row in effects if row is not None]
            voters = tuple((Replica(int(str(id_))), read_instance(str(uuid))) for id_, uuid in rows)
        except (cbor2.CBORError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise Damaged(f"a configuration in the log cannot be read: {error}") from error
        if not voters or len(dict(voters)) != len(voters):
            raise Damaged("a configuration in the log names no voters, or one of them twice")
        return voters


CODEC = MemberRows()


def _key(replica: Replica) -> bytes:
    return _SPACE.primary.key([int(replica)], whole=True)[_KEY_PREFIX:]
