"""Values that users pass, and text fit to be printed. Everything else builds on these."""
