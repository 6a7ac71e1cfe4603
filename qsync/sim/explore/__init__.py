"""Every order of events of a small cluster, tried on the real code until nothing new comes."""
