"""A whole cluster in one thread from one seed. Ships with the product."""
