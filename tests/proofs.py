"""The full invariants of docs/formats, proven the slow way."""

from collections import Counter
from itertools import pairwise

import numpy as np

import files
from files import BadFile, expect


def prove_sections(data, magic, known):
    """C18 and C19."""
    for section in files.parse(data, magic, known).sections:
        expect(section.checksum == files.xxh64(section.data), "C18")
        end = section.offset + section.length
        expect(not any(data[end : files.round_up(end)]), "C19")


def entries_of(graph, side, *, sorted_lists):
    """The (source, destination, edge id, weight, time) of each entry of an index; GL16 to GL23 and GL27."""
    indptr = graph.arrays[f"{side}_indptr"].tolist()
    indices = graph.arrays[f"{side}_indices"].tolist()
    edge_ids = graph.arrays.get(f"{side}_edge_ids", np.arange(graph.num_edges)).tolist()
    weights = graph.arrays.get(f"{side}_weights", np.zeros(graph.num_edges, np.float32))
    weight_sums = graph.arrays.get(f"{side}_weight_sums")
    times = graph.arrays.get(f"{side}_times", np.zeros(graph.num_edges, np.int64)).tolist()
    num_neighbors = graph.num_dst_nodes if side == "out" else graph.num_src_nodes
    expect(indptr[0] == 0, "GL16")
    expect(indptr == sorted(indptr), "GL17")
    expect(indptr[-1] == graph.num_edges, "GL18")
    expect(all(0 <= node < num_neighbors for node in indices), "GL19")
    expect(all(0 <= edge < graph.num_input_edges for edge in edge_ids), "GL20")
    expect(bool(np.isfinite(weights).all() and (weights >= 0).all()), "GL21")
    entries = []
    for node, (begin, end) in enumerate(pairwise(indptr)):
        keys = [(times[i], indices[i], edge_ids[i]) for i in range(begin, end)]
        expect(not sorted_lists or keys == sorted(keys), "GL22")
        if weight_sums is not None:
            before = np.cumsum([0.0, *weights[begin:end]], dtype=np.float64).view(np.uint64)  # 0.0 is not -0.0
            sums = weight_sums.view(np.uint64)
            expect(all(sums[i // 16] == before[i - begin] for i in range(begin, end) if i % 16 == 0), "GL27")
        for time, neighbor, edge in keys:
            ends = (node, neighbor) if side == "out" else (neighbor, node)
            entries.append((*ends, edge, weights[len(entries)].tobytes(), time))
    times_each = 1 if graph.directed else 2
    if graph.num_edges == times_each * graph.num_input_edges:
        expect(Counter(edge_ids) == dict.fromkeys(range(graph.num_input_edges), times_each), "GL23")
    return entries


def prove_graph(graph, *, sorted_lists=True):
    """GL16 to GL25, and GL27."""
    sides = [side for side in ("out", "in") if f"{side}_indptr" in graph.arrays]
    entries = {side: Counter(entries_of(graph, side, sorted_lists=sorted_lists)) for side in sides}
    if not graph.directed:
        expect(entries["out"] == Counter({(v, u, *rest): n for (u, v, *rest), n in entries["out"].items()}), "GL24")
    if len(sides) == 2:
        expect(entries["out"] == entries["in"], "GL25")


def prove(data):
    """Every invariant, O(1) and full, of a file of any of the four kinds. Raises BadFile."""
    magic = bytes(data[:8])
    if magic == files.MAGIC["gl"]:
        graph = files.read_gl(data)
        prove_sections(data, magic, files.NAMES)
        prove_graph(graph)
    elif magic == files.MAGIC["gd"]:
        dtype, array = files.read_gd(data)
        prove_sections(data, magic, files.GD_KINDS)
        expect(dtype != "bool" or array.view(np.uint8).max(initial=0) <= 1, "GD9")
        scales = files.read_scales(data)
        expect(scales is None or bool(np.isfinite(scales).all() and (scales >= 0).all()), "GD13")
        row_map = files.read_row_map(data)
        expect(row_map is None or sorted(row_map.tolist()) == list(range(len(array))), "GD16")
    elif magic == b"graphlit":
        prove_graph(files.read_graphzero02_gl(data), sorted_lists=False)
    elif magic == b"GZDATA26":
        files.read_graphzero02_gd(data)
    else:
        raise BadFile("C2")


def holds(data):
    """Whether ``prove`` finds nothing."""
    try:
        prove(data)
    except BadFile:
        return False
    return True
