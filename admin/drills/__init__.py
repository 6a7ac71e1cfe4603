"""Failover drills: inject faults into a cluster, observe it, heal it, and check the result."""
