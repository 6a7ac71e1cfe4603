"""The simulator with a chooser instead of random draws: every run within given bounds."""
