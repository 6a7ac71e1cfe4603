"""Commands of an operator's own that do the steps of a drill to a real cluster."""
