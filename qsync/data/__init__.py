"""What the spaces hold: schema, tuples, keys, versions, execution of a transaction. Pure."""
