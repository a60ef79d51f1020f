"""Data sets that are drawn."""
