"""From tables of nodes and edges, with ids of any kind, to a data set folder."""
