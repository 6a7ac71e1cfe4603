"""The surface of a blocking client, made from that of an async one; nobody edits it by hand."""
