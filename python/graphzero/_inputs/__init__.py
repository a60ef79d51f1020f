"""What users ask of samplers, pipelines and loaders, read once."""
