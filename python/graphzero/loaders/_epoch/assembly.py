"""A pipeline's batch as what a model takes: its parts under PyG's names, rows that come late, and an object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphzero._base.argument_errors import value_error
from graphzero._base.dtypes import FLOAT32, as_data_type
from graphzero._dataset.feature_share import FeatureShare
from graphzero._inputs.attributes import Attribute, Attributes
from graphzero.dataset import TypeName
from graphzero.loaders._batch.forms import as_pyg, as_torch_batch, has_pyg
from graphzero.loaders._batch.late_rows import FileRows, Key, LateRows, Shown
from graphzero.loaders._batch.parts import Parts, Values, sampled_parts
from graphzero.loaders._batch.tensors import as_tensor
from graphzero.loaders._data.graph_data import GraphData
from graphzero.loaders._exchange.shared_rows import SharedRows
from graphzero.loaders.options import LoaderOptions
from graphzero.pipeline import Batch, HostRows


class Assembly:
    """Knows what belongs into batches.

    ``attributes`` are what a pipeline gathers, none if files are read late, once a user has changed the sample.
    ``shared`` are those whose rows hosts divide. They become ``dtypes``; a CUDA device converts rows faster than they
    are copied, so that they arrive there in ``host_dtypes``, and those that are stored in steps of a scale
    ``with_scales``.
    """

    def __init__(
        self,
        data: GraphData,
        options: LoaderOptions,
        *,
        reads_late: bool,
        is_cuda: bool,
    ) -> None:
        self._data = data
        self._edge_devices = data.edge_devices
        self._custom_cls = options.custom_cls
        self._uses_pyg = options.form == "pyg" or (options.form is None and has_pyg())
        if (options.custom_cls is not None or reads_late) and not self._uses_pyg:
            raise ValueError(
                "custom_cls, transform_sampler_output: expected PyG with them, found form='torch' or no PyG"
            )
        _check_names(data)
        labels = _seed_labels(data) if options.labels == "seeds" else []
        attributes = Attributes(one for one in data.attributes if (one.of, one.name) not in labels)
        columns = [key for key in data.unstored.columns if key not in labels]
        unstored = {name for _, name in data.unstored.columns}
        self.dtypes = _dtypes(attributes, options.dtype, unstored)
        late, early = (attributes, Attributes()) if reads_late else (Attributes(), attributes)
        self.shared = Attributes(one for one in early if isinstance(one.store, FeatureShare))
        self.attributes = Attributes(one for one in early if one not in self.shared)
        self.host_dtypes, self.with_scales = self.dtypes, list[Attribute]()
        if is_cuda:
            quantised = [one for one in early if one.store.quantised and one.name in self.dtypes]
            self.with_scales = [one for one in quantised if as_data_type(self.dtypes[one.name]) is FLOAT32]
            self.host_dtypes = {one.name: self.dtypes[one.name] for one in quantised if one not in self.with_scales}
        in_files = [key for key in labels if key not in data.unstored.rows]
        files = {(one.of, one.name): one.store for one in late}
        files.update({(of, name): data.stores_of(str(of))[name] for of, name in in_files})
        self.late_shares = Attributes(
            Attribute(name, of, store) for (of, name), store in files.items() if isinstance(store, FeatureShare)
        )
        self._file_rows = FileRows(files, self.dtypes)
        self._late = [
            LateRows(self._file_rows, [(one.of, one.name) for one in late], in_files, None),
            LateRows(data.unstored.rows, columns, [key for key in labels if key not in in_files], options.dtype),
        ]

    @property
    def attributes_of_batch(self) -> Attributes:
        """All attributes that batches have before a user changes the sample, in the order of the data."""
        return Attributes(one for one in self._data.attributes if one in self.attributes or one in self.shared)

    @property
    def in_core(self) -> dict[str, Any]:
        """The types that the pipeline converts rows to, by the name of an attribute."""
        own, shared = ({one.name for one in some} for some in (self.attributes, self.shared))
        return {name: dtype for name, dtype in self.host_dtypes.items() if name in own or name not in shared}

    def fetch_late(self, shared: SharedRows) -> None:
        """Have rows that hosts divide come from there, if they are read late."""
        self._file_rows.shared = shared

    def parts(
        self, batch: Batch, describe_seeds: Callable[[Batch, Parts], None], transform: Callable[[Any], Any] | None
    ) -> Parts:
        """Name the parts of a batch, apply the user's transform to the sample, and fetch missing rows."""
        relations = self._data.relations
        parts = sampled_parts(batch.sample, relations.node_types[0], relations.edge_type)
        describe_seeds(batch, parts)
        if transform is not None:
            from graphzero.loaders._batch.sampler_outputs import from_sampler_output, to_sampler_output

            parts = from_sampler_output(transform(to_sampler_output(parts)), parts)
        reserved = _reserved_names(parts)
        shown: list[Shown] = []
        for by_type, features in ((parts.nodes, batch.node_features), (parts.edges, batch.edge_features)):
            if not parts.is_hetero:
                features = dict.fromkeys(by_type, features)
            for of, named in features.items():
                for name, values in named.items():
                    shown.append((of, name, values if isinstance(values, HostRows) else as_tensor(values)))
        for rows in self._late:
            shown += rows.of_batch(parts)
        shown += self._other(parts)
        for of, name, value in shown:
            if name not in reserved[of]:
                _group(parts, of)[name] = value
        for kind, values in parts.nodes.items():
            label = self._data.label_of(kind)
            if label in values and "y" not in values:
                values["y"] = values[label]
        for of, device in self._edge_devices.items():
            parts.edges[of]["edge_index"] = parts.edges[of]["edge_index"].to(device)
        return parts

    def _other(self, parts: Parts) -> Iterator[Shown]:
        for kind in self._data.unstored.counted:
            yield kind, "num_nodes", len(parts.nodes[kind]["n_id"])
        for of, values in self._data.unstored.other.items():
            yield from ((of, name, value) for name, value in values.items())

    def load_form(self) -> None:
        """Import PyG before the first batch: after it, that would look like the caller's time."""
        if self._uses_pyg:
            import torch_geometric.data  # noqa: F401

    def form(self, parts: Parts, *, pin: bool) -> Any:
        """Put parts into an object."""
        if self._uses_pyg:
            empty = self._custom_cls() if self._custom_cls is not None else self._data.empty_batch()
            batch = as_pyg(parts, empty)
        else:
            batch = as_torch_batch(parts)
        return batch.pin_memory() if pin and torch.cuda.is_available() else batch


