"""A simulated machine room: the shipped node and client run on kernels made of nothing but dice."""
