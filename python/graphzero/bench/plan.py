"""How much is measured: the size of the data, the seconds of a figure, and so how long it takes in all."""

from __future__ import annotations

from dataclasses import dataclass

PARTS = ("sampling", "walks", "gather", "conversion", "batches", "training")


@dataclass(frozen=True)
class Plan:
    """The sizes of a run. Edges are stored both ways, so that no walk ends anywhere.

    Batches shrink with the data: 10 % of ogbn-papers100M hold some hundred batches of 1,024 seeds, and if only two or
    three fit, a cap says something about those alone.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    batch_size: int
    sampled_batches: int
    sampled_seeds: int
    starts: int
    gathered_rows: int
    converted_edges: int
    seconds: float  # on the clock, for a figure
    patience: float  # for a contestant in all; then it is stopped
    capped_patience: float  # for a rival under a cap, from its first batch on: some would take hours
    compiles: bool  # whether to wait for rivals that are compiled first
    caps: tuple[int, ...] = (20, 10)
    seed: int = 1
    quick: bool = False

    @property
    def data_bytes(self) -> int:
        """What the data set and its copies for rivals take on disk, about."""
        graph = 2 * self.edges * (4 + 4) + 8 * self.nodes
        return 2 * 4 * self.nodes * self.features + graph + 5 * 8 * 2 * self.edges + 16 * self.converted_edges

    @property
    def data_seconds(self) -> float:
        """How long it takes to make the data, about: on two cores, at what a laptop's disk writes."""
        return self.edges / 4e6 + self.data_bytes / 400e6


QUICK = Plan(
    nodes=800_000, edges=5_000_000, features=128, classes=16, batch_size=32, sampled_batches=6, sampled_seeds=512,
    starts=50_000, gathered_rows=100_000, converted_edges=1_500_000, seconds=1.0, patience=60.0, capped_patience=12.0,
    compiles=False, quick=True,
)  # fmt: skip
FULL = Plan(
    nodes=4_000_000, edges=30_000_000, features=128, classes=16, batch_size=64, sampled_batches=20,
    sampled_seeds=1024, starts=100_000, gathered_rows=100_000, converted_edges=10_000_000, seconds=10.0,
    patience=240.0, capped_patience=60.0, compiles=True,
)  # fmt: skip
