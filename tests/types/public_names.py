"""What type checkers know of the public names. `make check` gives this file to mypy and pyright; nothing runs it.

A name that is `Any` would pass where a class is expected, so each is asked for something of a known type. A line that ends
in two `ignore` comments must be an error: both checkers report an `ignore` that they did not need.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import assert_type

import graphzero as gz
from graphzero import loaders

Ids = NDArray[np.int64]
Triple = tuple[str, str, str]


def misspelt_names(data: gz.Dataset) -> None:
    gz.Grph("g.gl")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gz.convert_edgse("a", "b")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    loaders.NeighbourLoader(data, [2])  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def modules_that_need_no_import(data: gz.Dataset) -> None:
    assert_type(gz.ids.IdDictionary("i.gi"), gz.IdDictionary)
    assert_type(gz.loaders.NeighborLoader(data, [2]), loaders.NeighborLoader)


def mounted_files(graph: gz.Graph, store: gz.FeatureStore, ids: gz.IdDictionary) -> None:
    assert_type(gz.Graph("g.gl").num_nodes, int)
    assert_type(graph.has_weights, bool)
    assert_type(graph.neighbors(0), "NDArray[np.int32] | Ids")
    assert_type(graph.degree([0, 1]), Ids)
    assert_type(graph.index("in"), gz.Index)
    assert_type(graph.index().indptr, Ids)
    assert_type(graph.batch_random_fanout([0], 2), Ids)
    assert_type(graph.batch_random_fanout([0], 2, return_counts=True), tuple[Ids, Ids])
    assert_type(gz.FeatureStore("x.gd").shape, tuple[int, ...])
    assert_type(store.data_type, gz.DataType)
    assert_type(store.gather([0]), NDArray[Any])
    assert_type(store.gather([0], np.zeros((1, 2), np.float32)).dtype, np.dtype[np.float32])
    assert_type(store.as_torch(), torch.Tensor)
    assert_type(gz.IdDictionary("i.gi").label(0), int | str)
    assert_type(ids.indices(["a"]), Ids)
    gz.FLOAT32.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gz.FLOAT64.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gz.INT32.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gz.INT64.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gz.Graph(4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.Graph("g.gl", nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    graph.neighbors("first")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    graph.neighbors(0, "sideways")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    graph.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def data_sets(data: gz.Dataset, node_type: gz.NodeType, edge_type: gz.EdgeType) -> None:
    assert_type(gz.open("folder").edge_types, list[Triple])
    assert_type(data.graph, gz.Graph)
    assert_type(data.features("x"), gz.FeatureStore)
    assert_type(data.split("train"), Ids)
    assert_type(node_type.label, str | None)
    assert_type(edge_type.graph, gz.Graph)
    with gz.DatasetWriter("folder") as writer:
        assert_type(writer.folder, str)
    with gz.edit_dataset("folder") as editor:
        assert_type(editor, gz.DatasetEditor)
        assert_type(editor.node_types, list[str])
        assert_type(editor.edge_types, list[Triple])
        editor.rename_type(("a", "to"), "b")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.open(4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def writing(graph: gz.Graph) -> None:
    gz.write_graph("g.gl", [0], [1], weight=[0.5], index="in")
    gz.write_features("x.gd", np.zeros((2, 3)), graph=graph)
    gz.write_ids("i.gi", ["a", "b"])
    gz.reorder("x.gd", "y.gd", graph, memory="1GB")
    gz.convert_csv_to_gl("edges.csv", "g.gl")
    gz.convert_csv_to_gd("rows.csv", "x.gd")
    assert_type(gz.convert_edges("edges.csv", "g.gl").num_edges, int)
    assert_type(gz.convert_edges("edges.csv", "g.gl", duplicates="drop", bad_lines="skip").num_bad_lines, int)
    assert_type(gz.convert_features("rows.csv", "x.gd", progress=print).shape, tuple[int, ...])
    assert_type(gz.convert_features("rows.csv", "x.gd", bad_lines="skip").num_bad_lines, int)
    assert_type(gz.convert_dataset("folder", "out").edges, Mapping[Triple, gz.ConversionReport])
    assert_type(gz.build_dataset("folder", edges={"source": "e.csv"}, on_missing="drop"), gz.BuildReport)
    assert_type(gz.build_dataset("folder", recipe="r.toml").seconds, float)
    assert_type(gz.push("folder", "s3://bucket/name"), gz.TransferReport)
    assert_type(gz.stage("s3://bucket/name", "folder", features=["x"]).transferred, int)
    gz.stage("s3://bucket/name", "folder", verify="no")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.build_dataset("folder", edges="e.csv", on_missing="keep")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(gz.synthesize("folder", 100, 1000), gz.Dataset)
    gz.write_graph("g.gl", [0], [1], index="no")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.write_ids("i.gi", ["a"], 4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gz.write_features("x.gd", [[0]], nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gz.reorder("x.gd")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gz.convert_csv_to_gl(4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.convert_csv_to_gd(4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.convert_edges("edges.csv", "g.gl", dedup=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gz.convert_edges("edges.csv", "g.gl", bad_lines="no")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.convert_features("x.npy", "x.gd", bad_lines="no")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.convert_edges("edges.csv", "g.gl", ids=4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def reports(edges: gz.ConversionReport, rows: gz.FeatureReport, whole: gz.DatasetReport, check: gz.Check) -> None:
    assert_type(edges.ids_path, str | None)
    assert_type(rows.minimum, float | None)
    assert_type(whole.nodes, Mapping[str, int])
    assert_type(check.problem, str)
    assert_type(gz.verify("g.gl"), list[gz.Check])


def sampling(graph: gz.Graph, hetero: gz.HeteroNeighborhood) -> None:
    sample = gz.sample_neighbors(graph, [0], [2, 2])
    assert_type(sample, gz.Neighborhood)
    assert_type(sample.num_sampled_nodes, list[int])
    assert_type(sample.edge_index, Ids)
    assert_type(hetero.node, dict[str, Ids])
    assert_type(hetero.row, dict[Triple, Ids])
    assert_type(gz.blocks(sample), list[gz.Block])
    assert_type(gz.blocks(sample)[0].num_src_nodes, int)
    assert_type(gz.blocks(hetero), list[gz.HeteroBlock])
    assert_type(gz.blocks(hetero)[0].num_src_nodes, dict[str, int])
    assert_type(gz.random_walk(graph, [0], 4), Ids)
    assert_type(gz.sample_negatives(graph, [0]), Ids)
    assert_type(gz.sample_negative_pairs(graph, 4), tuple[Ids, Ids])
    gz.random_walk(graph, [0], "far")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gz.sample_negatives(graph, [0], "one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def pipeline(graph: gz.Graph) -> None:
    batches = gz.Pipeline(graph, [0], [2], batch_size=4, memory="1GB")
    assert_type(len(batches), int)
    assert_type(batches.state_dict(), dict[str, int])
    for batch in batches:
        assert_type(batch, gz.Batch)
        assert_type(batch.num_seeds, int)
        assert_type(batch.src_index, Ids | None)
    gz.Pipeline(graph, [0], [2], nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def memory_and_threads() -> None:
    assert_type(gz.memory_report(), gz.MemoryReport)
    assert_type(gz.memory_report().anonymous, int)
    assert_type(gz.num_threads(), int)
    gz.set_num_threads(2)
    gz.set_num_threads("two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    try:
        gz.verify("g.gl")
    except gz.FormatError as error:
        assert_type(error.args, tuple[Any, ...])
    raise gz.FormatError("a file that is cut off")


def neighbor_loader(data: gz.Dataset) -> None:
    loader = loaders.NeighborLoader(data, [15, 10], "train", batch_size=1024, shuffle=True, memory="8GB", num_workers=4)
    assert_type(len(loader), int)
    assert_type(loader.epoch, int)
    assert_type(loader.state_dict(), dict[str, int])
    assert_type(loader.status(), str)
    loaders.NeighborLoader(data, [1], nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    loaders.NeighborLoader(data, [1], shuffle="yes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    loaders.NeighborLoader(data, [1], form="dgl")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    loaders.NeighborLoader(data)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    loader.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def link_neighbor_loader(data: gz.Dataset) -> None:
    loader = loaders.LinkNeighborLoader(data, [15, 10], neg_sampling="binary", exclude_positives=True, batch_size=1024)
    assert_type(len(loader), int)
    assert_type(loader.stats(), dict[str, Any])
    loaders.LinkNeighborLoader(data, [1], nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    loaders.LinkNeighborLoader(data, [1], seed="a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    loader.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def options_of_loaders() -> None:
    assert_type(loaders.LoaderOptions(batch_size=4).labels, Literal["all", "seeds"])
    loaders.LoaderOptions(nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def parts_of_pyg(data: gz.Dataset) -> None:
    assert_type(loaders.NeighborSampler(data, [2]).is_temporal, bool)
    assert_type(loaders.PyGFeatureStore(data).select("x"), loaders.PyGFeatureStore)
    assert_type(loaders.TorchBatch(x=torch.zeros(2)).to("cpu"), loaders.TorchBatch)
    assert_type("x" in loaders.TorchBatch(), bool)
    loaders.GraphStore(data, 4, 4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    loaders.PyGFeatureStore(data, nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def embeddings(graph: gz.Graph, data: gz.Dataset) -> None:
    node2vec = loaders.Node2Vec(graph, 16, 10, 5)
    assert_type(node2vec.sample([0]), tuple[torch.Tensor, torch.Tensor])
    assert_type(loaders.MetaPath2Vec(data, 16, [("a", "to", "a")], 5, 3).forward("a"), torch.Tensor)
    for walks in loaders.RandomWalks(graph, 10):
        assert_type(walks, torch.Tensor)
    loaders.RandomWalks(graph, 10, nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def lightning_and_inference(data: gz.Dataset, model: torch.nn.Module) -> None:
    assert_type(loaders.LightningDataModule(data, num_neighbors=[2]).state_dict(), dict[str, Any])
    loaders.LightningDataModule(data)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    loaders.inference(model, data, "out.gd", memory="1GB")
    loaders.inference(model, data, "o.gd", nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    gz.inference(model, data, "o.gd", nonsense=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
