"""What steps of a conversion in shards are made of: plans, pieces of sources, stages, and how parts become a file."""
