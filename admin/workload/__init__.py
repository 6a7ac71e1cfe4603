"""What clients of a run do, what they were told, and what must hold afterwards."""
