"""How a simulated process is killed, and how a finding leaves it: past every `except Exception`."""


class ProcessKilled(BaseException):
    """The process is killed: it does not continue after this kernel call."""


class Halt(BaseException):
    """A violation was found; the run is over. `Room.fatal` has it."""
