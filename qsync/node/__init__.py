"""The running node: the only server-side place that waits."""
