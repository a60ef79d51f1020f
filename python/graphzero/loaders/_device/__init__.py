"""Devices: rows that stay there, batches that go there, and what profilers see."""
