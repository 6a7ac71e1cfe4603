"""The links between the nodes of a lab, each through a proxy that can spoil it."""
