"""Files and folders: mounted, written whole or not at all, described."""
