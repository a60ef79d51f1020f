"""What a user says about tables of nodes and edges, read once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Literal, TypeAlias

from graphzero._base.argument_errors import check_choice, type_error, value_error
from graphzero.convert.tables.text_table import TextForm
from graphzero.dataset import EDGE, NODE, EdgeTriple

OnMissing: TypeAlias = Literal["error", "drop", "add"]

# How an edge type is written in a recipe or on the command line: "user rates movie", "user:rates:movie".
_TRIPLE = re.compile(r"\s*(?:→|->|[:,\s])\s*")
# As many as one byte can number.
_MOST_SPLITS = 255
_TEXT_KEYS = ("delimiter", "header", "encoding")


@dataclass(frozen=True)
class ColumnSpec:
    """A column and what to make of it: a number, a code for each different value, or a column for each."""

    column: str | int
    as_: Literal["number", "code", "onehot"] | None = None
    fill: float | None = None


@dataclass(frozen=True)
class AttributeSpec:
    """An attribute and its columns; a vector if there is one that was not in a list."""

    name: str
    columns: tuple[ColumnSpec, ...] | None  # None: all that are left and hold numbers
    is_vector: bool = False


@dataclass(frozen=True)
class LabelSpec:
    """The column of labels: classes, or numbers to predict."""

    column: str | int
    kind: Literal["class", "number"] | None = None


@dataclass(frozen=True)
class SplitSpec:
    """A column that names splits, shares of all rows, at random or by time, or the ids of each split."""

    column: str | int | None = None
    shares: Mapping[str, float] | None = None
    by: str | int | None = None
    seed: int = 0
    members: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class NodeSpec:
    """A table of nodes."""

    source: Any
    id: str | int | None = None
    label: LabelSpec | None = None
    features: tuple[AttributeSpec, ...] = ()
    split: SplitSpec | None = None
    time: str | int | None = None
    time_unit: str | None = None
    time_zone: str | None = None
    dtype: Any = None
    fill: float | None = None
    form: TextForm = field(default_factory=TextForm)


@dataclass(frozen=True)
class EdgeSpec:
    """A table of edges."""

    source: Any
    src: str | int | None = None
    dst: str | int | None = None
    weight: str | int | None = None
    time: str | int | None = None
    time_unit: str | None = None
    time_zone: str | None = None
    features: tuple[AttributeSpec, ...] = ()
    split: SplitSpec | None = None
    dtype: Any = None
    fill: float | None = None
    directed: bool = True
    index: str = "both"
    duplicates: str = "keep"
    self_loops: str = "keep"
    reverse: bool | str = False
    on_missing: OnMissing = "error"
    form: TextForm = field(default_factory=TextForm)


def read_specs(nodes: Any, edges: Any, on_missing: OnMissing) -> tuple[dict[str, NodeSpec], dict[EdgeTriple, EdgeSpec]]:
    """Read ``nodes`` and ``edges``: by type, or one of them without a type."""
    check_choice(on_missing, "on_missing", "error", "drop", "add")
    if edges is None and nodes is None:
        raise type_error("edges", "expected tables of nodes, of edges, or both, found neither")
    edge_specs: dict[EdgeTriple | None, EdgeSpec] = {
        triple: _edge_spec(given, "" if triple is None else f"{triple}: ", on_missing)
        for triple, given in _by_type(edges, _triple).items()
    }
    node_specs: dict[str | None, NodeSpec] = {
        kind: _node_spec(given, "" if kind is None else f"{kind!r}: ") for kind, given in _by_type(nodes, _name).items()
    }
    ends = list(dict.fromkeys(end for triple in edge_specs if triple is not None for end in (triple[0], triple[2])))
    if None in node_specs and len(ends) > 1:
        raise value_error("nodes", f"expected a table for each of the types {ends}, found one; give them by type")
    alone = ends[0] if ends else NODE
    named_nodes = {alone if kind is None else kind: spec for kind, spec in node_specs.items()}
    if None in edge_specs and len(named_nodes) > 1:
        raise value_error(
            "edges",
            f"expected the type of the edges, (source, relation, destination), as there are several kinds of node, "
            f"{list(named_nodes)}",
        )
    only = next(iter(named_nodes), NODE)
    default: EdgeTriple = EDGE if only == NODE else (only, "to", only)
    return named_nodes, {default if triple is None else triple: spec for triple, spec in edge_specs.items()}


def _by_type(given: Any, read_key: Any) -> dict[Any, Any]:
    """Return what was given by type; the type of what has none is ``None``."""
    if given is None:
        return {}
    if isinstance(given, Mapping) and "source" not in given:
        if not given:
            return {}
        read = {read_key(key): value for key, value in given.items()}
        if len(read) < len(given):
            raise value_error("edges", f"expected each edge type once, found one under two spellings: {list(given)}")
        return read
    return {None: given}


def _name(kind: Any) -> str:
    if not isinstance(kind, str) or not kind:
        raise type_error("nodes", f"expected the name of a node type, found {kind!r}")
    return kind


def _triple(kind: Any) -> EdgeTriple:
    parts = _TRIPLE.split(kind.strip()) if isinstance(kind, str) else list(kind) if isinstance(kind, Sequence) else []
    if len(parts) != 3 or not all(isinstance(part, str) and part for part in parts):
        raise type_error(
            "edges",
            f"expected an edge type, (source, relation, destination) or 'source:relation:destination', found {kind!r}",
        )
    return parts[0], parts[1], parts[2]


def _checked(given: Any, spec: type, argument: str, owner: str) -> dict[str, Any]:
    """Return the settings of a table by name; one that is not a mapping is the source alone."""
    if not isinstance(given, Mapping):
        given = {"source": given}
    known = [field.name for field in fields(spec) if field.name != "form"] + list(_TEXT_KEYS)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise type_error(argument, f"{owner}expected {', '.join(known)}, found {name!r}{meant}")
    if given.get("source") is None:
        raise type_error(argument, f"{owner}expected a source, found none")
    settings = {name: value for name, value in given.items() if name not in _TEXT_KEYS and value is not None}
    text = {name: given[name] for name in _TEXT_KEYS if given.get(name) is not None}
    settings["form"] = TextForm(**text)
    if "fill" in settings:
        settings["fill"] = _number(settings["fill"], owner)
    return settings


def _node_spec(given: Any, owner: str) -> NodeSpec:
    settings = _checked(given, NodeSpec, "nodes", owner)
    settings["features"] = _attributes(settings.get("features"), owner)
    settings["split"] = _split(settings.get("split"), owner)
    label = settings.get("label")
    if isinstance(label, Mapping):
        _check_keys(label, ("column", "kind"), "label", owner)
        if label.get("kind") is not None:
            check_choice(label["kind"], "label", "class", "number")
        settings["label"] = LabelSpec(label.get("column", ""), label.get("kind"))
    elif label is not None:
        settings["label"] = LabelSpec(label)
    return NodeSpec(**settings)


def _edge_spec(given: Any, owner: str, on_missing: OnMissing) -> EdgeSpec:
    settings = _checked(given, EdgeSpec, "edges", owner)
    settings["features"] = _attributes(settings.get("features"), owner)
    settings["split"] = _split(settings.get("split"), owner)
    check_choice(settings.setdefault("on_missing", on_missing), "on_missing", "error", "drop", "add")
    check_choice(settings.get("index", "both"), "index", "both", "out", "in")
    check_choice(settings.get("duplicates", "keep"), "duplicates", "keep", "drop")
    check_choice(settings.get("self_loops", "keep"), "self_loops", "keep", "drop")
    return EdgeSpec(**settings)


def _check_keys(given: Mapping[Any, Any], known: Sequence[str], argument: str, owner: str) -> None:
    for name in given:
        if name not in known:
            raise type_error(argument, f"{owner}expected {', '.join(known)}, found {name!r}")


def _number(value: Any, owner: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise type_error("fill", f"{owner}expected a number, found {value!r}")
    return float(value)


def _attributes(given: Any, owner: str) -> tuple[AttributeSpec, ...]:
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return ()
    if isinstance(given, str) and given == "*":
        return (AttributeSpec("x", None),)
    if isinstance(given, Mapping) and "column" not in given:
        return tuple(_attribute(str(name), columns, owner) for name, columns in given.items())
    columns = given if isinstance(given, (list, tuple)) else [given]
    return (_attribute("x", columns, owner),)


def _attribute(name: str, columns: Any, owner: str) -> AttributeSpec:
    is_vector = not isinstance(columns, (list, tuple))
    listed = [columns] if is_vector else columns
    if not listed:
        raise value_error("features", f"{owner}{name!r}: expected columns, found none")
    return AttributeSpec(name, tuple(_column(column, owner) for column in listed), is_vector)


def _column(given: Any, owner: str) -> ColumnSpec:
    if not isinstance(given, Mapping):
        return ColumnSpec(given)
    _check_keys(given, ("column", "as", "fill"), "features", owner)
    if given.get("as") is not None:
        check_choice(given["as"], "features", "number", "code", "onehot")
    fill = None if given.get("fill") is None else _number(given["fill"], owner)
    return ColumnSpec(given.get("column", ""), given.get("as"), fill)


def _split(given: Any, owner: str) -> SplitSpec | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return SplitSpec(column=given)
    if "column" in given:
        _check_keys(given, ("column",), "split", owner)
        return SplitSpec(column=given["column"])
    parts = {str(name): value for name, value in given.items() if name not in ("by", "seed")}
    for name, value in parts.items():
        if value is None or isinstance(value, bool):
            raise type_error(
                "split", f"{owner}{name!r}: expected a share, a column, ids or a file of ids, found {value!r}"
            )
    shares = [name for name, value in parts.items() if isinstance(value, Real)]
    if len(parts) > _MOST_SPLITS:
        raise value_error("split", f"{owner}expected at most {_MOST_SPLITS} splits, found {len(parts)}")
    if not shares and not {"by", "seed"} & given.keys():
        return SplitSpec(members=parts)
    if len(shares) < len(parts) or not parts:
        raise value_error("split", f"{owner}expected a share for each split, such as 0.8, found {parts}")
    total = sum(parts.values())
    if not all(0 <= share <= 1 for share in parts.values()) or total > 1 + 1e-9:
        raise value_error("split", f"{owner}expected shares from 0 to 1 that add up to 1 at most, found {parts}")
    seed = given.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise value_error("split", f"{owner}seed: expected an integer from 0 on, found {seed!r}")
    return SplitSpec(shares={name: float(share) for name, share in parts.items()}, by=given.get("by"), seed=seed)
