"""Rules of the protocol switched off on purpose, one at a time, each as a change of one node."""
