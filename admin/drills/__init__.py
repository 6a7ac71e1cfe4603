"""Failover drills: break a cluster on purpose, watch, mend it, and judge what it did."""
