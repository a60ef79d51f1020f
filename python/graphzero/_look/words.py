"""The words for facts: rows of a name and a text, with bars where there is something to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphzero._base.memory_sizes import byte_text

# Classes with a bar of their own; of more, the largest are shown.
_MOST_BARS = 12
_LONGEST_NAME = 32


@dataclass(frozen=True)
class Bars:
    """Counts to draw.

    Attributes:
        names: What is counted, one name per count.
        counts: The counts.
        unit: What each count is a number of.
        is_scale: Whether names are neighbours on a scale, as degrees are; else each stands for itself.
        total: What shares are of: the sum of all counts, drawn or not.
    """

    names: Sequence[str]
    counts: Sequence[int]
    unit: str
    is_scale: bool
    total: int


@dataclass(frozen=True)
class Row:
    """A fact in words, and what to draw under it."""

    name: str
    text: str
    bars: Bars | None = None


@dataclass(frozen=True)
class Part:
    """A kind of node or edge, and its rows."""

    name: str
    text: str
    rows: Sequence[Row]


def shortened(text: str) -> str:
    """Cut a name of any length to one that fits in a line."""
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def share_text(part: float, whole: float) -> str:
    """Write a share so that neither a few nor almost all look like none or all."""
    share = part / whole if whole else 0.0
    return "<0.1%" if 0 < share < 0.0005 else ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def features_rows(facts: dict[str, Any]) -> list[Row]:
    """Put what ``features_facts()`` gathered in words."""
    rows = [
        Row("holds", f"features, format {facts['format']}"),
        Row("rows", f"{facts['shape'][0]:,}" + (", hottest first" if facts["reordered"] else "")),
        Row("a row", f"{_array_text(facts)}, {byte_text(facts['row_bytes'])}"),
    ]
    return rows if facts["missing"] is None else [*rows, Row("missing", _missing_text(facts["missing"]))]


def _array_text(facts: dict[str, Any]) -> str:
    return " × ".join([*(f"{extent:,}" for extent in facts["shape"][1:]), facts["dtype"]])


def _missing_text(missing: dict[str, Any]) -> str:
    count, items = missing["num_missing"], missing["num_items"]
    found = f"{count:,} NaN, {share_text(count, items)}" if count else "no NaN"
    return found + (f" in {missing['num_rows']:,} rows from spread places" if missing["sampled"] else "")


def _attribute_row(name: str, facts: dict[str, Any]) -> Row:
    texts = [_array_text(facts), byte_text(facts["size"])]
    if share := facts.get("share"):
        hot = f" and {share['num_hot_rows']:,} that all hosts have" if share["num_hot_rows"] else ""
        texts.append(f"the {share['num_rows']:,} rows of host {share['host']} of {share['hosts']}{hot}")
    if facts["missing"] is not None:
        texts.append(_missing_text(facts["missing"]))
    if facts["categories"]:
        texts.append(f"{len(facts['categories']):,} categories: {_first(facts['categories'])}")
    return Row(name, ", ".join(texts))


def _first(names: Sequence[Any]) -> str:
    return ", ".join([*(shortened(str(name)) for name in names[:3]), *(["…"] if len(names) > 3 else [])])


def ids_rows(facts: dict[str, Any]) -> list[Row]:
    """Put what ``ids_facts()`` gathered in words."""
    return [
        Row("holds", f"id dictionary, format {facts['format']}"),
        Row("labels", f"{facts['num_labels']:,}, {facts['label_kind']}"),
        Row("first labels", _examples(facts) or "none"),
    ]


def _examples(facts: dict[str, Any]) -> str:
    more = ["…"] if facts["num_labels"] > len(facts["examples"]) else []
    return ", ".join([*(shortened(str(label)) for label in facts["examples"]), *more])


def _symmetry_text(facts: dict[str, Any]) -> str:
    return "directed" if facts["directed"] else "undirected, each stored both ways"


def graph_rows(facts: dict[str, Any]) -> list[Row]:
    """Put what ``graph_facts()`` gathered in words."""
    nodes = f"{facts['num_src_nodes']:,}"
    if facts["bipartite"]:
        nodes += f" → {facts['num_dst_nodes']:,}"
    extras = [name for name in ("weights", "times") if facts[name]]
    return [
        Row("holds", f"graph, format {facts['format']}"),
        Row("nodes", nodes),
        Row("edges", f"{facts['num_edges']:,}, {_symmetry_text(facts)}"),
        Row("indexes", ", ".join(facts["indexes"])),
        Row("ids", facts["id_dtype"] + ("" if facts["sorted"] else ", lists not in order")),
        Row("edge data", ", ".join(extras) or "none"),
        *_range_rows(facts, None),
        *_degree_rows(facts),
    ]


def _range_rows(facts: dict[str, Any], dates: list[str] | None) -> list[Row]:
    rows = []
    for name, found in (("weights", facts["weight_range"]), ("times", facts["time_range"])):
        if found is None:
            continue
        if name == "weights":
            ends = [f"{found[end]:.6g}" for end in ("min", "max")]
        else:
            ends = _short_dates(dates) if dates is not None else [f"{found[end]:,}" for end in ("min", "max")]
        sample = f" in {found['num_edges']:,} edges from spread places" if found["sampled"] else ""
        rows.append(Row(name, f"{ends[0]} to {ends[1]}{sample}"))
    return rows


def _short_dates(dates: list[str]) -> list[str]:
    """Leave out the time of day where both are midnight."""
    midnight = " 00:00:00"
    return [date.removesuffix(midnight) for date in dates] if all(date.endswith(midnight) for date in dates) else dates


def _degree_rows(facts: dict[str, Any]) -> list[Row]:
    if not facts["directed"]:
        return _degree_row("degree", facts["degrees"]["out"])
    return [row for direction, found in facts["degrees"].items() for row in _degree_row(f"{direction}-degree", found)]


def _degree_row(name: str, facts: dict[str, Any]) -> list[Row]:
    if facts["mean"] is None:
        return []
    range_text = "" if facts["min"] is None else f"{facts['min']:,} to {facts['max']:,}, "
    counts = [part["num_nodes"] for part in facts["distribution"]]
    sample = f"; below, {sum(counts):,} nodes from evenly spread places" if facts["sampled"] else ""
    names = [
        f"{part['min']:,}" + (f" to {part['max']:,}" if part["max"] > part["min"] else "")
        for part in facts["distribution"]
    ]
    bars = Bars(names, counts, "nodes", True, sum(counts))
    return [Row(name, f"{range_text}mean {facts['mean']:.2f}{sample}", bars)]


def dataset_parts(facts: dict[str, Any]) -> list[Part]:
    """Put what ``dataset_facts()`` gathered about kinds of node and edge in words."""
    return [*map(_node_part, facts["nodes"]), *map(_edge_part, facts["edges"])]


def _node_part(node: dict[str, Any]) -> Part:
    classes = f" of {node['num_classes']:,} classes" if node["num_classes"] is not None else ""
    label = f", label {node['label']}{classes}" if node["label"] is not None else ""
    named = node["label"] if node["labels"] is not None else None  # its categories are the names of the bars
    rows = [
        _attribute_row(name, {**array, "categories": None} if name == named else array)
        for name, array in node["attributes"].items()
    ]
    rows += [Row(name, "assigned, in memory") for name in node["in_memory"]]
    if node["ids"] is not None:
        rows.append(Row("ids", f"{node['ids']['label_kind']} labels: {_examples(node['ids'])}"))
    elif node["num_nodes"]:
        rows.append(Row("ids", f"0 to {node['num_nodes'] - 1:,}"))
    rows += _label_rows(node)
    if node["isolated"] is not None:
        rows.append(Row("isolated", _isolated_text(node["isolated"])))
    return Part(node["type"], f"{node['num_nodes']:,} nodes{label}", rows)


def _isolated_text(isolated: dict[str, Any]) -> str:
    count, of = isolated["num_nodes"], isolated["of"]
    if isolated["sampled"]:
        if not count:
            return f"none among {of:,} nodes from evenly spread places"
        return f"{share_text(count, of)} of {of:,} nodes from evenly spread places have no edge"
    return f"{count:,} nodes have no edge, {share_text(count, of)}" if count else "none, every node has an edge"


def _label_rows(node: dict[str, Any]) -> list[Row]:
    labels = node["labels"]
    if labels is None or not labels["classes"]:
        return []
    shown = labels["classes"]
    texts = []
    if len(shown) > _MOST_BARS:
        shown = sorted(shown, key=lambda one: (-one["num_nodes"], one["class"]))[:_MOST_BARS]
        texts.append(f"the {_MOST_BARS} largest of {len(labels['classes']):,} classes")
    else:
        texts.append(f"{len(shown):,} {'class' if len(shown) == 1 else 'classes'}")
    if labels["num_unlabelled"]:
        texts.append(f"{share_text(labels['num_unlabelled'], labels['num_rows'])} of nodes have none")
    if labels["sampled"]:
        texts.append(f"from {labels['num_rows']:,} nodes at spread places")
    names = [str(one["class"]) + ("" if one["name"] is None else f" {shortened(one['name'])}") for one in shown]
    bars = Bars(names, [one["num_nodes"] for one in shown], "nodes", False, labels["num_rows"])
    return [Row("labels", ", ".join(texts), bars)]


def _edge_part(edge: dict[str, Any]) -> Part:
    graph = edge["graph"]
    rows = [*_range_rows(graph, edge["dates"]), *_degree_rows(graph)]
    rows += [_attribute_row(name, array) for name, array in edge["attributes"].items()]
    rows += [Row(name, "assigned, in memory") for name in edge["in_memory"]]
    if edge["homophily"] is not None:
        rows.append(Row("homophily", _homophily_text(edge["homophily"])))
    return Part(type_text(edge["type"]), f"{graph['num_edges']:,} edges, {_symmetry_text(graph)}", rows)


def _homophily_text(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return "unknown, no edge read has a label at both ends"
    if found["sampled"]:
        value = f"{found['value']:.2f} ± {found['standard_error']:.2f}"
        return f"{value}, of {found['num_edges']:,} edges with labels, drawn with seed {found['seed']}"
    return f"{found['value']:.3f}, of all {found['num_edges']:,} edges with labels"


def split_rows(facts: dict[str, Any]) -> list[Row]:
    """Put the splits in words."""
    return [
        Row(f"split {split['name']}", f"{split['num_ids']:,} ids of {type_text(split['of'])}{_part_text(split, ', ')}")
        for split in facts["splits"]
    ]


def split_text(split: dict[str, Any]) -> str:
    """Return how many ids a split has, and their share."""
    return f"{split['num_ids']:,}{_part_text(split, ' · ')}"


def _part_text(split: dict[str, Any], between: str) -> str:
    return "" if split["share"] is None else between + share_text(split["share"], 1)


def type_text(kind: str | Sequence[str]) -> str:
    """Write a type as a person would read it."""
    return kind if isinstance(kind, str) else " → ".join(kind)


def file_rows(facts: dict[str, Any]) -> list[Row]:
    """Put in words what all files have: a size, a place in the page cache, a fingerprint."""
    return [
        Row("size", byte_text(facts["size"])),
        Row("in page cache", _cached_text(facts)),
        *(Row("", f"{_cached_text(file)}, {file['path']}") for file in facts.get("files", [])),
        Row("fingerprint", facts["fingerprint"]),
    ]


def _cached_text(facts: dict[str, Any]) -> str:
    resident = "unknown" if facts["resident"] is None else byte_text(facts["resident"])
    return f"{resident} of {byte_text(facts['size'])}"
