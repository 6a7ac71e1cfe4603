"""Every order of events of the pure core of a small cluster, tried until nothing new comes."""
