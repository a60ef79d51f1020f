"""A folder of which one file is another for a while."""

import os
from contextlib import contextmanager
from pathlib import Path


class Folder:
    """All files below a folder, as they were when this was made."""

    def __init__(self, path):
        self.path = Path(path)
        self.contents = {}
        for place, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                full = Path(place) / name
                self.contents[str(full.relative_to(path))] = full.read_bytes()

    @contextmanager
    def changed(self, name, data):
        """Put ``data``, or nothing, in the place of a file."""
        path = self.path / name
        path.unlink() if data is None else path.write_bytes(data)
        try:
            yield
        finally:
            path.write_bytes(self.contents[name])
