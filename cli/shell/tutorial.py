r"""`\tutorial`: eight short lessons to be typed along, on the cluster the shell speaks to."""

from typing import Final

from qsync.errors import ConfigError

LESSONS: Final = (
    (
        "The nodes of the cluster",
        "A cluster is a few nodes with the same data. One leads, the others follow.",
        r"""\status
box.info.election
box.info.ro""",
        "The prompt shows cluster, node, * for the leader, and the term.",
    ),
    (
        "A space and a tuple",
        "A space holds tuples. With is_sync a write is answered when a quorum has it on disk.",
        """pets = box.schema.create_space('pets', {is_sync = true, if_not_exists = true, format = {
    {'id', 'unsigned'}, {'name', 'string'}, {'age', 'unsigned'} }})
pets:create_index('pk', {if_not_exists = true})
pets:replace{1, 'Ada', 3}
box.space.pets:select()""",
        "A line that is not finished goes on in the next one.",
    ),
    (
        "Reading",
        "get wants a whole key; select takes a part of one, or an iterator.",
        """pets = box.space.pets
pets:replace{2, 'Bob', 5}
pets:get(2).name
pets:select(2, {iterator = 'GE'})
pets:update(1, {{'+', 'age', 1}})""",
        r"\x shows results in other forms, \set format json in one of your choice.",
    ),
    (
        "A transaction over several lines",
        "All changes between begin and commit are applied together, or not at all.",
        """box.begin()
box.space.pets:replace{3, 'Cid', 1}
box.space.pets:delete(2)
box.space.pets:select()
box.commit()""",
        "The prompt says (tx) meanwhile. box.rollback() would have dropped it.",
    ),
    (
        "The limbo",
        "A synchronous write waits in the limbo until its quorum has acked it.",
        r"""box.info.synchro
\limbo
\trace""",
        "trace shows the way of the last write over all nodes, in milliseconds.",
    ),
    (
        "Handing over",
        "promote makes a node the leader. With a live leader nothing is lost or rolled back.",
        r"""box.why.promote()
\all box.info.election.state""",
        r"Then \c to a follower and box.ctl.promote(): it says what it would do, and asks.",
    ),
    (
        "When something is refused",
        "A refusal says node, rule, numbers and the next step.",
        r"""box.space.pets:insert{1, 'twice', 0}
\explain
\why""",
        "An unknown outcome is never reported as a failure: its token resolves it.",
    ),
    (
        "Watching",
        "A key of the node, or a change of the leader, as it happens.",
        """box.watch('box.status', function(key, value) print(key, value) end)
box.ctl.on_election(function(value) print(value) end)""",
        "That was all. box.space.pets:drop() cleans up, and asks before it does.",
    ),
)
"""Title, topic, what to type, what to notice."""


def lesson(number: int) -> str:
    """A lesson by number, from 1. Raises ConfigError."""
    if not 1 <= number <= len(LESSONS):
        raise ConfigError(f"there is no lesson {number}; there are 1 to {len(LESSONS)}")
    title, about, typed, notice = LESSONS[number - 1]
    lines = "\n".join(f"    {line}" for line in typed.splitlines())
    more = rf"\tutorial shows lesson {number + 1}." if number < len(LESSONS) else ""
    return (
        f"{number}/{len(LESSONS)}  {title}\n\n{about} Type:\n\n{lines}\n\n{notice} {more}".rstrip()
    )
