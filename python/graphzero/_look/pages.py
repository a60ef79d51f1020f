"""What a notebook shows of a mounted file or a data set: the facts of ``graphzero info``, from a smaller sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphzero._base.html import Html, bars, card, columns, fact_table, folded, line, table
from graphzero._base.memory_sizes import byte_text
from graphzero._core import FormatError
from graphzero._look.dataset_facts import dataset_facts
from graphzero._look.file_facts import features_facts, graph_facts, ids_facts
from graphzero._look.limits import NOTEBOOK
from graphzero._look.words import (
    Bars,
    Row,
    dataset_parts,
    features_rows,
    graph_rows,
    ids_rows,
    share_text,
    split_text,
    type_text,
)

if TYPE_CHECKING:
    from graphzero._files.mounted import Mounted
    from graphzero.dataset import Dataset
    from graphzero.features import FeatureStore
    from graphzero.graph import Graph
    from graphzero.ids import IdDictionary

# Kinds of node or edge that are unfolded at first.
_OPEN = 4


def graph_html(graph: Graph) -> str:
    """Show a graph with its degrees."""
    return _file_html("Graph", graph, lambda: graph_rows(graph_facts(graph, NOTEBOOK)))


def features_html(store: FeatureStore) -> str:
    """Show a feature file."""
    return _file_html("FeatureStore", store, lambda: features_rows(features_facts(store, NOTEBOOK)))


def ids_html(ids: IdDictionary) -> str:
    """Show an id dictionary with its first labels."""
    return _file_html("IdDictionary", ids, lambda: ids_rows(ids_facts(ids, NOTEBOOK)))


def dataset_html(ds: Dataset) -> str:
    """Show a data set, kind by kind."""
    stores = list(ds.stores())
    closed = sum(store.closed for store in stores)
    if closed:
        found = "closed" if closed == len(stores) else f"{closed:,} of {len(stores):,} files are closed"
        return card("Dataset", ds.path, fact_table([("state", found)]))
    return _or_problem("Dataset", ds.path, lambda: _dataset_parts_html(ds))


def _dataset_parts_html(ds: Dataset) -> list[str]:
    facts = dataset_facts(ds, NOTEBOOK)
    head = [("holds", f"{_count(ds.nodes, 'node type')}, {_count(ds.edges, 'edge type')}"),
            ("size", f"{byte_text(facts['size'])} in {_count(facts['files'], 'file')}")]  # fmt: skip
    parts: list[str] = [fact_table(head)]
    for number, part in enumerate(dataset_parts(facts)):
        parts.append(folded(part.name, part.text, _rows_html(part.rows), is_open=number < _OPEN))
    for what, shown, there in (("node", facts["nodes"], ds.nodes), ("edge", facts["edges"], ds.edges)):
        if len(shown) < len(there):
            parts.append(line(f"And {len(there) - len(shown):,} more {what} types."))
    if facts["splits"]:
        text = ", ".join(dict.fromkeys(split["name"] for split in facts["splits"]))
        rows = [
            (f"{split['name']} of {type_text(split['of'])}", split["share"] or 0.0, split_text(split))
            for split in facts["splits"]
        ]
        parts.append(folded("splits", text, bars(rows)))
    return parts


def _count(things: Sequence[Any] | Any, name: str) -> str:
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"


def _file_html(kind: str, store: Mounted[Any], rows: Callable[[], Sequence[Row]]) -> str:
    if store.closed:
        return card(kind, store.path, fact_table([("state", "closed")]))

    def parts() -> list[str]:
        return [_rows_html([*rows(), Row("size", byte_text(store.nbytes))])]

    return _or_problem(kind, store.path, parts)


def _or_problem(kind: str, path: str, parts: Callable[[], Iterable[str]]) -> str:
    """Show what is wrong with a damaged file in place of its facts: a cell with a traceback would say less."""
    try:
        return card(kind, os.fspath(path), *parts())
    except (FormatError, OSError) as error:
        return card(kind, os.fspath(path), fact_table([("problem", str(error))]))


def _rows_html(rows: Iterable[Row]) -> Html:
    return table((row.name, row.text, None if row.bars is None else _drawn(row.bars)) for row in rows)


def _drawn(counts: Bars) -> Html:
    if counts.is_scale:
        return columns(counts.names, counts.counts, counts.unit)
    most = max(counts.counts) or 1
    return bars(
        [
            (name, count / most, f"{count:,} · {share_text(count, counts.total)}")
            for name, count in zip(counts.names, counts.counts, strict=True)
        ]
    )
