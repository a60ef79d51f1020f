"""Measurements of this engine and its rivals on one machine, and the report of them."""
