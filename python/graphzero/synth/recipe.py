"""What a synthetic data set is made of: sizes, laws and splits, checked before the first byte is written."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from graphzero._base.argument_errors import Setting, error_of, type_error, value_error
from graphzero._base.integers import integer

Kind: TypeAlias = Literal["blocks", "rmat", "ba"]
# A share of the nodes if it is a float, a number of them if it is an int.
Part: TypeAlias = "float | int"

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_EDGES_PER_NODE = 16
# Ranks are computed in float64, which is exact for many more nodes.
_MOST_NODES = 2**40
_MOST_EDGES = 2**48
_MOST_FEATURES = 2**20
_MOST_CLASSES = 2**20
_LARGEST_SKEW = 8
_LARGEST_SIGNAL = 100  # float16 holds the rows of any number of classes
_OF_BLOCKS = ("homophily", "skew")


@dataclass(frozen=True)
class Recipe:
    """The options of ``graphzero.synthesize()``, which explains them. Counts are of all kinds of node and edge."""

    nodes: int = 0
    edges: int = 0
    kind: Kind = "blocks"
    features: int = 128
    feature_dtype: str = "float16"
    classes: int = 16
    homophily: float = 0.6
    skew: int = 3
    signal: float = 0.75
    train: Part = 0.6
    valid: Part = 0.2
    test: Part = 0.2
    hetero: bool = False
    temporal: bool = False
    undirected: bool = False
    index: Literal["both", "out", "in"] = "both"
    edge_ids: bool = True
    order: Literal["id", "hot"] = "id"
    seed: int = 0

    def node_counts(self) -> dict[str, int]:
        """Return the kinds of node of a heterogeneous data set: half are papers, few are institutions."""
        papers = self.nodes // 2
        institutions = max(self.classes, self.nodes // 1000)
        return {"paper": papers, "author": self.nodes - papers - institutions, "institution": institutions}

    def edge_counts(self) -> dict[str, int]:
        """Return the relations of a heterogeneous data set in about the shares of MAG240M."""
        cites, affiliated = self.edges * 3 // 4, self.edges // 32
        return {"cites": cites, "writes": self.edges - cites - affiliated, "affiliated": affiliated}

    def split_ranges(self, num_nodes: int) -> dict[str, range]:
        """Return the positions, among ``num_nodes`` shuffled nodes, of each split."""
        ranges, begin = {}, 0.0
        for name in ("train", "valid", "test"):
            part = getattr(self, name)
            end = begin + (part * num_nodes if isinstance(part, float) else part)
            # Ends are rounded, not sizes: shares that make a whole leave no node out.
            ranges[name] = range(math.floor(begin + 0.5), min(math.floor(end + 0.5), num_nodes))
            begin = end
        return ranges


PRESETS: dict[str, Recipe] = {
    "tiny": Recipe(nodes=2_000, edges=20_000, features=32, classes=8),
    "small": Recipe(nodes=100_000, edges=1_600_000, features=64, classes=16),
    # The sizes and splits of ogbn-products and ogbn-papers100M (Hu et al.: Open Graph Benchmark, NeurIPS 2020).
    "products": Recipe(
        nodes=2_449_029, edges=61_859_140, features=100, feature_dtype="float32", classes=47,
        train=196_615, valid=39_323, test=2_213_091, undirected=True,
    ),
    "papers100m": Recipe(
        nodes=111_059_956, edges=1_615_685_872, features=128, classes=172,
        train=1_207_179, valid=125_265, test=214_338, index="in", edge_ids=False,
    ),
}  # fmt: skip


def make_recipe(preset: str | None, given: dict[str, Any]) -> Recipe:
    """Return the preset with what the user gave in its place; ``None`` in ``given`` means not given."""
    if preset is not None and preset not in PRESETS:
        raise value_error("preset", f"expected one of {', '.join(PRESETS)}, found {preset!r}")
    chosen = {name: value for name, value in given.items() if value is not None}
    if preset is None and "nodes" not in chosen:
        presets = f" one of {', '.join(PRESETS)}"
        raise value_error("nodes", "expected a number of nodes, or ", Setting("preset"), presets, ", found neither")
    if "nodes" in chosen and "edges" not in chosen and preset is None:
        chosen["edges"] = _EDGES_PER_NODE * integer(chosen["nodes"], "nodes")
    recipe = replace(PRESETS[preset] if preset is not None else Recipe(), **chosen)
    for name in _OF_BLOCKS:
        if name in chosen and recipe.kind != "blocks":
            raise _of_blocks_only(name, recipe)
    return _checked(recipe)


def _checked(recipe: Recipe) -> Recipe:
    _one_of(recipe.kind, "kind", "blocks", "rmat", "ba")
    _one_of(recipe.index, "index", "both", "out", "in")
    _one_of(recipe.order, "order", "id", "hot")
    from graphzero._base.dtypes import (  # and with it NumPy, which the names of presets do not need
        as_data_type,
        name_of,
    )

    stored = name_of(as_data_type(recipe.feature_dtype, "feature_dtype"))
    if stored not in _FLOATS:
        raise value_error("feature_dtype", f"expected one of {', '.join(_FLOATS)}, found {stored}")
    homophily = _real(recipe.homophily, "homophily")
    if not 0 <= homophily <= 1:
        raise value_error("homophily", f"expected a share from 0 to 1, found {homophily:g}")
    signal = _real(recipe.signal, "signal")
    if not 0 <= signal <= _LARGEST_SIGNAL:
        raise value_error("signal", f"expected 0 to {_LARGEST_SIGNAL}, found {signal:g}")
    if not recipe.edge_ids and (recipe.index == "both" or recipe.undirected):
        one_index = Setting("index", "in"), " or ", Setting("index", "out")
        raise error_of(ValueError, Setting("edge_ids", False), ": expected ", *one_index, ", and a directed graph")
    checked = replace(
        recipe,
        nodes=_between(recipe.nodes, "nodes", 1, _MOST_NODES),
        edges=_between(recipe.edges, "edges", 1, _MOST_EDGES),
        features=_between(recipe.features, "features", 0, _MOST_FEATURES),
        feature_dtype=stored,
        classes=_between(recipe.classes, "classes", 1, _MOST_CLASSES),
        homophily=homophily,
        skew=_between(recipe.skew, "skew", 1, _LARGEST_SKEW),
        signal=signal,
    )
    if checked.hetero:
        _check_hetero(checked)
    elif checked.classes > checked.nodes:
        raise value_error("classes", f"expected at most {checked.nodes}, the number of nodes, found {checked.classes}")
    return _with_parts(checked)


def _check_hetero(recipe: Recipe) -> None:
    if recipe.kind != "blocks":
        raise _of_blocks_only("hetero", recipe)
    if recipe.undirected:
        reason = " with it; writes and affiliated get reverse edges anyway"
        raise value_error("hetero", "expected ", Setting("undirected", False), reason)
    counts = recipe.node_counts()
    short = min(counts.values())
    if short < recipe.classes:
        raise value_error(
            "nodes",
            f"expected at least {recipe.classes} of each kind, one per class, found "
            + ", ".join(f"{count} {name}s" for name, count in counts.items()),
        )
    if min(recipe.edge_counts().values()) < 1:
        raise value_error("edges", "expected at least 32 with ", Setting("hetero", True), f", found {recipe.edges}")


def _of_blocks_only(name: str, recipe: Recipe) -> ValueError:
    return value_error(name, "expected ", Setting("kind", "blocks"), " with it, found ", Setting("kind", recipe.kind))


def _with_parts(recipe: Recipe) -> Recipe:
    """Check the splits: shares that are at most 1 together, counts that are there."""
    num_nodes = recipe.node_counts()["paper"] if recipe.hetero else recipe.nodes
    names = ("train", "valid", "test")
    parts: dict[str, Part] = {}
    for name in names:
        part = getattr(recipe, name)
        parts[name] = part if isinstance(part, float) else _between(part, name, 0, num_nodes)
        if isinstance(part, float) and not 0 <= part <= 1:
            raise value_error(name, f"expected a share from 0.0 to 1.0, or a whole number of nodes, found {part:g}")
    total = sum(part * num_nodes if isinstance(part, float) else part for part in parts.values())
    if total > num_nodes * (1 + 1e-9):
        raise ValueError(
            f"train, valid and test: expected at most {num_nodes} nodes together, found {total:.0f}: "
            + ", ".join(f"{name}={parts[name]}" for name in names)
        )
    return replace(recipe, train=parts["train"], valid=parts["valid"], test=parts["test"])


def _between(value: Any, name: str, least: int, most: int) -> int:
    number = integer(value, name)
    if not least <= number <= most:
        raise value_error(name, f"expected {least} to {most}, found {number}")
    return number


def _one_of(value: Any, name: str, *choices: str) -> None:
    if value not in choices:
        raise value_error(name, f"expected one of {', '.join(map(repr, choices))}, found {value!r}")


def _real(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise type_error(name, f"expected a number, found {value!r}")
    return float(value)
