"""The output of a check for people and programs: one HTML page, and violations as Parquet."""
