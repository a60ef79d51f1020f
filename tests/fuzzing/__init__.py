"""Thousands of mutated files through every reader: an error that is promised, or the right answer."""
