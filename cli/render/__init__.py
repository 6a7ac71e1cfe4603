"""Data in, renderable out; nothing here prints."""