def _group(parts: Parts, of: TypeName | None) -> Values:
    if of is None:
        return parts.whole
    return parts.edges[of] if isinstance(of, tuple) else parts.nodes[of]


def _reserved_names(parts: Parts) -> dict[TypeName | None, set[str]]:
    """Return the names, by type, that the loader itself sets: an attribute of such a name is not shown, as in PyG.

    Among them are names that it does not set this time. ``n_id`` and ``e_id`` are exceptions: an attribute comes first.
    """
    reserved: dict[TypeName | None, set[str]] = {None: set()}
    groups: list[tuple[TypeName, Values]] = [*parts.nodes.items(), *parts.edges.items()]
    for of, group in groups:
        names = reserved[of] = group.keys() - {"n_id", "e_id"}
        if names & {"batch_size", "src_index", "dst_pos_index"}:
            names.add("seed_time")
        if "edge_label_index" in names:
            names.add("edge_label")
        if isinstance(of, tuple) and "input_id" in names:
            names.update(("edge_label_index", "edge_label_time"))
    if parts.is_hetero:
        return reserved
    return dict.fromkeys(reserved, {"batch"}.union(*reserved.values()))  # one object holds them all


def _seed_labels(data: GraphData) -> list[Key]:
    found: list[Key] = []
    for node_type in data.relations.node_types:
        label = data.label_of(node_type) or "y"
        if (node_type, label) in data.unstored.rows or label in data.stores_of(node_type):
            found.append((node_type, label))
    if not found:
        raise value_error("labels", "expected an attribute 'y', or a data set that names its labels, found none")
    return found


def _check_names(data: GraphData) -> None:
    """Refuse attributes of nodes and of edges under one name: a homogeneous batch has one namespace."""
    if data.is_hetero:
        return
    names = [one.name for one in data.attributes] + [name for _, name in data.unstored.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"features, edge_features: expected different names, as a batch has one of each, found {twice[0]!r} twice"
        )


def _dtypes(attributes: list[Attribute], wanted: Any, unstored: set[str]) -> dict[str, Any]:
    """Return what attributes of files become, by name; ``unstored`` are names of others."""
    if isinstance(wanted, dict):
        own = {one.name for one in attributes}
        return {name: dtype for name, dtype in wanted.items() if name in own or name not in unstored}
    if wanted == "stored":
        return {}
    found = {}
    for one in attributes:
        narrow = one.store.quantised or one.store.dtype in ("float16", "bfloat16")
        if wanted is not None and (narrow or "float" in one.store.dtype):
            found[one.name] = wanted
        elif wanted is None and narrow:
            found[one.name] = "float32"
    return found
