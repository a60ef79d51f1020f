"""A data module for PyTorch Lightning: a loader for each stage, made when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from graphzero._base.argument_errors import type_error, value_error
from graphzero._inputs.position import position_from
from graphzero.convert.edge_sources.in_memory import is_pyg
from graphzero.dataset import Dataset
from graphzero.loaders.link import LinkNeighborLoader
from graphzero.loaders.loader import Loader
from graphzero.loaders.neighbor import NeighborLoader

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
# Of each stage: its name in PyG's keywords, and the splits of a data set that it takes by default.
_STAGES = {
    "train": ("train", ("train",)),
    "val": ("val", ("valid", "val")),
    "test": ("test", ("test",)),
    "predict": ("pred", ("predict", "pred")),
}


class _NotGiven:
    """Stands for a split that was not given; a class, because that stays identical in another process."""


_Untold = _NotGiven  # its name in pickles of before 0.3


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
    """A loader for trainers, which count epochs themselves."""

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where ``state`` was taken; at the end of an epoch, with the next one and not with an empty rest."""
        state = position_from(state)
        is_over = state.get("batch", -1) == state.get("batches")
        super().load_state_dict({**state, "epoch": state["epoch"] + 1, "batch": 0} if is_over else state)


class TrainerNeighborLoader(_ByEpochs, NeighborLoader):
    """The ``NeighborLoader`` of a trainer."""


class TrainerLinkNeighborLoader(_ByEpochs, LinkNeighborLoader):
    """The ``LinkNeighborLoader`` of a trainer."""


class LightningDataModule(_base()):  # type: ignore[misc]
    """Loaders for a Lightning ``Trainer``: of nodes, or of edges, by split.

    The keywords of PyG's ``LightningNodeData`` and ``LightningLinkData`` work too: ``input_train_nodes`` and
    ``input_train_time``, or ``input_train_edges``, ``input_train_labels`` and ``input_train_time``; likewise
    ``input_val_…``, ``input_test_…`` and ``input_pred_…``. If they name edges, training takes all edges by default, and
    other stages have no data.

    Loaders are made when the trainer asks for them, so that they know their rank, kept from epoch to epoch, and closed
    when the trainer is done or fails. All ranks have the same number of batches, for which a few seeds may come twice;
    tests that must count each node once are for one process.

    Args:
        data: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        num_neighbors: As in [`NeighborLoader`][graphzero.loaders.NeighborLoader].
        train: What to train on: ``input_nodes`` of [`NeighborLoader`][graphzero.loaders.NeighborLoader], such as the
            name of a split, or a dict of arguments for this stage; with ``edge_label_index`` among them it is a
            [`LinkNeighborLoader`][graphzero.loaders.LinkNeighborLoader]. ``None``: no data. Default: the data set's
            split of that name. Batches are shuffled.
        val: The same for validation. Default: the split ``"valid"`` or ``"val"``.
        test: The same for tests.
        predict: The same for predictions. Default: the split ``"predict"`` or ``"pred"``.
        eval_loader_kwargs: Options for all stages but training.
        options: Options of all loaders, as in [`LoaderOptions`][graphzero.loaders.LoaderOptions].

    Raises:
        ImportError: Lightning is not installed.

    Examples:
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
        train: Any = _NotGiven,
        val: Any = _NotGiven,
        test: Any = _NotGiven,
        predict: Any = _NotGiven,
        eval_loader_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.data = data
        given = {"train": train, "val": val, "test": test, "predict": predict}
        self._splits = _splits(data, given, options)
        for name in _OF_A_SPLIT:
            if name in options or name in (eval_loader_kwargs or {}):
                raise type_error(
                    name,
                    f"expected it for one split, as in train={{'input_nodes': 'train', {name!r}: ...}}, "
                    "found it for all of them",
                )
        self._options = {"num_neighbors": num_neighbors, **options}
        self._eval_options = {**self._options, **(eval_loader_kwargs or {})}
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
        if split is _NotGiven:
            raise value_error(
                "train",
                "expected what to train on, because the data has no split 'train'; say train=, "
                "or as in PyG input_train_nodes=",
            )
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
            loader = made(self.data, **{**(self._options if stage == "train" else self._eval_options), **own})
            if stage == "train" and self._resumed is not None:
                loader.load_state_dict(self._resumed)
                self._resumed = None
            self._loaders[stage] = loader
        return self._loaders[stage]

    def state_dict(self) -> dict[str, Any]:
        """Return the position of training, for a checkpoint.

        A trainer stores the states of loaders by itself, but restores them only in the middle of an epoch.
        """
        return self._loaders["train"].state_dict() if "train" in self._loaders else self._trained

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Make training go on from a position.

        Args:
            state_dict: What ``state_dict()`` returned.
        """
        self._resumed = state_dict or None

    def teardown(self, stage: str) -> None:
        """Close the loaders. The next stage has new ones.

        Args:
            stage: Ignored.
        """
        self._close()

    def on_exception(self, exception: BaseException) -> None:
        """Close the loaders, since the trainer leaves without a teardown.

        Args:
            exception: Ignored.
        """
        self._close()

    def _close(self) -> None:
        self._trained = dict(self.state_dict())
        while self._loaders:
            self._loaders.popitem()[1].close()


