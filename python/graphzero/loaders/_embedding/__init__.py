"""What embeddings on walks have in common."""
