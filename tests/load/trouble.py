"""What befalls a data set in use: files truncated, deleted and replaced, one by one or all together."""

import os
import random
import shutil
import time

from graphzero._files.folder import NewFolder
from load.journal import Journal, TroubleCount


class Trouble:
    """Disturbs ``data``, of which whole copies in each generation are at hand, and makes it whole again."""

    def __init__(self, place, pristine):
        self._place, self._pristine = place, pristine
        self._draw = random.Random(f"{place.seed} trouble")
        self._journal = Journal(place.path("journals", "trouble.jsonl"))
        self._count = TroubleCount(place.path("trouble"), create=True)
        self._generation = 0
        self._files = sorted(
            os.path.relpath(os.path.join(folder, name), pristine[0])
            for folder, _, names in os.walk(pristine[0])
            for name in names
        )
        self._put_folder()

    def run(self):
        """Disturb the data set until it is enough; it is whole at the end."""
        actions = [self._truncate, self._truncate, self._delete, self._replace_files, self._replace_folder]
        while not self._place.is_over():
            action = self._draw.choice(actions)
            self._count.add()
            action()
            self._count.add()
            self._journal.write("did", what=action.__name__.strip("_").replace("_", " "))
            time.sleep(self._draw.uniform(0, 3) * self._place.pause)

    def _truncate(self):
        """Cut a file in place, where others have it mapped; a whole one then takes its name."""
        file = self._draw.choice(self._files)
        path = os.path.join(self._place.data, file)
        size = os.path.getsize(path)
        lengths = [0, 100, 4096, size // 2, size // 2 // 4096 * 4096, size - 4096, size - 1]
        os.truncate(path, self._draw.choice([length for length in lengths if 0 <= length < size]))
        self._wait()
        self._put_file(file)

    def _delete(self):
        file = self._draw.choice(self._files)
        os.remove(os.path.join(self._place.data, file))
        self._wait()
        self._put_file(file)

    def _replace_files(self):
        """Replace file by file: a folder that is opened meanwhile is of neither generation."""
        self._generation = 1 - self._generation
        for file in self._draw.sample(self._files, len(self._files)):
            self._put_file(file)
            self._wait()

    def _replace_folder(self):
        self._generation = 1 - self._generation
        self._put_folder()

    def _put_file(self, file):
        """Rename a whole copy into place: never a link, for the next truncation must not reach the original."""
        path = os.path.join(self._place.data, file)
        shutil.copyfile(os.path.join(self._pristine[self._generation], file), f"{path}.copy")
        os.replace(f"{path}.copy", path)

    def _put_folder(self):
        """Do what DatasetWriter does when it ends."""
        folder = NewFolder(self._place.data, overwrite=True)
        for file in self._files:
            shutil.copyfile(os.path.join(self._pristine[self._generation], file), folder.file(file))
        folder.commit()

    def _wait(self):
        time.sleep(self._draw.uniform(0.02, 0.6) * self._place.pause)
