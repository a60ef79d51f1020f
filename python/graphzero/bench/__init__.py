"""``graphzero bench``: what this machine does with a data set, beside whatever rivals are installed."""
