"""What loaders are given."""
