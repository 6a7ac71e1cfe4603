"""Logs followed from their first entry to their last: owners, control entries, and the limbo."""
