"""Csv files as ``neo4j-admin database import`` takes them: headers such as ``:ID``, ``:START_ID`` and ``:TYPE``."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero._base.argument_errors import value_error
from graphzero._core import FormatError
from graphzero.convert.edge_sources.array_file import ArrayFile
from graphzero.convert.edge_sources.batch import EdgeBatch, edge_batch
from graphzero.convert.layouts.plan import (
    NODE,
    EdgePlan,
    EdgeTriple,
    LayoutOptions,
    NodePlan,
    Plan,
    files_in,
    filled_array,
)
from graphzero.ids import IdBuilder, IdDictionary

_ENDINGS = (".csv", ".csv.gz")
_ROWS = 1 << 16
_LONGEST_LINE = 1 << 20
_TOO_MANY = "too many different texts"
_FIELD = re.compile(r"(?P<name>[^:]*)(:(?P<kind>\w+(\[\])?))?(\((?P<space>[^)]*)\))?(\{.*\})?$")
_HEADER_FILE = re.compile(r"[-_]header\.csv(\.gz)?$")
# Kinds of columns whose texts are kept as integers that stand for them.
_TEXTS = ("string", "char", "boolean", "LABEL")
# Beyond so many different texts, or characters of them, a column describes its rows one by one and is not kept.
_MOST_TEXTS, _MOST_CHARACTERS = 1 << 16, 1 << 22
_NUMBERS = dict.fromkeys(("int", "long", "short", "byte"), "int64") | dict.fromkeys(("float", "double"), "float64")


@dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    space: str  # the id space of :ID, :START_ID and :END_ID

    @property
    def attribute(self) -> str:
        """What the column is called as an attribute."""
        return self.name or (self.kind if self.kind == "LABEL" else "")

    @property
    def is_text(self) -> bool:
        """Whether its texts can be kept."""
        return self.kind in _TEXTS and bool(self.attribute)


@dataclass(frozen=True)
class _Table:
    """A csv file with its header, which may be in a file of its own."""

    path: str
    fields: tuple[_Field, ...]
    has_header: bool = True

    def position(self, kind: str) -> int | None:
        """Return the column of a kind."""
        return next((i for i, field in enumerate(self.fields) if field.kind == kind), None)

    def blocks(self) -> Iterator[list[list[str]]]:
        """Read some thousand rows at a time."""
        rows = self._rows()
        while block := list(islice(rows, _ROWS)):
            yield block

    def _rows(self) -> Iterator[list[str]]:
        with _opened(self.path) as file:
            reader = csv.reader(_lines(file, self.path))
            try:
                if self.has_header:
                    next(reader)
                for row in reader:
                    if row and len(row) != len(self.fields):
                        raise FormatError(
                            f"{self.path}: line {reader.line_num}: expected {len(self.fields)} fields, "
                            f"found {len(row)}: {','.join(row)[:80]}"
                        )
                    if row:
                        yield row
            except (csv.Error, UnicodeDecodeError, EOFError, zlib.error) as error:
                raise FormatError(
                    f"{self.path}: after line {reader.line_num}: expected csv in UTF-8, found: {error}"
                ) from error


def _opened(path: str, errors: str = "strict") -> Any:
    if path.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors=errors, newline="")
    return open(path, encoding="utf-8-sig", errors=errors, newline="")


def _lines(file: Any, path: str) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise FormatError(f"{path}: expected lines of at most {_LONGEST_LINE} characters, found a longer one")
        yield line


def _header(path: str) -> tuple[_Field, ...] | None:
    """Return the fields of a first line that is a header, which has an ``:ID`` or a ``:START_ID``."""
    with _opened(path, errors="replace") as file:  # what follows the header is judged when it is read
        try:
            words = next(csv.reader(_lines(file, path)), [])
        except (csv.Error, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(f"{path}: line 1: expected csv, found: {error}") from error
    matches = [_FIELD.match(word) for word in words]
    found = [_Field(m["name"], m["kind"] or "string", m["space"] or NODE) for m in matches if m is not None]
    kinds = {field.kind for field in found}
    if len(found) != len(words) or not kinds & {"ID", "START_ID"}:
        return None
    names = [field.attribute for field in found if field.kind in _NUMBERS or field.is_text]
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"{path}: line 1: expected each column once, found {again!r} again")
    return tuple(found)


def _tables(folder: str) -> list[_Table]:
    paths = [os.path.join(folder, name) for name in files_in(folder) if name.endswith(_ENDINGS)]
    headers = {path: _header(path) for path in paths}
    tables = []
    for path, fields in headers.items():
        stem = _HEADER_FILE.sub("", path)
        parts = [other for other in paths if stem != path and headers[other] is None and other.startswith(stem)]
        if fields is not None and not parts:
            tables.append(_Table(path, fields))
        elif fields is not None:
            tables += [_Table(part, fields, has_header=False) for part in parts]
    return tables


def recognises(folder: str) -> bool:
    """Whether a csv file has a header with ``:ID`` or ``:START_ID``."""
    names = [name for name in files_in(folder) if name.endswith(_ENDINGS)]
    return any(_header(os.path.join(folder, name)) is not None for name in names)


def read(folder: str, options: LayoutOptions) -> Plan:
    """Number the nodes of each id space by their ids, and find the types of relationships.

    Node types are id spaces. Properties become attributes: numbers as they are, texts and labels as integers.
    """
    plan = Plan(metadata={"name": os.path.basename(os.path.abspath(folder)), "layout": "neo4j"})
    tables = _tables(folder)
    spaces: dict[str, list[_Table]] = {}
    for table in tables:
        place = table.position("ID")
        if place is not None:
            spaces.setdefault(table.fields[place].space, []).append(table)
    dictionaries = {}
    for space, members in spaces.items():
        dictionaries[space] = _number(plan, space, members, options)
    for table in tables:
        if table.position("START_ID") is not None:
            _read_relationships(plan, table, dictionaries, options)
    for what, wanted in (("weight", options.weight), ("time", options.time)):
        if wanted and not any(getattr(edge, what) for edge in plan.edges.values()):
            there = sorted({name for edge in plan.edges.values() for name in edge.attributes})
            raise value_error(
                what,
                f"expected a property of relationships, {', '.join(there) or 'none'}, found {wanted!r}",
                where=folder,
            )
    if options.label is not None and not any(node.label for node in plan.nodes.values()):
        there = sorted({name for node in plan.nodes.values() for name in node.attributes})
        raise value_error(
            "label",
            f"expected a property of nodes, {', '.join(there) or 'none'}, found {options.label!r}",
            where=folder,
        )
    return plan


def _number(plan: Plan, space: str, tables: list[_Table], options: LayoutOptions) -> IdDictionary:
    path = options.made(f"ids-{len(plan.nodes)}.gi")
    count = 0
    with IdBuilder(path, "string", memory=options.memory) as builder:
        for table in tables:
            place = table.position("ID") or 0
            for block in table.blocks():
                builder.add([row[place] for row in block])
                count += len(block)
    ids = IdDictionary(path)
    if len(ids) != count:
        raise FormatError(f"{tables[0].path}: expected each id once, found {count - len(ids)} repeated ones")
    node = plan.nodes[space] = NodePlan(len(ids), ids=path)
    made_by: dict[str, _Table] = {}
    texts: dict[str, list[tuple[_Table, int]]] = {}
    for table in tables:
        place = table.position("ID") or 0
        for i, field in enumerate(table.fields):
            if i == place:
                continue
            if field.is_text:
                texts.setdefault(field.attribute, []).append((table, i))
                continue
            dtype = _NUMBERS.get(field.kind)
            if dtype is None:
                plan.ignored.append(f"{table.path}: column {field.name or field.kind}: not numbers")
                continue
            if field.name not in node.attributes:
                made_by[field.name] = table
                file = options.made(f"{len(plan.nodes)}-{len(node.attributes)}.npy")
                missing = np.nan if dtype == "float64" else 0
                node.attributes[field.name] = filled_array(file, np.dtype(dtype), (len(ids),), missing)
            values = node.attributes[field.name]
            if values.dtype != dtype:
                raise FormatError(
                    f"{table.path}: column {field.name}: expected {values.dtype} as in {made_by[field.name].path}, "
                    f"found {dtype}"
                )
            for block in table.blocks():
                values[ids.indices([row[place] for row in block])] = _numbers(block, i, dtype, table)
    for name, places in texts.items():
        table = places[0][0]
        if name in made_by:
            raise FormatError(f"{table.path}: column {name}: expected numbers as in {made_by[name].path}, found text")
        words = _different(row[i] for table, i in places for block in table.blocks() for row in block)
        if words is None:
            plan.ignored.append(f"{table.path}: column {name}: {_TOO_MANY}")
            continue
        file = options.made(f"{len(plan.nodes)}-{len(node.attributes)}.npy")
        codes = node.attributes[name] = filled_array(file, np.dtype(np.int64), (len(ids),), -1)
        for table, i in places:
            for block in table.blocks():
                place = table.position("ID") or 0
                codes[ids.indices([row[place] for row in block])] = _codes(block, i, words)
        node.categories[name] = words
    if options.label in node.attributes:
        node.label = options.label
        node.num_classes = len(node.categories[node.label]) if node.label in node.categories else None
    return ids


def _different(texts: Iterable[str]) -> list[str] | None:
    """Return the texts that differ, sorted; ``None`` if they are too many to be names of something."""
    found: set[str] = set()
    characters = 0
    for text in texts:
        if text and text not in found:
            found.add(text)
            characters += len(text)
            if len(found) > _MOST_TEXTS or characters > _MOST_CHARACTERS:
                return None
    return sorted(found)


def _codes(block: list[list[str]], place: int, words: list[str]) -> NDArray[np.int64]:
    """Return where each text stands among ``words``, -1 where a field is empty."""
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes.get(row[place], -1) for row in block], np.int64)


def _numbers(block: list[list[str]], place: int, dtype: str, table: _Table) -> NDArray[Any]:
    # Number by number: an array of text is as wide as its longest field, for every row.
    read, missing = (float, "nan") if dtype == "float64" else (int, "0")
    try:
        return np.array([read(row[place] or missing) for row in block], dtype)
    except (ValueError, OverflowError) as error:
        raise FormatError(
            f"{table.path}: column {table.fields[place].name}: expected numbers, found: {error}"
        ) from None


@dataclass(frozen=True)
class _Relationships:
    """The rows of one type, as batches of edges; can be read again."""

    table: _Table
    name: str
    src: IdDictionary
    dst: IdDictionary
    weight: int | None = None  # the column
    time: int | None = None

    def rows(self) -> Iterator[list[list[str]]]:
        place = self.table.position("TYPE")
        for block in self.table.blocks():
            chosen = block if place is None else [row for row in block if row[place] == self.name]
            if chosen:
                yield chosen

    def __iter__(self) -> Iterator[EdgeBatch]:
        start, end = self.table.position("START_ID") or 0, self.table.position("END_ID") or 0
        for block in self.rows():
            try:
                src, dst = (
                    self.src.indices([row[start] for row in block]),
                    self.dst.indices([row[end] for row in block]),
                )
            except KeyError as error:
                raise FormatError(f"{self.table.path}: expected ids of nodes, found {error.args[0]}") from None
            weight = None if self.weight is None else _numbers(block, self.weight, "float64", self.table)
            time = None if self.time is None else _numbers(block, self.time, "int64", self.table)
            yield edge_batch(src, dst, weight, time, self.table.path)


def _read_relationships(
    plan: Plan, table: _Table, dictionaries: dict[str, IdDictionary], options: LayoutOptions
) -> None:
    start, end = table.position("START_ID"), table.position("END_ID")
    if start is None or end is None:
        raise FormatError(f"{table.path}: expected :START_ID and :END_ID, found one of them")
    spaces = table.fields[start].space, table.fields[end].space
    for space in spaces:
        if space not in dictionaries:
            raise FormatError(f"{table.path}: expected nodes of the id space {space}, found {', '.join(dictionaries)}")
    place = table.position("TYPE")
    if place is None:
        names = [os.path.basename(table.path).partition(".")[0]]
    else:
        names = sorted({row[place] for block in table.blocks() for row in block})
    for name in names:
        triple: EdgeTriple = (spaces[0], name, spaces[1])
        weight, time = (_column_of(table, wanted) for wanted in (options.weight, options.time))
        rows = _Relationships(table, name, dictionaries[spaces[0]], dictionaries[spaces[1]], weight, time)
        if triple in plan.edges:
            raise FormatError(f"{table.path}: expected the relationships {name} in one file, found them in two")
        edge = plan.edges[triple] = EdgePlan(rows)
        edge.weight, edge.time = (None if i is None else table.fields[i].name for i in (weight, time))
        for i, field in enumerate(table.fields):
            if field.kind in _NUMBERS:
                path = options.made(f"edges-{len(plan.edges)}-{i}.raw")
                edge.attributes[field.name] = _column(rows, i, _NUMBERS[field.kind], path)
            elif field.is_text and field.kind != "LABEL":
                words = _different(row[i] for block in rows.rows() for row in block)
                if words is None:
                    plan.ignored.append(f"{table.path}: column {field.name}: {_TOO_MANY}")
                    continue
                path = options.made(f"edges-{len(plan.edges)}-{i}.raw")
                edge.attributes[field.name] = _column(rows, i, words, path)
                edge.categories[field.name] = words
            elif field.kind not in ("START_ID", "END_ID", "TYPE", "IGNORE") and name == names[0]:
                plan.ignored.append(f"{table.path}: column {field.name}: not numbers")


def _column_of(table: _Table, wanted: str | bool | None) -> int | None:
    """Return the column of numbers that has this name."""
    if not wanted:
        return None
    return next((i for i, field in enumerate(table.fields) if field.name == wanted and field.kind in _NUMBERS), None)


def _column(rows: _Relationships, place: int, kind: str | list[str], path: str) -> ArrayFile:
    """Write a column to a file: as numbers of a type, or as the places of its texts among all words."""
    dtype = np.dtype(kind if isinstance(kind, str) else np.int64)
    count = 0
    with open(path, "wb") as file:
        for block in rows.rows():
            values = _numbers(block, place, kind, rows.table) if isinstance(kind, str) else _codes(block, place, kind)
            file.write(values.data)
            count += len(block)
    return ArrayFile(path, path, dtype, (count,), False, 0)
