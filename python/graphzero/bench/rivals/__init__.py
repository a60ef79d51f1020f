"""The rivals, for the Python that has them: these programs know nothing of graphzero."""
