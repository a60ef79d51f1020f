"""``graphzero synth``: generate a data set. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

import graphzero as gz
from graphzero._base.argument_errors import value_error
from graphzero.cli.console import JsonOption, print_facts, print_json
from graphzero.synth.recipe import PRESETS


def synth(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder to write.", show_default=False)],
    preset: Annotated[str | None, typer.Option(help=f"Sizes to start from: {', '.join(PRESETS)}.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes.")] = None,
    edges: Annotated[int | None, typer.Option(help="Number of edges. Default: 16 per node.")] = None,
    kind: Annotated[str | None, typer.Option(help="blocks (edges depend on labels), rmat or ba.")] = None,
    features: Annotated[int | None, typer.Option(help="Number of features per node; 0 for none.")] = None,
    feature_dtype: Annotated[str | None, typer.Option(help="float16, bfloat16, float32 or float64.")] = None,
    classes: Annotated[int | None, typer.Option(help="Number of classes.")] = None,
    homophily: Annotated[float | None, typer.Option(help="Share of edges that stay in their class.")] = None,
    skew: Annotated[int | None, typer.Option(help="How unequal degrees are, 1 to 8.")] = None,
    signal: Annotated[float | None, typer.Option(help="How strongly features depend on the class.")] = None,
    train: Annotated[str | None, typer.Option(help="Training nodes: a share such as 0.6, or a count.")] = None,
    valid: Annotated[str | None, typer.Option(help="Validation nodes.")] = None,
    test: Annotated[str | None, typer.Option(help="Test nodes.")] = None,
    hetero: Annotated[bool, typer.Option("--hetero", help="Make papers, authors and institutions.")] = False,
    temporal: Annotated[bool, typer.Option("--temporal", help="Give nodes and edges times.")] = False,
    undirected: Annotated[
        bool | None, typer.Option("--undirected/--directed", help="Whether to store each edge both ways.")
    ] = None,
    index: Annotated[str | None, typer.Option(help="Which index to store: both, out or in.")] = None,
    edge_ids: Annotated[
        bool | None, typer.Option("--edge-ids/--no-edge-ids", help="Whether to store edge ids; off needs one index.")
    ] = None,
    order: Annotated[str | None, typer.Option(help="id, or hot to store the hottest rows first.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same data set.")] = 0,
    memory: Annotated[str | None, typer.Option(help="Memory limit, such as 2GB.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a data set folder.")] = False,
    json: JsonOption = False,
) -> int:
    """Generate a data set of any size: a graph, features, labels and splits."""
    from graphzero._look.dataset_facts import dataset_facts
    from graphzero._look.limits import COMMAND
    from graphzero.cli.fact_lines import dataset_lines

    begin = time.perf_counter()
    gz.synthesize(
        path, nodes, edges, preset=preset, kind=kind, features=features,  # type: ignore[arg-type]
        feature_dtype=feature_dtype, classes=classes, homophily=homophily, skew=skew, signal=signal,
        train=_part(train, "train"), valid=_part(valid, "valid"), test=_part(test, "test"), hetero=hetero,
        temporal=temporal, undirected=undirected, index=index, edge_ids=edge_ids, order=order,  # type: ignore[arg-type]
        seed=seed, memory=memory, progress=sys.stderr.isatty(), overwrite=overwrite,
    ).close()  # fmt: skip
    seconds = time.perf_counter() - begin
    with gz.open(path) as ds:
        facts = dataset_facts(ds, COMMAND)
    if json:
        print_json(facts | {"seconds": seconds})
    else:
        print_facts(os.fspath(path), [*dataset_lines(facts), ("time", f"{seconds:.1f} s")])
    return 0


def _part(text: str | None, name: str) -> float | int | None:
    if text is None:
        return None
    try:
        return int(text) if text.replace("_", "").isdigit() else float(text)
    except ValueError:
        raise value_error(name, f"expected a share such as 0.6 or a number of nodes, found {text!r}") from None
