"""Pairs of ``.gl`` and ``.gd`` files: batches with features of nodes and edges, through every reader."""

import numpy as np

import files
import graphzero as gz
from fuzzing import byte_changes
from fuzzing.features import READERS
from fuzzing.graphs import inside
from fuzzing.promises import REFUSED, attempt

NODES, EDGES = 40, 130
KIND = ("node", "to", "node")
TASKS = [
    {},
    {"shuffle": True, "replace": True},
    {"weighted": True},
    {"seed_time": 2, "temporal_strategy": "last"},
    {"disjoint": True, "direction": "out"},
    {"method": "labor"},
    {"subgraph_type": "bidirectional"},
    {"subgraph_type": "induced"},
    {"links": True},
    {"links": True, "negatives": "binary", "num_negatives": 2, "exclude_edges": True},
    {"links": True, "negatives": "triplet", "negatives_by": "degree", "exclude_seed_edges": True},
    {"several": True},
]


class Target:
    """A graph with weights and times, one without, features by node and by edge in every form."""

    def __init__(self, folder):
        rng = np.random.default_rng(3)
        self._folder = folder
        src, dst = rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES)
        self._links = src[:20], dst[:20]
        more = {"weight": rng.random(EDGES), "time": rng.integers(0, 4, EDGES)}
        self._graphs = []
        for options in ({}, more, {**more, "directed": False}, {"index": "in"}):
            gz.write_graph(folder / "original.gl", src, dst, num_nodes=NODES, **options)
            self._graphs.append((folder / "original.gl").read_bytes())
        self._rows = {count: self._features(count, rng) for count in (NODES, EDGES)}

    def _features(self, count, rng):
        path = self._folder / "original.gd"
        found = []
        for array in (
            rng.normal(size=(count, 3)).astype(np.float32),
            rng.integers(0, 9, (count, 2)),
            rng.normal(size=(count, 1500)).astype(np.float32),
            rng.normal(size=(count, 4)).astype(np.float16),
        ):
            gz.write_features(path, array)
            found.append(path.read_bytes())
            gz.write_features(path, array, order=rng.permutation(count))
            found.append(path.read_bytes())
        gz.convert_features(rng.normal(size=(count, 5)), path, dtype="int8-quantised")
        found.append(path.read_bytes())
        gz.reorder(path, path, order=rng.permutation(count))
        return [*found, path.read_bytes()]

    def __call__(self, rng):
        """Change one of three files and take all batches of an epoch or two."""
        contents = {
            "g.gl": rng.choice(self._graphs),
            "x.gd": rng.choice(self._rows[NODES]),
            "e.gd": rng.choice(self._rows[EDGES]),
        }
        victim = rng.choice(list(contents))
        if rng.random() < 0.8:
            contents[victim] = byte_changes.change_contents(contents[victim], rng)
        else:
            contents[victim], _ = byte_changes.change(contents[victim], rng)
        for name, data in contents.items():
            files.write(self._folder / name, data)
        task, reader = rng.choice(TASKS), rng.choice(READERS)
        room = {"memory": rng.choice(["32MB", "200MB"]), "cache": rng.choice([0, "100kB", None])}
        dtype = rng.choice([None, None, "float32"])
        found = attempt(self._take, contents, task, reader=reader, dtype=dtype, **room)
        return "refused" if found is REFUSED else found

    def _take(self, contents, task, **options):
        task = dict(task)
        count = 20 if task.get("links") else NODES
        if "seed_time" in task:
            task["seed_time"] = np.full(count, task["seed_time"])
        several = task.pop("several", False)
        place = self._folder
        with (
            gz.Graph(place / "g.gl") as graph,
            gz.FeatureStore(place / "x.gd") as x,
            gz.FeatureStore(place / "e.gd") as e,
        ):
            if several:
                made = {"features": {"node": x}, "edge_features": {KIND: e}}
                given = {KIND: graph}, ("node", np.arange(NODES))
            elif task.pop("links", False):
                made, given = {"features": x, "edge_features": e, "links": self._links}, (graph,)
            else:
                made, given = {"features": x, "edge_features": e}, (graph, np.arange(NODES))
            pipeline = gz.Pipeline(*given, fanouts=[4, -1], batch_size=7, seed=0, **made, **task, **options)
            try:
                for batch in pipeline:
                    self._check(batch, several, contents, graph, options["dtype"])
            finally:
                pipeline.close()
        return "read"

    def _check(self, batch, several, contents, graph, dtype):
        """Rows are those of the nodes and edges that were sampled."""
        found = batch.sample
        nodes, edges = (found.node["node"], found.edge[KIND]) if several else (found.node, found.edge)
        assert inside(nodes, graph.num_nodes)
        assert inside(edges, graph.num_input_edges)
        if dtype is not None:
            return
        x = batch.node_features["node"]["x"] if several else batch.node_features["x"]
        e = batch.edge_features[KIND]["edge_attr"] if several else batch.edge_features["edge_attr"]
        for rows, ids, data in ((x, nodes, contents["x.gd"]), (e, edges, contents["e.gd"])):
            _, array = files.read_gd(data)
            row_map = files.read_row_map(data)
            places = ids if row_map is None else row_map[ids]
            assert rows.tobytes() == array[places].tobytes()
