"""A campaign: every kind of fault on real nodes under load, with a checker of its own."""
