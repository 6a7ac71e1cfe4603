"""A simulated machine room: the shipped node and client run on simulated kernels."""
