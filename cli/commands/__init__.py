"""One file for each command or family of commands; each parses, calls below, and renders."""
