"""What the demo has shown, as numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from graphzero.demo.data import Sizes
from graphzero.demo.opening import Opening

# Both trainings see the same batches. What may differ is the order in which torch adds up.
_SAME_ACCURACY = 0.01


@dataclass(frozen=True)
class Training:
    """How a training went. ``peak_memory`` includes page cache: that of the group, or of the data set."""

    test_accuracy: float
    losses: list[float]
    epoch_seconds: list[float]
    batches: int
    hit_rate: float | None
    device_bytes: int | None
    reader: str
    peak_anonymous: int
    peak_memory: int
    files_cached: int

    @property
    def seconds_per_epoch(self) -> float:
        """Time in training batches, the mean of all epochs."""
        return sum(self.epoch_seconds) / len(self.epoch_seconds)

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        rate = self.batches / self.seconds_per_epoch
        return asdict(self) | {"seconds_per_epoch": self.seconds_per_epoch, "batches_per_second": rate}


@dataclass
class Proof:
    """What the demo has shown."""

    sizes: Sizes
    bytes_on_disk: int = 0
    features_alone: float = 0.0
    opening: Opening | None = None
    flipped_bit: str = ""
    software: int = 0
    limit: int | None = None
    limited_by: str | None = None
    why_no_limit: str | None = None
    out_of_core: Training | None = None
    kills: int | None = None
    loading: str | None = None
    in_memory: Training | None = None
    why_not_in_memory: str | None = None
    seconds: float = 0.0

    @property
    def same_losses(self) -> bool | None:
        """Whether both trainings went the same way to the last bit; ``None`` if there were not two."""
        if self.out_of_core is None or self.in_memory is None:
            return None
        return self.out_of_core.losses == self.in_memory.losses

    @property
    def holds(self) -> bool:
        """Whether training out of core was as good as in memory and, under a limit, nothing was killed."""
        assert self.out_of_core is not None
        reached = self.out_of_core.test_accuracy
        same = self.in_memory is None or abs(reached - self.in_memory.test_accuracy) <= _SAME_ACCURACY
        return same and not self.kills

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        sizes = self.sizes
        loading = {
            "features": sizes.feature_bytes,
            "edge_index": sizes.edge_index_bytes,
            "csc": sizes.csc_bytes,
            "total": sizes.loading_bytes,
        }
        return {
            "holds": self.holds,
            "data": {**asdict(sizes), "bytes_on_disk": self.bytes_on_disk, "bytes_to_load": loading},
            "opening": None if self.opening is None else asdict(self.opening),
            "flipped_bit": self.flipped_bit,
            "budget": sizes.memory,
            "software_bytes": self.software,
            "limit": self.limit,
            "limited_by": self.limited_by,
            "why_no_limit": self.why_no_limit,
            "features_alone": self.features_alone,
            "out_of_core": None if self.out_of_core is None else self.out_of_core.document(),
            "kills": self.kills,
            "loading_it_all": self.loading,
            "in_memory": None if self.in_memory is None else self.in_memory.document(),
            "why_not_in_memory": self.why_not_in_memory,
            "same_losses": self.same_losses,
            "seconds": self.seconds,
        }
