"""The content of spaces: schema, tuples, keys, versions, execution of a transaction. Pure."""
