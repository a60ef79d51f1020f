"""What a data set consists of, and its answers under PyG's names."""
