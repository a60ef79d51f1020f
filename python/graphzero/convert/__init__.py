"""From the sources of users to files."""
