"""A batch of the core on its way to a model."""