def _splits(data: Any, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the split of each stage; takes PyG's keywords for them out of ``options``."""
    kind = options.pop("loader", "neighbor")
    if kind not in ("neighbor", "link_neighbor"):
        raise value_error(
            "loader",
            f"expected 'neighbor' or 'link_neighbor', found {kind!r}; num_neighbors=[-1, ...] and a batch_size "
            "of all nodes make one batch of the whole graph",
        )
    for name, theirs in (("node_sampler", "LightningNodeData"), ("link_sampler", "LightningLinkData")):
        if options.pop(name, None) is not None:
            raise value_error(
                name,
                f"the loaders sample by themselves; give it to torch_geometric.data.lightning.{theirs}, with "
                "graphzero.loaders.PyGFeatureStore and GraphStore as data",
            )
    keywords = {stage: _keywords_of_pyg(name, options) for stage, (name, _) in _STAGES.items()}
    of_edges = kind == "link_neighbor" or any("edges" in found or "labels" in found for found in keywords.values())
    of_edges = of_edges or any(_is_arguments(split) and "edge_label_index" in split for split in given.values())
    splits = {}
    for stage, found in keywords.items():
        split = given[stage]
        if found and split is not _NotGiven:
            raise TypeError(
                f"{stage}, input_{_STAGES[stage][0]}_{next(iter(found))}: expected one of them, found both; "
                "the latter is PyG's name"
            )
        splits[stage] = _split_of_keywords(stage, found, data, of_edges) if split is _NotGiven else split
    return splits


def _keywords_of_pyg(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Take PyG's keywords for a stage out of ``options``."""
    found = {what: options.pop(f"input_{name}_{what}", None) for what in ("nodes", "edges", "labels", "time")}
    return {what: value for what, value in found.items() if value is not None}


def _split_of_keywords(stage: str, found: dict[str, Any], data: Any, of_edges: bool) -> Any:
    """Return the split that PyG's keywords mean: what they do not name is the data's own."""
    own = _split_of_data(stage, data, of_edges)
    if of_edges:
        if "nodes" in found:
            raise TypeError(
                f"input_{_STAGES[stage][0]}_nodes: expected edges in all stages, because other arguments name edges, "
                "found nodes"
            )
        if stage != "train" and own is None and not found:
            return None
        return {  # without an index these are all edges
            "edge_label_index": found.get("edges", own),
            "edge_label": found.get("labels"),
            "edge_label_time": found.get("time"),
        }
    nodes = found.get("nodes", own)
    if nodes is None:
        return _NotGiven if stage == "train" else None
    return {"input_nodes": nodes, "input_time": found.get("time")}


def _split_of_data(stage: str, data: Any, of_edges: bool) -> Any:
    """Return what the data has for a stage: a split, or of PyG's objects a mask or ids, named as PyG names them."""
    names = _STAGES[stage][1]
    if isinstance(data, Dataset):
        types: list[Any] = list(data.edges if of_edges else data.nodes)
        return next((name for name in names if any(data.has_split(name, of) for of in types)), None)
    if of_edges or not is_pyg(data):
        return None
    stores = {of: data[of] for of in data.node_types} if hasattr(data, "edge_types") else {None: data}
    for attribute in (f"{name}_{form}" for name in names for form in ("mask", "idx", "index")):
        having = [(of, store[attribute]) for of, store in stores.items() if attribute in store]
        if len(having) > 1:
            raise ValueError(
                f"{stage}: expected one node type with {attribute}, found {[of for of, _ in having]}; "
                f"say {stage}=(node type, ids)"
            )
        if having:
            of, ids = having[0]
            return ids if of is None else (of, ids)
    return None


def _is_arguments(split: Any) -> bool:
    """Tell a dict of arguments from ``{node_type: ids}``, which is for ``input_nodes``."""
    return isinstance(split, Mapping) and any(name in split for name in ("input_nodes", "edge_label_index"))
