"""A campaign: real nodes under load while everything is broken, judged by a checker of its own."""
