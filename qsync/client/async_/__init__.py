"""The surface of an async client, written by hand: that of a blocking one is made from it."""
