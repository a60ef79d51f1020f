"""``graphzero info``: what a file or a data set holds. docs/guide/command-line.md lists the JSON."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphzero as gz
from graphzero._files.storage import is_url
from graphzero.cli.console import JsonOption, print_facts, print_json

if TYPE_CHECKING:
    from graphzero._look.limits import Limits


def info(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A .gl file, a .gd file, a data set folder, or the URL of one.", show_default=False
        ),
    ],
    json: JsonOption = False,
    degrees: Annotated[
        bool, typer.Option("--degrees", help="Read all degrees of a large graph, not a sample.")
    ] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Read everything, however large, not a sample.")] = False,
) -> int:
    """Show what a file or a data set holds: types, attributes, labels, degrees, and what is in the page cache."""
    from graphzero._look.limits import COMMAND, EXACT

    if is_url(path):
        return _look_at_stored(path, json, sampled=not (degrees or exact))
    limits = EXACT if exact else replace(COMMAND, nodes=None) if degrees else COMMAND
    facts, lines = _look_at(path, limits, degrees)
    if json:
        print_json(facts)
    else:
        print_facts(path, lines)
    return 0


def _look_at_stored(url: str, json: bool, *, sampled: bool) -> int:
    from graphzero._files.storage import located
    from graphzero._look.stored_facts import stored_facts
    from graphzero.cli.fact_lines import stored_lines

    place = located(url)
    if not sampled:
        raise typer.BadParameter(f"--degrees and --exact read files, and {place} is in storage; stage it first")
    facts = stored_facts(place)
    if json:
        print_json(facts)
    else:
        print_facts(str(place), stored_lines(facts))
    return 0


def _look_at(name: str, limits: Limits, degrees: bool) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    from graphzero._dataset.file_kinds import is_features, is_ids
    from graphzero._look.dataset_facts import dataset_facts
    from graphzero._look.file_facts import features_facts, graph_facts, ids_facts
    from graphzero._look.words import features_rows, file_rows, graph_rows, ids_rows
    from graphzero.cli.fact_lines import dataset_lines, lines_of

    if os.path.isdir(name):
        with gz.open(name) as ds:
            facts = dataset_facts(ds, limits)
        return facts, dataset_lines(facts)
    if is_features(name):
        if degrees:
            raise typer.BadParameter(f"--degrees is about graphs, and {name} holds features")
        with gz.FeatureStore(name) as store:
            facts = features_facts(store, limits)
        rows = features_rows(facts)
    elif is_ids(name):
        if degrees:
            raise typer.BadParameter(f"--degrees is about graphs, and {name} holds ids")
        with gz.IdDictionary(name) as ids:
            facts = ids_facts(ids, limits)
        rows = ids_rows(facts)
    else:
        with gz.Graph(name) as graph:
            facts = graph_facts(graph, limits)
        rows = graph_rows(facts)
    return facts, lines_of([*rows, *file_rows(facts)])
