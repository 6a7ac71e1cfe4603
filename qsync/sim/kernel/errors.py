"""How a simulated process is ended, and how a finding leaves it: past every `except Exception`."""


class ProcessKilled(BaseException):
    """The process is gone: nothing of it goes on after this call into its kernel."""


class Halt(BaseException):
    """Something was found; the run is over. What it was is in `Room.fatal`."""
