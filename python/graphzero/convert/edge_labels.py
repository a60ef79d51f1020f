"""Labels at the ends of edges, turned into ids by dictionaries that are built first, or exist already."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphzero import _core
from graphzero._base.argument_errors import value_error
from graphzero._files.mounted import path_bytes
from graphzero._files.progress import Progress, watching
from graphzero._files.storage import path_here, target_here
from graphzero.convert.edge_feeds import Feed, LabelBatch
from graphzero.convert.label_lookup import LabelLookup, Labels, num_labels
from graphzero.convert.text import BadLine, refuse_doubtful_header
from graphzero.ids import IdDictionary

_CHOICES = ("auto", "dense", "map")
_KEPT_BAD_LINES = 100


def given_lookups(ids: Any) -> tuple[LabelLookup, ...]:
    """Read ``ids``: the dictionary of all nodes, or those of sources and destinations; none if it is one of the words.

    Any other text is the path of a ``.gi`` file.
    """
    if isinstance(ids, (tuple, list)):
        if len(ids) != 2:
            raise value_error("ids", f"expected two dictionaries, of sources and of destinations, found {len(ids)}")
        return LabelLookup(ids[0]), LabelLookup(ids[1])
    if isinstance(ids, str) and ids in _CHOICES:
        return ()
    if isinstance(ids, str) and not path_here(ids).endswith(".gi") and not os.path.isfile(ids):
        raise value_error("ids", f"expected 'auto', 'dense', 'map' or the path of a .gi file, found {ids!r}")
    return (LabelLookup(ids),)


def dictionary_paths(ids_path: Any, target: str, bipartite: bool) -> list[str]:
    """Return where new dictionaries go: one, or two of a bipartite graph."""
    is_pair = isinstance(ids_path, (tuple, list))
    given = None if ids_path is None else [target_here(path) for path in (ids_path if is_pair else [ids_path])]
    if given is not None and (is_pair != bipartite or len(given) != 1 + bipartite):
        wanted = "two paths, of sources and of destinations" if bipartite else "one path"
        raise value_error("ids_path", f"expected {wanted}, found {ids_path!r}")
    stem = os.path.splitext(target)[0]
    default = [f"{stem}.src.gi", f"{stem}.dst.gi"] if bipartite else [f"{stem}.gi"]
    paths = given or default
    if len({os.path.realpath(path) for path in [*paths, target]}) <= len(paths):
        raise value_error("ids_path", f"expected other files than {target}, each once, found {', '.join(paths)}")
    return paths


class LabelCollector:
    """Collects the labels of edges: in one dictionary, or in two, of sources and of destinations."""

    def __init__(self, paths: list[str], memory: int, folder: str) -> None:
        self._paths, self._folder = paths, folder
        self._share = memory // len(paths)
        self._builders: list[_core.IdBuilder | None] = [None] * len(paths)
        self.count = 0

    def builder(self, which: int, kind: _core.LabelKind) -> _core.IdBuilder:
        """Return what builds one of the dictionaries; the first labels decide of which kind they are."""
        found = self._builders[which]
        if found is None:
            path, folder = path_bytes(self._paths[which]), path_bytes(self._folder)
            found = self._builders[which] = _core.IdBuilder(path, kind, self._share, folder)
        return found

    def _add(self, which: int, labels: Labels) -> None:
        if isinstance(labels, tuple):
            self.builder(which, _core.LabelKind.STRING).add_strings(*labels)
        else:
            self.builder(which, _core.LabelKind.INTEGER).add_integers(labels)

    def read(self, feed: Feed) -> None:
        """Add the labels of all edges of a feed."""
        for batch in feed.labels():
            self._add(0, batch.src)
            self._add(len(self._paths) - 1, batch.dst)
            self.count += num_labels(batch.src)

    def finish(self) -> None:
        """Write the dictionaries."""
        for which in range(len(self._paths)):
            self.builder(which, _core.LabelKind.STRING).finish()  # a source without edges has no kind


def build_dictionaries(
    feed: Feed, paths: list[str], memory: int, folder: str, progress: Progress
) -> tuple[LabelLookup, ...]:
    """Collect the labels of all edges: in one dictionary, or in two, of sources and of destinations."""
    labels = LabelCollector(paths, memory, folder)
    with watching(progress, "collecting labels", None, "edges", lambda: labels.count):
        labels.read(feed)
        labels.finish()
    lookups = tuple(LabelLookup(IdDictionary(path)) for path in paths)
    refuse_headers_of_labels(feed.guessed_headers, lookups)
    return lookups


def refuse_headers_of_labels(headers: Mapping[str, Sequence[str]], lookups: tuple[LabelLookup, ...]) -> None:
    """Refuse a first line that was taken for a header, but names a node: it may be an edge."""
    for name, ends in headers.items():
        for end, lookup in zip(ends, (lookups[0], lookups[-1]), strict=True):
            if lookup.kind == "string" and lookup.find(_core.pack_labels([end], "header"), name)[0] >= 0:
                refuse_doubtful_header(name, ", ".join(ends))


class EdgeTranslator:
    """Adds the edges of a feed to a converter, with their labels turned into ids.

    An edge with a label that no dictionary has is an error, or left out if bad lines are skipped.
    """

    def __init__(self, feed: Feed, lookups: tuple[LabelLookup, ...], *, exist: bool, skip_bad_lines: bool) -> None:
        self._feed = feed
        self._src, self._dst = lookups[0], lookups[-1]
        # Dictionaries that were built from these edges have all labels: no line needs to be known.
        self._kinds = (self._src.kind, self._dst.kind) if exist else None
        self._skip = skip_bad_lines
        self.num_bad = 0
        self.bad: list[BadLine] = []

    def run(self, converter: _core.EdgeConverter) -> None:
        """Add all edges."""
        for batch in self._feed.labels(self._kinds):
            src = self._src.find(batch.src, f"{batch.name}: src")
            dst = self._dst.find(batch.dst, f"{batch.name}: dst")
            weight, time = batch.weight, batch.time
            known = (src >= 0) & (dst >= 0)
            if not known.all():
                self._refuse(batch, src, np.flatnonzero(~known))
                src, dst = src[known], dst[known]
                weight = None if weight is None else weight[known]
                time = None if time is None else time[known]
            converter.add_edges(src, dst, weight, time)
        if self._kinds is not None:  # what the first lines are is known now
            refuse_headers_of_labels(self._feed.guessed_headers, (self._src, self._dst))

    def _refuse(self, batch: LabelBatch, src: NDArray[np.int64], unknown: NDArray[np.int64]) -> None:
        for at in unknown[:_KEPT_BAD_LINES].tolist():
            lookup, labels = (self._src, batch.src) if src[at] < 0 else (self._dst, batch.dst)
            reason = lookup.missing(labels, at)
            number, text = batch.number(at), batch.text(at)
            if not self._skip:
                what = "row" if batch.lines is None else "line"
                raise ValueError(f"{batch.name}: {what} {number}: {reason}" + (f': "{text}"' if text else ""))
            if len(self.bad) < _KEPT_BAD_LINES:
                self.bad.append(BadLine(number, text, reason))
        self.num_bad += len(unknown)
