"""The ``graphzero`` command: one file per verb."""
