"""What reports in HTML share: one page without outside assets, timelines in SVG."""
