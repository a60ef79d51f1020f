"""Layer-wise inference: a model applied to every node of a graph, one layer after the other, from disk to disk."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from graphzero import _core
from graphzero._base.argument_errors import Argument, Setting, error_of, flag, type_error, value_error
from graphzero._base.dtypes import as_data_type, name_of
from graphzero._base.integers import integer
from graphzero._base.memory_sizes import byte_count, pipeline_budget
from graphzero._files.folder import hidden_folder
from graphzero._files.manifest_paths import file_name
from graphzero._files.mounted import Mounted
from graphzero._files.progress import Progress, watching
from graphzero._files.renames import rename, replace
from graphzero._files.storage import target_here
from graphzero._inputs.attributes import check_names
from graphzero.convert.row_writer import RowWriter
from graphzero.dataset import Dataset, EdgeTriple
from graphzero.features import FeatureStore
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._data.graph_data import GraphData, as_graph_data
from graphzero.loaders._device.transfer import as_device
from graphzero.loaders._inference.all_nodes import AllNodes
from graphzero.loaders._inference.steps import Step, check_one_hop, steps_of
from graphzero.pipeline import Batch


def inference(
    model: nn.Module | None,
    data: Any,
    out: str | os.PathLike[str],
    *,
    features: str = "x",
    edge_features: Any = None,
    layers: Sequence[Callable[..., Any]] | None = None,
    batch_size: int | None = None,
    memory: int | str | None = None,
    device: torch.device | str | None = None,
    dtype: Any = "float32",
    overwrite: bool = False,
    progress: Progress = False,
) -> Any:
    """Apply a model to all nodes of a graph and write the resulting rows to a ``.gd`` file.

    Computes layer after layer for every node: its rows, and those of all its neighbours, are read from the file that
    the layer before wrote. So nothing is computed twice, no neighbour is left out, and memory does not grow with the
    graph. The result is that of the model on the whole graph. The model is in evaluation mode meanwhile. If anything
    fails, nothing is left of ``out``.

    Args:
        model: One of PyG's basic models, such as ``GraphSAGE``, or any with ``num_layers`` and their
            ``inference_per_layer``; ``None`` with ``layers``.
        data: A data set, or ``(graph, store)``.
        out: The file to write; with several types, a folder with a file for each node type that the last layer gives
            rows for.
        features: The attribute that the first layer gets.
        edge_features: The attribute of edges that layers get as their third argument: its name, or without a data set
            the store.
        layers: A function for each layer: gets the rows of some nodes and the edges between them (by type if there are
            several), and returns a row for each node, or for each of the seeds, which come first.
        batch_size: Nodes in a batch. Default: as many as fit in ``memory`` with their edges.
        memory: Bytes to hold, as in [`Pipeline`][graphzero.Pipeline]. Layers allocate about a quarter of it more.
        device: Where layers are computed; the model is moved there. Default: where it is.
        dtype: The type of the rows in ``out``. Between layers they stay as they are.
        overwrite: Whether a file at ``out``, or a folder of ``.gd`` files, is replaced when the new one is finished.
        progress: ``True`` shows a line, a function is called, as in [`convert_edges`][graphzero.convert_edges].

    Returns:
        The mounted file; with several types, a dict of them by node type.

    Raises:
        FileExistsError: ``out`` exists, and ``overwrite`` is not set.
        ValueError: The model has no layers that can be called one by one, or the data lacks an attribute.

    Examples:
        >>> from graphzero import FeatureStore, Graph
        >>> def sums(x, edge_index):
        ...     return x.index_add(0, edge_index[1], x[edge_index[0]])
        >>> data = Graph(tiny_gl), FeatureStore(tiny_gd)             # 0→1  0→2  1→2  3→0
        >>> inference(None, data, "sums.gd", layers=[sums]).get_data(0)
        array([ 9., 11., 13.], dtype=float32)
    """
    given = as_graph_data(data, edge_features=edge_features)
    stores = _node_stores(given, features)
    along = {} if edge_features is None else _edge_stores(given)
    steps = steps_of(model, layers, is_hetero=given.is_hetero, with_edges=bool(along))
    modules = [module for module in (model, *(layers or ())) if isinstance(module, nn.Module)]
    check_one_hop(modules, "model" if layers is None else "layers")
    parameter = next((parameter for module in modules for parameter in module.parameters()), None)
    here = torch.device("cpu") if parameter is None else parameter.device
    place = here if device is None else as_device(device)
    floats = torch.float32 if parameter is None or not parameter.is_floating_point() else parameter.dtype
    stored: torch.dtype = getattr(torch, name_of(as_data_type(dtype)))
    run = _Run(AllNodes(given, along, batch_size, _budget(memory)), place, floats)
    total = len(steps) * sum(given.relations.num_nodes.values())
    path = os.path.abspath(target_here(out))
    _check_out(path, given, replaces=flag(overwrite, "overwrite"))
    with _scratch(path) as scratch:
        with _evaluating(modules, place), watching(progress, os.path.basename(path), total, "nodes", lambda: run.done):
            for number, step in enumerate(steps):
                folder = os.path.join(scratch, str(number))
                os.mkdir(folder)
                is_last = number == len(steps) - 1
                following = run.apply(number, step, stores, folder, stored if is_last else None)
                if number:
                    _close(stores)
                    shutil.rmtree(os.path.join(scratch, str(number - 1)))
                stores = following
        _close(stores)
        if not given.is_hetero:
            _take_place(next(iter(stores.values())).path, path, scratch)
            return FeatureStore(path)
        _take_place(folder, path, scratch)
        return {name: FeatureStore(os.path.join(path, f"{file_name(name)}.gd")) for name in stores}


@dataclass
class _Run:
    nodes: AllNodes
    device: torch.device
    floats: torch.dtype  # what layers compute with
    done: int = 0

    def apply(
        self, number: int, step: Step, stores: dict[str, FeatureStore], folder: str, stored: torch.dtype | None
    ) -> dict[str, FeatureStore]:
        """Write what a layer makes of the rows in ``stores``, a file for each node type it has rows for."""
        written = {}
        counts = self.nodes.data.relations.num_nodes
        for name, count in counts.items():
            before = self.done
            path = os.path.join(folder, f"{file_name(name)}.gd")
            with closing(self._rows(number, step, stores, name, stored)) as blocks:
                if _write(path, blocks, count):
                    written[name] = FeatureStore(path)
            self.done = before + count
        if not written:
            raise ValueError(f"layer {number}: expected rows of at least one of {list(counts)}, found none")
        return written

    def _rows(
        self, number: int, step: Step, stores: dict[str, FeatureStore], name: str, stored: torch.dtype | None
    ) -> Generator[torch.Tensor, None, None]:
        """Yield the rows of all nodes of a type in order; nothing, if the layer has none for the type."""
        first: tuple[torch.dtype, tuple[int, ...]] | None = None
        with closing(self.nodes.batches(stores, name)) as batches:
            for batch in batches:
                rows = self._call(number, step, batch, name)
                if rows is None and first is None:
                    return
                if rows is None:
                    raise ValueError(
                        f"layer {number}: expected rows of {name!r} in every batch, found none in {batch!r}"
                    )
                found = rows.dtype, tuple(rows.shape[1:])
                first = first or found
                if found != first:
                    raise ValueError(
                        f"layer {number}: expected rows of {first[0]} {first[1]} as in the first batch, "
                        f"found {found[0]} {found[1]}"
                    )
                if stored is not None and not torch.can_cast(rows.dtype, stored):
                    raise type_error(
                        "dtype", f"expected one that {rows.dtype} of the last layer can become, found {stored}"
                    )
                self.done += batch.num_seeds
                yield rows.to("cpu", stored)
                del batch, rows  # their memory is wanted for the next one

    def _call(self, number: int, step: Step, batch: Batch, name: str) -> torch.Tensor | None:
        sample = batch.sample
        rows: Any
        if self.nodes.data.is_hetero:
            x = {kind: self._tensor(values["x"]) for kind, values in batch.node_features.items()}
            edges = {triple: self._edges(sample.row[triple], sample.col[triple]) for triple in sample.row}
            along = {triple: self._tensor(values["edge_attr"]) for triple, values in batch.edge_features.items()}
            found = step(x, edges, along, batch.num_seeds)
            if not isinstance(found, Mapping):
                raise TypeError(
                    f"layer {number}: expected a dict of tensors by node type, found {type(found).__name__}"
                )
            if found.get(name) is None:
                return None
            rows, num_nodes = found[name], len(sample.node[name])
        else:
            attributes = self._tensor(batch.edge_features["edge_attr"]) if batch.edge_features else None
            edge_index = self._edges(sample.row, sample.col)
            rows = step(self._tensor(batch.node_features["x"]), edge_index, attributes, batch.num_seeds)
            num_nodes = len(sample.node)
        if not isinstance(rows, torch.Tensor) or rows.ndim == 0:
            raise TypeError(f"layer {number}: expected a tensor of rows, found {rows!r}")
        if len(rows) not in (num_nodes, batch.num_seeds):
            raise ValueError(
                f"layer {number}: expected a row for each of {num_nodes} nodes, or for each of the {batch.num_seeds} "
                f"seeds that come first, found {len(rows)}"
            )
        return rows[: batch.num_seeds]

    def _tensor(self, rows: NDArray[Any]) -> torch.Tensor:
        tensor = as_tensor(rows).to(self.device)
        return tensor.to(self.floats) if tensor.is_floating_point() else tensor

    def _edges(self, row: NDArray[np.int64], col: NDArray[np.int64]) -> torch.Tensor:
        return torch.from_numpy(np.stack([row, col])).to(self.device)


def _node_stores(data: GraphData, name: str) -> dict[str, FeatureStore]:
    if not isinstance(name, str):
        raise type_error("features", f"expected the name of an attribute, found {name!r}")
    of_nodes = [attribute for attribute in data.attributes if isinstance(attribute.of, str)]
    check_names([name], of_nodes, "features")
    return {str(attribute.of): attribute.store for attribute in of_nodes if attribute.name == name}


def _edge_stores(data: GraphData) -> dict[EdgeTriple, FeatureStore]:
    found: dict[EdgeTriple, FeatureStore] = {}
    for attribute in data.attributes:
        if isinstance(attribute.of, tuple):
            if attribute.of in found:
                raise value_error("edge_features", f"expected one attribute of {attribute.of}, found several")
            found[attribute.of] = attribute.store
    return found


def _budget(memory: Any) -> int:
    if memory is None:
        return pipeline_budget()
    return byte_count(memory) if isinstance(memory, str) else integer(memory, "memory")


def _take_place(new: str, path: str, scratch: str) -> None:
    """Give a finished file or folder its name; what had it goes to ``scratch``."""
    if os.path.lexists(path) and (os.path.isdir(new) or os.path.isdir(path)):
        if _core.exchange_names(os.fsencode(new), os.fsencode(path)):
            return
        rename(path, os.path.join(scratch, "replaced"))  # as on NFS, which cannot exchange two names
    replace(new, path)


def _check_out(path: str, data: GraphData, *, replaces: bool) -> None:
    """Prove that nothing is at ``path`` yet, or that it may be replaced."""
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise FileNotFoundError(errno.ENOENT, "out: no such folder; make it first", parent)
    if os.path.lexists(path):
        inputs: list[Mounted[Any] | Dataset] = [attribute.store for attribute in data.attributes]
        inputs += data.relations.graphs.values()
        inputs += [data.graph] if isinstance(data.graph, Dataset) else []
        if os.path.exists(path) and any(os.path.samefile(path, one.path) for one in inputs):
            raise value_error("out", "expected another path than those of the data, found one of them", where=path)
        if not replaces:
            raise error_of(
                lambda text: FileExistsError(errno.EEXIST, text, path),
                Argument("out"), ": exists; give ", Setting("overwrite", True), " to replace it, or another path",
            )  # fmt: skip
        if not _holds_rows(path, folder=data.is_hetero):
            expected = "a folder of .gd files" if data.is_hetero else "a file"
            raise FileExistsError(errno.EEXIST, f"out: expected {expected} to replace, found something else", path)


def _holds_rows(path: str, *, folder: bool) -> bool:
    """Whether what is at ``path`` can have been written by us: nothing else is removed."""
    if os.path.islink(path) or not os.path.isdir(path):
        return not folder
    return folder and all(name.endswith(".gd") for name in os.listdir(path))


@contextmanager
def _scratch(path: str) -> Iterator[str]:
    """Make a hidden folder beside ``path`` for the time of the block."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(hidden_folder(path))
        except OSError as error:
            raise OSError(error.errno, f"out: cannot be written: {error.strerror}", path) from None
        yield folder


@contextmanager
def _evaluating(modules: list[nn.Module], device: torch.device) -> Iterator[None]:
    """Put modules in evaluation mode, without gradients; each part of them gets its own mode back."""
    training = {part: part.training for module in modules for part in module.modules()}
    try:
        for module in modules:
            module.to(device).eval()
        with torch.inference_mode():
            yield
    finally:
        for part, flag in training.items():
            part.training = flag


def _write(path: str, blocks: Iterator[torch.Tensor], num_rows: int) -> bool:
    """Write rows that come in blocks, and return whether any block came."""
    block = next(blocks, None)
    if block is None:
        return False
    stored, shape = as_data_type(block.dtype), tuple(block.shape[1:])
    with RowWriter(path, stored, shape, quantised=False, num_rows=num_rows) as out:
        while block is not None:
            items = block.contiguous()
            out.append((items.view(torch.int16) if items.dtype == torch.bfloat16 else items).numpy(), None)
            del block, items  # a layer may return what it got, whose memory is wanted for the next batch
            block = next(blocks, None)
        out.finish()
    return True


def _close(stores: dict[str, FeatureStore]) -> None:
    for store in stores.values():
        store.close()
