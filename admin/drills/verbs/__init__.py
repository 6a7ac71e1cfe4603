"""What a step of a drill can do: a class for each verb, for real nodes and for the simulator."""
