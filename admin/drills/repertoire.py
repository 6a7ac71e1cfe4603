"""Every verb that does something, and what does it."""

from collections.abc import Mapping

from admin.drills import acts_faults, acts_links, acts_operators
from admin.drills.acts import Act, Acts

REPERTOIRE: Mapping[str, Act] = {
    "kill": Acts.kill,
    "pause": Acts.pause,
    "resume": Acts.resume,
    "start": Acts.start,
    "wipe": Acts.wipe,
    "tear": Acts.tear,
    "flip": Acts.flip,
    "fill": Acts.fill,
    "free": Acts.free,
    "starve": Acts.starve,
    "feed": Acts.feed,
    "heal": Acts.heal,
    "cut": acts_links.cut,
    "slow": acts_links.slow,
    "flap": acts_links.flap,
    "ring": acts_links.ring,
    "bridge": acts_links.bridge,
    "reset": acts_links.reset,
    "mend": acts_links.mend,
    "stall_fsync": acts_faults.stall_fsync,
    "fail_fsync": acts_faults.fail_fsync,
    "jump_clock": acts_faults.jump_clock,
    "lose": acts_faults.lose,
    "disarm": acts_faults.disarm,
    "promote": acts_operators.promote,
    "demote": acts_operators.demote,
}
