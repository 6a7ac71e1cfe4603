"""The plan of one simulated run: a seed, and the options that differ from the seed's."""

from dataclasses import dataclass

from qsync import units

EVENTS = 2500
"""The default number of events in the phase with faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A reproducible run: all of it can be given on a command line.

    `without`: kinds of trouble, operations of clients and flaws of links and disks left out.
    `only`: the kinds of trouble that the nemesis knows; none given, the seed draws them.
    `strikes`: numbers of the strikes of the nemesis that happen; None for all.
    """

    seed: int
    nodes: int | None = None
    events: int = EVENTS
    clients: int | None = None
    keys: int | None = None
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    strikes: tuple[int, ...] | None = None
    mutant: str | None = None
    life: float | None = None
    """The duration of a long life in seconds, instead of a short one; see `qsync.sim.longlife`."""

    def command(self) -> str:
        """The command that repeats exactly this run."""
        return f"qsync sim --replay {self.seed} {self.options()}".rstrip()

    def options(self) -> str:
        """The options to print beside the seed."""
        words: list[str] = []
        if self.nodes is not None:
            words.append(f"--nodes {self.nodes}")
        if self.events != EVENTS:
            words.append(f"--events {self.events}")
        if self.clients is not None:
            words.append(f"--clients {self.clients}")
        if self.keys is not None:
            words.append(f"--keys {self.keys}")
        if self.without:
            words.append(f"--without {','.join(self.without)}")
        if self.only:
            words.append(f"--only {','.join(self.only)}")
        if self.life is not None:
            words.append(f"--life {units.show_duration(self.life)}")
        if self.strikes is not None:
            words.append(f"--strikes {','.join(map(str, self.strikes)) or 'none'}")
        if self.mutant is not None:
            words.append(f"--mutant {self.mutant}")
        return " ".join(words)
