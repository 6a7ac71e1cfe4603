"""The verbs of drill steps: one class each, for real nodes and for the simulator."""
