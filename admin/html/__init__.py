"""Shared parts of HTML reports: a self-contained page, timelines in SVG."""
