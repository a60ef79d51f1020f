"""Ranks, workers and their seeds."""
