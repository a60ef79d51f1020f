"""Training on a data set folder, of node classes, links or embeddings: what ``graphzero train`` and the demo run."""
