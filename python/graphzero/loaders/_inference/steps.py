"""The layers of a model, one by one: which there are, and whether one hop is enough for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from graphzero._base.argument_errors import type_error, value_error

# A layer with its arguments: rows and edges of a batch, attributes of the edges if wanted, number of seeds.
Step = Callable[[Any, Any, Any, int], Any]

# Messages are divided by the degrees of both ends, and one hop has but those of the seeds.
_DEGREES = frozenset({"DNAConv", "FAConv", "GCN2Conv", "GCNConv", "LGConv", "PDNConv"})
_SEVERAL_HOPS = frozenset(
    {"APPNP", "ARMAConv", "ChebConv", "GatedGraphConv", "MixHopConv", "PANConv", "SGConv", "SSGConv", "TAGConv"}
)
_ALL_NODES = frozenset(
    {"GPSConv", "GraphNorm", "GraphSizeNorm", "HANConv", "InstanceNorm", "MeanSubtractionNorm", "PairNorm"}
)


def steps_of(model: Any, layers: Any, *, is_hetero: bool, with_edges: bool) -> list[Step]:
    """Return the layers of a model, or those given. ``with_edges``: they take attributes of edges."""
    if layers is not None:
        if not isinstance(model, (nn.Module, type(None))):
            raise type_error("model", f"expected a torch module, or None, found {type(model).__name__}")
        if not isinstance(layers, (list, tuple, nn.ModuleList)) or not all(callable(layer) for layer in layers):
            raise type_error("layers", f"expected a list of functions, one for each layer, found {layers!r}")
        if not len(layers):
            raise value_error("layers", "expected at least one, found none")
        return [_with_edges(layer) if with_edges else _without_edges(layer) for layer in layers]
    kind = type(model).__name__
    signature = "(x_dict, edge_index_dict) -> dict of rows" if is_hetero else "(x, edge_index) -> rows"
    advice = f"pass layers=, a list of functions {signature}, one for each layer"
    if not hasattr(model, "inference_per_layer") or not isinstance(getattr(model, "num_layers", None), int):
        raise type_error(
            "model", f"expected one with num_layers and inference_per_layer, as PyG's, found {kind}; {advice}"
        )
    if is_hetero:
        raise value_error("model", f"expected layers for several types of node and edge, found {kind}; {advice}")
    if getattr(model, "jk_mode", None) not in (None, "last"):
        raise value_error(
            "model",
            f"expected jk=None or 'last', found {model.jk_mode!r}, which needs the rows of all layers; "
            "carry them along in the rows of layers= instead",
        )
    if with_edges:
        raise value_error("edge_features", f"inference_per_layer of {kind} takes none; {advice}")
    return [_per_layer(model, number) for number in range(model.num_layers)]


def _with_edges(layer: Callable[..., Any]) -> Step:
    return lambda x, edges, along, num_seeds: layer(x, edges, along)


def _without_edges(layer: Callable[..., Any]) -> Step:
    return lambda x, edges, along, num_seeds: layer(x, edges)


def _per_layer(model: Any, number: int) -> Step:
    return lambda x, edges, along, num_seeds: model.inference_per_layer(number, x, edges, num_seeds)


def check_one_hop(modules: Iterable[nn.Module], name: str) -> None:
    """Refuse what needs more of the graph than the rows of a node's neighbours. ``name`` opens the error message."""
    for module in modules:
        for part in module.modules():
            if needs := _needs(part):
                raise value_error(
                    name,
                    f"expected layers that need no more than the rows of a node and its neighbours, found "
                    f"{type(part).__name__}, which needs {needs}",
                )


def _needs(part: Any) -> str | None:
    for kind in type(part).__mro__:
        if not kind.__module__.startswith("torch_geometric.nn."):
            continue
        if kind.__name__ in _DEGREES and part.normalize:
            return "the degrees of neighbours; give it normalize=False and weights, as the guide to inference shows"
        if kind.__name__ == "EGConv" and "symnorm" in part.aggregators:
            return "the degrees of neighbours for 'symnorm'"
        if kind.__name__ in _SEVERAL_HOPS:
            return "several hops at once"
        if kind.__name__ in _ALL_NODES or (kind.__name__ == "LayerNorm" and part.mode == "graph"):
            return "all nodes at once"
        if kind.__name__ == "DirGNNConv" or getattr(part, "flow", None) == "target_to_source":
            return "the edges that leave a node"
    return None
