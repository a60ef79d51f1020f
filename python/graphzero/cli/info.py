"""``graphzero info``: what a file or a data set holds. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import graphzero as gz
from graphzero.cli.console import JsonOption, PathArgument, print_facts, print_json


def info(
    path: PathArgument,
    json: JsonOption = False,
    degrees: Annotated[
        bool, typer.Option("--degrees", help="Read all degrees of a large graph, not a sample.")
    ] = False,
) -> int:
    """Show what a file or a data set holds, its degrees, and how much of it is in the page cache."""
    from graphzero.cli.file_facts import (
        dataset_facts,
        dataset_rows,
        features_facts,
        features_rows,
        graph_facts,
        graph_rows,
        ids_facts,
        ids_rows,
    )  # fmt: skip
    from graphzero.verification import is_features, is_ids

    name = os.fspath(path)
    if os.path.isdir(name):
        facts = dataset_facts(name, degrees)
        rows = dataset_rows(facts)
    elif is_features(name):
        if degrees:
            raise typer.BadParameter(f"--degrees is about graphs, and {name} holds features")
        with gz.FeatureStore(name) as store:
            facts = features_facts(store)
        rows = features_rows(facts)
    elif is_ids(name):
        if degrees:
            raise typer.BadParameter(f"--degrees is about graphs, and {name} holds ids")
        with gz.IdDictionary(name) as ids:
            facts = ids_facts(ids)
        rows = ids_rows(facts)
    else:
        with gz.Graph(name) as graph:
            facts = graph_facts(graph, degrees)
        rows = graph_rows(facts)
    if json:
        print_json(facts)
    else:
        print_facts(name, rows)
    return 0
