"""What inference layer by layer needs."""
