"""Where modules were before 0.3: pickles name the module of a class, and those written then must open now."""

from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_NOW = {
    "dataset_conversion": "convert.dataset",
    "dataset_writer": "convert.dataset_writer",
    "edge_conversion": "convert.edges",
    "feature_conversion": "convert.features",
    "loaders.batch_assembly": "loaders._epoch.assembly",
    "loaders.batch_forms": "loaders._batch.forms",
    "loaders.foreign_stores": "loaders.pyg.foreign_stores",
    "loaders.graph_data": "loaders._data.graph_data",
    "loaders.keys": "loaders._process.keys",
    "loaders.late_rows": "loaders._batch.late_rows",
    "loaders.link_neighbor_loader": "loaders.link",
    "loaders.loader_options": "loaders.options",
    "loaders.neighbor_loader": "loaders.neighbor",
    "loaders.node_times": "loaders._data.node_times",
    "loaders.pyg_objects": "loaders.pyg.objects",
    "loaders.pyg_sampler": "loaders.pyg.sampler",
    "loaders.pyg_stores": "loaders.pyg.stores",
    "loaders.ranks": "loaders._process.ranks",
    "loaders.sentences": "loaders._embedding.sentences",
    "loaders.temporary_dataset": "loaders._data.temporary_dataset",
    "loaders.worker_epochs": "loaders._process.worker_epochs",
    "mounted": "_files.mounted",
    "pipeline_inputs": "_inputs.attributes",
    "relations": "_inputs.edge_types",
    "temporary_graphs": "_dataset.temporary_graphs",
    "training": "train",
}


class _Loader:
    """Gives a module that is there under another name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        found = import_module("graphzero." + _NOW[spec.name.partition(".")[2]])
        spec.loader_state = found.__spec__  # importlib is about to replace it
        return found

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def old_module(name: str) -> ModuleSpec | None:
    """Return how to import a module by its old name; ``None`` if there never was such a module."""
    return ModuleSpec(name, _Loader()) if name.partition(".")[2] in _NOW else None  # type: ignore[arg-type]
