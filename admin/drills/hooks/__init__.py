"""Commands of an operator that perform the steps of a drill on a real cluster."""
