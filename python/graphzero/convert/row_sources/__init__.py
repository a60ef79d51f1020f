"""Rows of features, from whatever holds them to the file that will."""
