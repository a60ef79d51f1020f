"""The claim, proven on this machine: what ``graphzero demo`` does."""
