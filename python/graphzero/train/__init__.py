"""Node classification on a data set folder: what ``graphzero train`` and ``graphzero demo`` run."""
