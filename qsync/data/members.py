"""The members as rows of `_cluster`: what a configuration entry writes, and what it says."""

import cbor2

from election.messages import Replica
from qsync.data import body, schema, tuples
from qsync.data.body import Effect
from qsync.errors import Damaged
from qsync.member import MEMBERS_MAX, Member, MemberRole, Members
from qsync.record import NO_INSTANCE, Instance, instance_text, read_instance

_SPACE = schema.Schema(schema.SYSTEM).space(schema.CLUSTER)
_KEY_PREFIX = len(_SPACE.primary.prefix)
_PAIR = 2
"""Fields of a row of a former release: id and uuid of a voter."""


class MemberRows:
    """A configuration entry puts one row a member, all of them, and deletes those that are out."""

    def encode(self, members: Members, *, before: Members) -> bytes:
        """The body of the transaction from `before` to `members`; it belongs to no request."""
        effects: list[Effect] = [
            [schema.CLUSTER, _key(each.replica), tuples.encode(row_of(each))] for each in members
        ]
        stay = {each.replica for each in members}
        effects += [
            [schema.CLUSTER, _key(out.replica), None] for out in before if out.replica not in stay
        ]
        return body.encode((b"", 0, 0), effects, [])

    def decode(self, text: bytes) -> Members:
        """Decode all members of a body. Raises Damaged when it has none."""
        try:
            _, _, _, effects, *_ = cbor2.loads(text)
            members = tuple(
                member_of(tuples.stored(row)) for _, _, row in effects if row is not None
            )
        except (cbor2.CBORError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise Damaged(f"a configuration in the log cannot be read: {error}") from error
        ids = [int(each.replica) for each in members]
        if ids != sorted(set(ids)) or not any(each.votes for each in members):
            raise Damaged("a configuration in the log names no voters, or one member twice")
        if not 1 <= ids[0] <= ids[-1] <= MEMBERS_MAX:
            raise Damaged(f"a configuration in the log names ids that are not 1..{MEMBERS_MAX}")
        return members


CODEC = MemberRows()


def row_of(member: Member) -> list[object]:
    """The tuple of a member. Of a voter without name and address former releases know it, too."""
    row: list[object] = [int(member.replica), instance_text(member.instance)]
    if not member.votes or member.name or member.address:
        row += [member.role.value, member.name, member.address]
    return row


def member_of(row: list[object]) -> Member:
    """The member of a tuple. Raises ValueError, TypeError."""
    id_, uuid, *more = row
    if len(row) == _PAIR:
        return Member(Replica(int(str(id_))), _instance(uuid))
    role, name, address = map(str, more)
    return Member(Replica(int(str(id_))), _instance(uuid), MemberRole(role), name, address)


def _instance(uuid: object) -> Instance:
    instance = read_instance(str(uuid))
    if instance == NO_INSTANCE:
        raise ValueError(f"{uuid!r} is no instance")
    return instance


def _key(replica: Replica) -> bytes:
    return _SPACE.primary.key([int(replica)], whole=True)[_KEY_PREFIX:]
