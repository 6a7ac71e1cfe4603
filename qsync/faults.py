"""The faults that can be injected: one name for each, in all tools.

Drills say a verb for it, a running node has fault points for some, the campaign on real nodes draws
them, and the simulator's nemesis draws these very names.
"""

from collections.abc import Mapping
from enum import StrEnum


class Fault(StrEnum):
    """The value is what reports call it."""

    KILL = "kill"
    TERMINATE = "terminate"
    POWER_CUT = "power_cut"
    SHAKY = "shaky"
    KILL_IN_CALL = "kill_in_call"
    STOP_IN_CALL = "stop_in_call"
    PAUSE = "pause"
    SUSPEND = "suspend"
    STARVE = "starve"
    CUT = "cut"
    ONE_WAY = "one_way"
    ISOLATE = "isolate"
    HALVES = "halves"
    RING = "ring"
    BRIDGE = "bridge"
    FLAP = "flap"
    SLOW_LINK = "slow_link"
    RESET = "reset"
    REFUSE = "refuse"
    UNREACHABLE = "unreachable"
    HALF_OPEN = "half_open"
    BIT_FLIP = "bit_flip"
    SLOW_FSYNC = "slow_fsync"
    FAIL_FSYNC = "fail_fsync"
    FULL_DISK = "full_disk"
    TORN_LOG = "torn_log"
    LOG_BIT_FLIP = "log_bit_flip"
    WIPE = "wipe"
    NEW_DISK = "new_disk"
    DESTROY = "destroy"
    SWAP = "swap"
    DETACH = "detach"
    CLOCK_JUMP = "clock_jump"
    MONOTONIC_JUMP = "monotonic_jump"
    LOSE_CONFIRM = "lose_confirm"
    LOSE_ROLLBACK = "lose_rollback"
    PROMOTE = "promote"
    DEMOTE = "demote"
    REMOVE_MEMBER = "remove_member"
    ROLLBACK_QUEUE = "rollback_queue"
    ROLLBACK_ALONE = "rollback_alone"
    COUP = "coup"
    RESETTLE = "resettle"


ABOUT: Mapping[Fault, str] = {
    Fault.KILL: "the process dies without a word",
    Fault.TERMINATE: "the process is asked to end: SIGTERM or SIGINT",
    Fault.POWER_CUT: "the whole machine loses power",
    Fault.SHAKY: "the process tends to die just after it has acted on a write",
    Fault.KILL_IN_CALL: "the process dies in the middle of what it does",
    Fault.STOP_IN_CALL: "the process stands still for a while at one of its next system calls",
    Fault.PAUSE: "the process stands still, in the middle of whatever it does",
    Fault.SUSPEND: "the whole machine sleeps, and its monotonic clock with it",
    Fault.STARVE: "CPU starvation of a process",
    Fault.CUT: "nothing passes between nodes, in silence",
    Fault.ONE_WAY: "nothing passes in one direction",
    Fault.ISOLATE: "nothing passes between one node and the others",
    Fault.HALVES: "nothing passes between a minority and the others",
    Fault.RING: "every node reaches only its neighbours",
    Fault.BRIDGE: "two halves joined by one node (bridge)",
    Fault.FLAP: "links are cut and whole in turn",
    Fault.SLOW_LINK: "what passes is held back, or passes as if packets were lost",
    Fault.RESET: "connections break once",
    Fault.REFUSE: "connections are reset, and new ones are refused",
    Fault.UNREACHABLE: "a running node accepts no connections",
    Fault.HALF_OPEN: "connections stand and carry nothing any more",
    Fault.BIT_FLIP: "bits arrive as the other",
    Fault.SLOW_FSYNC: "every commit of the log takes longer",
    Fault.FAIL_FSYNC: "a commit of the log fails with an input/output error",
    Fault.FULL_DISK: "no file may grow",
    Fault.TORN_LOG: "the end of the log is cut short",
    Fault.LOG_BIT_FLIP: "one bit of the log is flipped",
    Fault.WIPE: "the log and the data are lost",
    Fault.NEW_DISK: "the whole directory is lost, and who the node was with it",
    Fault.DESTROY: "every node is lost with its directory, and only a backup is left",
    Fault.SWAP: "an empty directory takes the place of the node's, until it is put back",
    Fault.DETACH: "the log of a running node is taken away, and put back",
    Fault.CLOCK_JUMP: "the wall clock is ahead or behind",
    Fault.MONOTONIC_JUMP: "the monotonic clock jumps ahead",
    Fault.LOSE_CONFIRM: "messages that tell of a later confirmation are not sent",
    Fault.LOSE_ROLLBACK: "messages with a later ROLLBACK are not sent",
    Fault.PROMOTE: "an operator makes nodes lead",
    Fault.DEMOTE: "an operator makes the leader step down",
    Fault.REMOVE_MEMBER: "an operator takes a node out of the cluster",
    Fault.ROLLBACK_QUEUE: "an operator rolls the queue back",
    Fault.ROLLBACK_ALONE: "an operator rolls back what a leader that is cut off waits for",
    Fault.COUP: "the winner of an election is cut off at once, its voters are restarted",
    Fault.RESETTLE: "a node is restarted with other settings in its own file",
}
assert ABOUT.keys() == set(Fault)
