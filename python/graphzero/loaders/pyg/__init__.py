"""Parts for PyG's own loaders."""
