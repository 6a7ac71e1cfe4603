"""The running node: the only place on the server that waits."""
