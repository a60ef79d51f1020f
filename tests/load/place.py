"""What every process of the load test is told."""

import os
import time
from dataclasses import dataclass

from load.answers import Size


@dataclass(frozen=True)
class Place:
    """Where things are, how large, and for how long."""

    root: str
    size: Size
    threads: int
    seed: int
    rest_every: float  # seconds between measurements at rest
    pause: float  # how long to wait between two disturbances, where 1 is a second or so
    patience: float  # seconds without progress that are a hang
    deadline: float  # monotonic seconds; nobody outlives it, should the one who watches be killed

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    @property
    def data(self):
        return self.path("data")

    def is_over(self):
        stopped = os.path.exists(self.path("stop")) or not os.path.exists(self.root)
        return stopped or time.monotonic() > self.deadline
