"""The simulator with a chooser instead of dice: every run of shipped nodes within bounds."""
