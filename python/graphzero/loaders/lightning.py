"""A data module for PyTorch Lightning: a loader for each stage, made when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from graphzero.loaders.link_neighbor_loader import LinkNeighborLoader
from graphzero.loaders.loader import Loader
from graphzero.loaders.neighbor_loader import NeighborLoader

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")
# What differs between splits, and is not given for all of them.
_OF_A_SPLIT = (
    "input_nodes",
    "input_time",
    "input_id",
    "edge_label_index",
    "edge_label",
    "edge_label_time",
    "shuffle",
    "sampler",
    "batch_sampler",
)


def _base() -> Any:
    """Return the class that a ``Trainer`` expects. Lightning has two, which do not know each other."""
    loaded = [name for name in _PACKAGES if name in sys.modules]
    for name in (*loaded, *_PACKAGES):
        try:
            return import_module(name).LightningDataModule
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
    raise ImportError(
        "LightningDataModule: expected the package lightning or pytorch_lightning, found neither; "
        "pip install lightning, or give a Trainer the loaders themselves"
    )


class _ByEpochs(Loader):
    """A loader for those who count the epochs themselves."""

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where ``state`` was taken; at the end of an epoch, with the next one and not with an empty rest."""
        is_over = state.get("batch", -1) == state.get("batches")
        super().load_state_dict({**state, "epoch": state["epoch"] + 1, "batch": 0} if is_over else state)


class TrainerNeighborLoader(_ByEpochs, NeighborLoader):
    """The :class:`NeighborLoader` of a trainer."""


class TrainerLinkNeighborLoader(_ByEpochs, LinkNeighborLoader):
    """The :class:`LinkNeighborLoader` of a trainer."""


class LightningDataModule(_base()):  # type: ignore[misc]
    """Loaders for a Lightning ``Trainer``: of nodes, or of edges, by split.

    ``data`` is what :class:`NeighborLoader` takes. A split is what ``input_nodes`` takes there, such as the name of a
    split of the data set, or a dict of what is special to its loader: with ``edge_label_index`` it is a
    :class:`LinkNeighborLoader`, otherwise it has ``input_nodes``. ``None`` stands for a stage without data. All other
    options go to every loader. Batches of ``train`` are shuffled, the others are not.

    Loaders are made when the trainer asks for them, so that they know their rank; they are kept from epoch to epoch,
    and closed when the trainer is done, or fails. With several ranks each has as many batches as the others, for
    which a few seeds come twice; tests that must count each node once are for one process.

    >>> from graphzero import open
    >>> module = LightningDataModule(open(tiny_dataset), num_neighbors=[-1], batch_size=2, val=None)
    >>> module.train_dataloader(), module.val_dataloader(), module.test_dataloader()
    (TrainerNeighborLoader(1 batches), [], TrainerNeighborLoader(1 batches))
    >>> module.teardown("fit")
    """

    def __init__(
        self,
        data: Any,
        *,
        num_neighbors: Any,
        train: Any = "train",
        val: Any = "valid",
        test: Any = "test",
        predict: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        for name in _OF_A_SPLIT:
            if name in options:
                raise TypeError(
                    f"{name}: expected it for one split, as in train={{'input_nodes': 'train', {name!r}: ...}}, "
                    "found it for all of them"
                )
        self.data = data
        self._options = {"num_neighbors": num_neighbors, **options}
        self._splits = {"train": train, "val": val, "test": test, "predict": predict}
        self._loaders: dict[str, Loader] = {}
        self._trained: dict[str, int] = {}  # where the training loader was when it was closed
        self._resumed: dict[str, int] | None = None

    def train_dataloader(self) -> Any:
        """Return the loader of ``train``."""
        return self._loader("train")

    def val_dataloader(self) -> Any:
        """Return the loader of ``val``."""
        return self._loader("val")

    def test_dataloader(self) -> Any:
        """Return the loader of ``test``."""
        return self._loader("test")

    def predict_dataloader(self) -> Any:
        """Return the loader of ``predict``."""
        return self._loader("predict")

    def _loader(self, stage: str) -> Any:
        split = self._splits[stage]
        if split is None:
            return []  # what a trainer takes for a stage without data
        if stage not in self._loaders:
            own = dict(split) if _is_arguments(split) else {"input_nodes": split}
            ordered = {"sampler", "batch_sampler"} & own.keys()
            if stage == "train" and not ordered and "shuffle" not in own:
                own["shuffle"] = True
            if not ordered and not {"rank", "distributed"} & {**self._options, **own}.keys():
                own["distributed"] = True  # a trainer divides what other loaders list, too
            made = TrainerLinkNeighborLoader if "edge_label_index" in own else TrainerNeighborLoader
            loader = made(self.data, **{**self._options, **own})
            if stage == "train" and self._resumed is not None:
                loader.load_state_dict(self._resumed)
                self._resumed = None
            self._loaders[stage] = loader
        return self._loaders[stage]

    def state_dict(self) -> dict[str, Any]:
        """Return where training is, for a checkpoint.

        A trainer stores the states of loaders by itself, but gives them back in the middle of an epoch only.
        """
        return self._loaders["train"].state_dict() if "train" in self._loaders else self._trained

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Make training go on where ``state_dict`` was taken."""
        self._resumed = state_dict or None

    def teardown(self, stage: str) -> None:
        """Close the loaders. The next stage has new ones."""
        self._close()

    def on_exception(self, exception: BaseException) -> None:
        """Close the loaders, as the trainer leaves without a teardown."""
        self._close()

    def _close(self) -> None:
        self._trained = dict(self.state_dict())
        while self._loaders:
            self._loaders.popitem()[1].close()


def _is_arguments(split: Any) -> bool:
    """Tell a dict of arguments from ``{node_type: ids}``, which is for ``input_nodes``."""
    return isinstance(split, Mapping) and any(name in split for name in ("input_nodes", "edge_label_index"))
