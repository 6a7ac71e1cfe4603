"""Connect, find the leader, retry safely."""
