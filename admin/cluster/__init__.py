"""A cluster as its operator sees it: asked, watched, led, its members, its shared settings."""
