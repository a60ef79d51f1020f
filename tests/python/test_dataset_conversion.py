"""Every layout converts to a data set with the same counts, features, labels and splits."""

import importlib
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml

import data_sets
import graphzero as gz
from data_sets import CITES, COUNTS, EDGE_ATTR, KINDS, SPLITS, WRITES, YEAR, X, Y
from graphzero.convert.edge_sources import edge_source

module = importlib.import_module("graphzero.convert.dataset")
convert_dataset = module.convert_dataset


def edges_in_memory(source, path, *, num_nodes, directed=True, src=None, memory=None, progress=False, **options):
    """What convert_edges does, in a few lines."""
    found = edge_source(source, src=src)
    if found is None:
        table = np.loadtxt(source, delimiter=",", dtype=np.int64, ndmin=2)
        found = edge_source(table.reshape(-1, 2).T)
    batches = list(found.batches(2))
    src, dst = (np.concatenate([getattr(batch, end) for batch in batches]) for end in ("src", "dst"))
    weight = None if batches[0].weight is None else np.concatenate([batch.weight for batch in batches])
    gz.write_graph(path, src, dst, num_nodes=num_nodes, directed=directed, weight=weight, **options)
    return SimpleNamespace(num_edges=len(src) * (1 if directed else 2), time_unit=None)


def features_in_memory(source, path, *, dtype=None, key=None, memory=None, progress=False):
    """What convert_features does, in a few lines."""
    if key is not None:
        source = np.load(source)[key]
    if isinstance(source, str) and ".csv" in source:
        source = np.loadtxt(source, delimiter=",", dtype=dtype)
    gz.write_features(path, np.load(source) if isinstance(source, str) else source, dtype=dtype)


@pytest.fixture(params=["converted", "in memory"], autouse=True)
def _converters(request, monkeypatch):
    """With the converters, and with what is obvious in their place."""
    if request.param == "in memory":
        monkeypatch.setattr(module, "convert_edges", edges_in_memory)
        monkeypatch.setattr(module, "convert_features", features_in_memory)


def edges_of(graph):
    """The edges of a graph in the order they came."""
    index = graph.index()
    src = np.repeat(np.arange(graph.num_src_nodes), np.diff(index.indptr))
    ids = index.edge_ids if index.edge_ids is not None else np.arange(len(src))
    return sorted(zip(ids.tolist(), src.tolist(), index.indices.tolist(), strict=True))


def expected_edges(src, dst):
    return [(i, u, v) for i, (u, v) in enumerate(zip(src, dst, strict=True))]


def check_papers(ds, of, *, splits=SPLITS, x=X):
    assert ds.features("x", of).get_tensor().tolist() == x.tolist()
    assert ds.labels(of).get_tensor().tolist() == Y
    assert (ds.labels(of).dtype, ds.nodes[of].num_classes) == ("int64", 3)
    assert {name: ds.split(name, of).tolist() for name in ds.split_names} == splits


def check_one_kind(ds):
    assert not ds.is_hetero
    assert edges_of(ds.graph) == expected_edges(*KINDS[CITES])
    assert ds.graph.num_nodes == 5
    assert ds.features("year").get_tensor().reshape(-1).tolist() == YEAR
    assert ds.features("year").dtype == "int64"
    assert ds.features("edge_attr", ("node", "to", "node")).get_tensor().tolist() == EDGE_ATTR.tolist()
    check_papers(ds, "node")


def check_kinds(ds, **papers):
    assert {kind: node.num_nodes for kind, node in ds.nodes.items()} == COUNTS
    assert set(ds.edge_types) == set(KINDS)
    for triple, ends in KINDS.items():
        assert edges_of(ds.edges[triple].graph) == expected_edges(*ends)
    assert ds.edges[WRITES].graph.bipartite
    check_papers(ds, "paper", **papers)


def converted(source, **options):
    report = convert_dataset(source, "out", **options)
    assert sorted(os.listdir("out")) == ["edges", "graphzero.json", "nodes", *["splits"] * os.path.exists("out/splits")]
    assert all(check.holds for check in gz.verify("out"))
    return gz.open("out"), report


def test_ogb_csv():
    data_sets.ogb_csv("ogbn_tiny")
    ds, report = converted("ogbn_tiny")
    check_one_kind(ds)
    assert ds.metadata == {"name": "ogbn_tiny", "layout": "ogb csv", "split": "time"}
    assert (report.layout, report.nodes, report.ignored) == ("ogb-csv", {"node": 5}, ())
    assert "node → to → node: 6 edges" in str(report)


def test_ogb_csv_with_inverse_edges():
    data_sets.ogb_csv("ogbn_tiny")
    for options in ({"add_inverse_edge": True}, {}):
        ds, _ = converted("ogbn_tiny", overwrite=True, **options)
        assert (ds.graph.directed, ds.graph.num_edges) == ((False, 12) if options else (True, 6))
        assert ds.graph.num_input_edges == 6
        ds.close()
    data_sets.write_csv("./master.csv", [["", "ogbn-other", "ogbn-tiny"], ["add_inverse_edge", "False", "True"]])
    ds, _ = converted("ogbn_tiny", overwrite=True)
    assert not ds.graph.directed
    data_sets.write_csv("./master.csv", [["", "ogbn-other"], ["add_inverse_edge", "False"]])
    with pytest.raises(
        gz.FormatError, match=r"master.csv: expected a column ogbn-tiny, found ogbn-other; give add_inv"
    ):
        convert_dataset("ogbn_tiny", "out", overwrite=True)


def test_ogbn_products_has_inverse_edges_without_a_master_csv():
    data_sets.ogb_csv("ogbn_products")
    assert not converted("ogbn_products")[0].graph.directed


def test_ogb_csv_of_several_kinds():
    data_sets.ogb_csv_hetero("ogbn_mag")
    ds, _ = converted("ogbn_mag")
    check_kinds(ds)
    assert ds.features("year", "paper").get_tensor().reshape(-1).tolist() == YEAR
    assert ds.features("reltype", CITES).get_tensor().reshape(-1).tolist() == [1] * 6


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_ogb_binary(save):
    data_sets.ogb_binary("ogbn_papers", save)
    check_one_kind(converted("ogbn_papers")[0])


def test_ogb_binary_of_several_kinds():
    data_sets.ogb_binary_hetero("ogbn_kinds")
    ds, _ = converted("ogbn_kinds")
    check_kinds(ds)
    assert ds.features("year", "paper").get_tensor().tolist() == YEAR
    assert ds.features("reltype", CITES).get_tensor().tolist() == [1] * 6


def test_mag240m():
    data_sets.mag240m("mag240m_kddcup2021")
    ds, _ = converted("mag240m_kddcup2021")
    check_kinds(ds, splits={"train": [0, 2], "valid": [1], "test-dev": [3], "test-whole": [3, 4]})
    assert ds.features("x", "paper").dtype == "float16"
    assert ds.features("year", "paper").get_tensor().tolist() == YEAR


@pytest.mark.parametrize("headerless", [False, True])
def test_igb(headerless):
    data_sets.igb("tiny", headerless)
    ds, _ = converted("tiny", num_nodes=COUNTS if headerless else None)
    assert ds.nodes["paper"].label == "label_19"
    check_kinds(ds, splits={})
    assert ds.features("x", "author").shape == (3, 2)


def test_the_label_of_igb_can_be_chosen():
    data_sets.igb("tiny")
    assert converted("tiny", label="label_2K")[0].nodes["paper"].label == "label_2K"


def test_a_choice_that_is_not_there_is_refused():
    data_sets.igb("tiny")
    with pytest.raises(ValueError, match=r"tiny/processed: expected label= one of label_19, label_2K, found 'other'"):
        convert_dataset("tiny", "out", label="other")
    with pytest.raises(
        ValueError, match=r"split: expected options of the processed layout, label, num_nodes, found 't'"
    ):
        convert_dataset("tiny", "out", split="t")
    assert os.listdir() == ["tiny"]


def test_headerless_arrays_need_a_number_of_nodes():
    data_sets.igb("tiny", headerless=True)
    with pytest.raises(
        gz.FormatError, match=r"tiny/processed/author: expected the number of nodes of 'author', found arrays without"
    ):
        convert_dataset("tiny", "out")
    with pytest.raises(gz.FormatError, match=r"node_feat.npy: has no .npy header: expected 7 rows of float32 items"):
        convert_dataset("tiny", "out", num_nodes={"author": 3, "paper": 7})


def test_graphbolt():
    data_sets.graphbolt("tiny")
    ds, report = converted("tiny")
    check_kinds(ds)
    assert ds.features("year", "paper").get_tensor().tolist() == YEAR
    assert ds.features("edge_attr", CITES).get_tensor().tolist() == EDGE_ATTR.tolist()
    assert report.ignored == ("tiny/metadata.yaml: task link_prediction",)
    assert ds.metadata["name"] == "tiny"


def test_another_task_of_graphbolt():
    data_sets.graphbolt("tiny")
    ds, report = converted("tiny", task="link_prediction")
    assert ds.split_names == []
    assert report.ignored[1] == "tiny/metadata.yaml: train split of paper:cites:paper: edges given as pairs of nodes"
    with pytest.raises(ValueError, match=r"expected task= one of node_classification, link_prediction, found 'other'"):
        convert_dataset("tiny", "out2", task="other")


def test_graphbolt_errors(monkeypatch):
    data_sets.graphbolt("tiny")
    os.remove("tiny/edges/cites.csv")
    with pytest.raises(gz.FormatError, match=r"metadata.yaml: expected the file it names, edges/cites.csv, found none"):
        convert_dataset("tiny", "out")
    with open("tiny/metadata.yaml", "w") as file:
        file.write("dataset_name: tiny\n")
    with pytest.raises(gz.FormatError, match=r"expected graph.nodes and graph.edges of the raw form, found dataset_na"):
        convert_dataset("tiny", "out")
    with open("tiny/metadata.yaml", "w") as file:
        file.write("a: [\n")
    with pytest.raises(gz.FormatError, match=r"metadata.yaml: expected YAML, found"):
        convert_dataset("tiny", "out")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"GraphBolt data sets need PyYAML: pip install pyyaml"):
        convert_dataset("tiny", "out")


def test_pyg_data():
    check_one_kind(converted(data_sets.pyg_data())[0])


def test_pyg_data_with_weights():
    data = data_sets.pyg_data()
    data.edge_weight = torch.arange(6) / 2
    ds, _ = converted(data)
    assert ds.graph.has_weights


def test_pyg_data_of_several_kinds():
    ds, report = converted(data_sets.pyg_hetero())
    check_kinds(ds)
    assert report.ignored == ()


def test_one_of_several_masks_is_chosen():
    data = data_sets.pyg_data()
    for name in ("train_mask", "val_mask", "test_mask"):
        data[name] = torch.stack((data[name], ~data[name]), dim=1)
    with pytest.raises(ValueError, match=r"_mask: expected split= 0 to 1, one of its columns, found 2"):
        convert_dataset(data, "out", split=2)
    with pytest.warns(UserWarning, match=r"the split of train_mask: it has 2 columns; give split= 0 to 1. The mask"):
        ds, _ = converted(data)
    assert ds.split_names == []
    assert torch.equal(ds.train_mask, data.train_mask)
    ds.close()
    ds, _ = converted(data, split=1, overwrite=True)
    assert ds.split("train").tolist() == [1, 3, 4]
    assert torch.equal(ds.train_mask, data.train_mask)


def test_what_cannot_be_kept_is_reported_loudly():
    data = data_sets.pyg_data()
    data.note = "hello"
    data.function = print
    data.words = ["long"] * 20_000
    with pytest.warns(
        UserWarning, match=r"out: not converted: function of the data: a builtin_function_or_method, nei"
    ):
        ds, report = converted(data)
    assert len(report.ignored) == 2
    assert report.ignored[1] == "words of the data: as text it has 160,000 bytes, more than 65,536"
    assert ds.note == "hello"


def test_neo4j():
    data_sets.neo4j("export")
    ds, report = converted("export")
    assert ds.metadata["layout"] == "neo4j"
    assert {kind: node.num_nodes for kind, node in ds.nodes.items()} == {"Movie": 3, "Person": 2}
    titles = [ds.node_label(i, "Movie") for i in range(3)]
    assert titles == ["tt0133093", "tt0234215", "tt0242653"]
    assert ds.features("year", "Movie").get_tensor().tolist() == [1999, 2003, 0]
    assert set(ds.edge_types) == {("Person", "ACTED_IN", "Movie"), ("Person", "DIRECTED", "Movie")}
    acted = ds.edges["Person", "ACTED_IN", "Movie"]
    keanu, carrie = ds.node_index("keanu", "Person"), ds.node_index("carrie, anne", "Person")
    assert edges_of(acted.graph) == [(0, keanu, 0), (1, keanu, 1), (2, carrie, 0)]
    assert acted["pay"].get_tensor().tolist()[:2] == [1.5, 2.5]
    assert np.isnan(acted["pay"].get_tensor()[2])
    movie = ds.nodes["Movie"]
    assert movie.categories == {"title": ["Reloaded", "The Matrix"], "LABEL": ["Movie", "Movie;Sequel"]}
    assert movie["title"].get_tensor().tolist() == [1, 0, -1]
    assert movie["LABEL"].get_tensor().tolist() == [0, 1, 1]
    assert ds.nodes["Person"].categories == {"LABEL": ["Actor"]}
    assert report.ignored == ()


def test_bad_neo4j_exports_are_refused():
    data_sets.neo4j("export")
    data_sets.write_csv(
        "export/roles.csv", [[":START_ID(Person)", ":END_ID(Movie)", ":TYPE"], ["nobody", "tt0133093", "X"]]
    )
    with pytest.raises(gz.FormatError, match=r"export/roles.csv: expected ids of nodes, found .*nobody"):
        convert_dataset("export", "out")
    data_sets.write_csv("export/roles.csv", [[":START_ID(Person)", ":END_ID(Dog)", ":TYPE"]])
    with pytest.raises(gz.FormatError, match=r"roles.csv: expected nodes of the id space Dog, found Movie, Person"):
        convert_dataset("export", "out")
    data_sets.write_csv(
        "export/roles.csv", [[":START_ID(Person)", ":END_ID(Movie)", ":TYPE"], ["keanu"], ["a", "b", "c"]]
    )
    with pytest.raises(gz.FormatError, match=r"roles.csv: line 2: expected 3 fields, found 1: keanu"):
        convert_dataset("export", "out")
    with open("export/roles.csv", "ab") as file:
        file.truncate(45)
        file.write(b"\n\xff,tt0133093,X\n")
    with pytest.raises(gz.FormatError, match=r"roles.csv: after line .: expected csv in UTF-8, found: 'utf-8' codec"):
        convert_dataset("export", "out")
    data_sets.write_csv("export/movies.csv", [["id:ID(Movie)", "year:int"], ["a", 1], ["a", 2]])
    with pytest.raises(gz.FormatError, match=r"movies.csv: expected each id once, found 1 repeated ones"):
        convert_dataset("export", "out")
    data_sets.write_csv("export/movies.csv", [["id:ID(Movie)", "year:int"], ["a", "x"]])
    with pytest.raises(gz.FormatError, match=r"movies.csv: column year: expected numbers, found: invalid literal"):
        convert_dataset("export", "out")
    assert sorted(os.listdir()) == ["export"]


def test_features_may_be_stored_smaller():
    ds, _ = converted(data_sets.pyg_data(), feature_dtype="float16")
    assert ds.features("x").dtype == ds.features("edge_attr", ("node", "to", "node")).dtype == "float16"
    assert ds.features("year").dtype == "int64"


def test_options_of_edges_are_passed_on():
    assert converted(data_sets.pyg_data(), index="in")[0].graph.indexes == ("in",)


def test_several_splits_must_be_chosen_from():
    data_sets.ogb_csv("ogbn_tiny")
    data_sets.csv_splits("ogbn_tiny/split/random")
    with pytest.raises(ValueError, match=r"split: expected split= one of random, time, found none given"):
        convert_dataset("ogbn_tiny", "out")
    with pytest.raises(ValueError, match=r"split: expected split= one of random, time, found 'other'"):
        convert_dataset("ogbn_tiny", "out", split="other")
    assert converted("ogbn_tiny", split="random")[0].metadata["split"] == "random"


def test_data_sets_of_many_graphs_are_refused():
    data_sets.ogb_csv("ogbg_tiny")
    data_sets.write_csv("ogbg_tiny/raw/num-node-list.csv.gz", [2, 3])
    with pytest.raises(gz.FormatError, match=r"num-node-list.csv.gz: expected one graph, found 2"):
        convert_dataset("ogbg_tiny", "out")


def test_a_missing_part_is_named():
    data_sets.ogb_csv("ogbn_tiny")
    os.remove("ogbn_tiny/raw/num-node-list.csv.gz")
    with pytest.raises(gz.FormatError, match=r"ogbn_tiny/raw: expected num-node-list.csv.gz, found edge-feat.csv.gz, "):
        convert_dataset("ogbn_tiny", "out")


def test_labels_that_are_not_numbers_are_refused():
    data_sets.ogb_csv("ogbn_tiny")
    data_sets.write_csv("ogbn_tiny/raw/node-label.csv.gz", ["cat"])
    with pytest.raises(gz.FormatError, match=r"node-label.csv.gz: expected numbers, found: could not convert string"):
        convert_dataset("ogbn_tiny", "out")


def test_a_failed_conversion_leaves_nothing():
    data_sets.mag240m("mag")
    data_sets.save("mag/processed/paper/node_year.npy", np.array(YEAR[:3]))
    with pytest.raises(ValueError, match=r"attribute 'year' of 'paper': expected 5 rows, found 3"):
        convert_dataset("mag", "out")
    assert sorted(os.listdir()) == ["mag"]


def test_an_unknown_layout_is_refused():
    os.mkdir("empty")
    with pytest.raises(ValueError, match=r"empty: expected a data set of graphbolt, ogb-binary, .*, found nothing;"):
        convert_dataset("empty", "out")
    with pytest.raises(ValueError, match=r"format: expected auto, pyg, graphbolt, .*, found 'parquet'"):
        convert_dataset("empty", "out", format="parquet")
    with pytest.raises(NotADirectoryError, match=r"missing: expected the folder of a data set"):
        convert_dataset("missing", "out")
    with pytest.raises(TypeError, match=r"source: expected a folder, or a PyG Data or HeteroData, found int"):
        convert_dataset(7, "out")


def test_the_source_is_not_overwritten():
    data_sets.mag240m("mag")
    for target in ("mag", "."):
        with pytest.raises(ValueError, match=r"expected a folder that does not hold the source mag"):
            convert_dataset("mag", target, overwrite=True)
    assert sorted(os.listdir("mag")) == ["meta.pt", "processed", "split_dict.pt"]


def test_a_pickle_with_code_is_not_run():
    data_sets.mag240m("mag")
    torch.save({"paper": os.getcwd}, "mag/meta.pt")
    with pytest.raises(gz.FormatError, match=r"mag/meta.pt: expected tensors and plain values, which load safely"):
        convert_dataset("mag", "out")


@pytest.mark.parametrize("name_then", ["first_bad_lines", "bad_lines"])
def test_a_run_that_was_cut_off_is_resumed(tmp_path, monkeypatch, name_then):
    data_sets.mag240m(tmp_path / "mag")
    # Always the converters themselves: the stand-ins have no report to keep.
    real, real_features, calls = gz.convert_edges, gz.convert_features, []
    monkeypatch.setattr(module, "convert_features", real_features)

    def fail_at_the_second(source, path, **options):
        calls.append(path)
        if len(calls) == 2:
            raise OSError("the power went")
        return real(source, path, **options)

    monkeypatch.setattr(module, "convert_edges", fail_at_the_second)
    with pytest.raises(OSError, match="the power went"):
        convert_dataset("mag", "ds", resume=True)
    assert sorted(os.listdir())[1:] == ["mag"]
    assert sorted(os.listdir())[0].endswith(".graphzero-resume")
    (kept,) = tmp_path.glob(".*/*.json")
    kept.write_text(kept.read_text().replace("first_bad_lines", name_then))
    monkeypatch.setattr(
        module, "convert_edges", lambda *given, **options: calls.append("again") or real(*given, **options)
    )
    monkeypatch.setattr(module, "convert_features", lambda *given, **options: pytest.fail("features were finished"))
    resumed = convert_dataset("mag", "ds", resume=True)
    assert calls.count("again") == len(resumed.edges) - 1
    assert sorted(os.listdir()) == ["ds", "mag"]
    monkeypatch.setattr(module, "convert_features", real_features)
    fresh = convert_dataset("mag", "fresh")
    assert {kind: report.num_edges for kind, report in resumed.edges.items()} == {
        kind: report.num_edges for kind, report in fresh.edges.items()
    }
    for ours, theirs in zip(gz.open("ds").stores(), gz.open("fresh").stores(), strict=True):
        assert ours.fingerprint == theirs.fingerprint


def test_a_changed_source_or_an_object_is_not_resumed(tmp_path):
    data_sets.mag240m(tmp_path / "mag")
    first = module._waiting_folder("mag", "ds", [])
    assert first == module._waiting_folder("mag", "ds", [])
    assert first != module._waiting_folder("mag", "ds", ["other options"])
    os.utime(next(tmp_path.rglob("node_feat.npy")), ns=(1, 1))
    assert first != module._waiting_folder("mag", "ds", [])
    with pytest.raises(ValueError, match="resume: expected a folder as the source, found an object"):
        convert_dataset(data_sets.pyg_data(), "ds", resume=True)


# Folders of strangers


def graphbolt_with(change):
    data_sets.graphbolt("theirs")
    with open("theirs/metadata.yaml") as file:
        document = yaml.safe_load(file)
    change(document)
    with open("theirs/metadata.yaml", "w") as file:
        yaml.safe_dump(document, file)


def first_feature(document, path):
    document["feature_data"][0]["path"] = path


def first_edge(document, path):
    document["graph"]["edges"][0]["path"] = path


def first_seeds(document, path):
    document["tasks"][0]["train_set"][0]["data"][0]["path"] = path


@pytest.mark.parametrize("place", [first_feature, first_edge, first_seeds])
@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.npy", "data/../../secret.npy", "", "a\0b", None, 7])
def test_graphbolt_names_files_of_its_own_folder_only(place, path):
    data_sets.save("./secret.npy", X)
    graphbolt_with(lambda document: place(document, path))
    with pytest.raises(gz.FormatError, match=r"theirs/metadata.yaml: expected a path inside the folder, found "):
        convert_dataset("theirs", "out")


@pytest.mark.parametrize("name", ["../../../secret", "/secret", ".."])
def test_type_names_of_ogb_do_not_lead_out_of_its_folder(name):
    data_sets.ogb_csv_hetero("theirs")
    os.makedirs("secret")
    data_sets.write_csv("theirs/raw/num-node-dict.csv.gz", [["author", "paper", name], [3, 5, 1]])
    with pytest.raises(gz.FormatError, match=r"num-node-dict.csv.gz: expected a path inside the folder, found "):
        convert_dataset("theirs", "out")
    data_sets.write_csv("theirs/raw/num-node-dict.csv.gz", [["author", "paper"], [3, 5]])
    data_sets.write_csv("theirs/raw/triplet-type-list.csv.gz", [["author", f"/../{name}/x", "paper"]])
    with pytest.raises(gz.FormatError, match=r"triplet-type-list.csv.gz: expected a path inside the folder, found "):
        convert_dataset("theirs", "out")


def test_folder_names_of_the_processed_layout_do_not_lead_out_of_it():
    data_sets.mag240m("theirs")
    os.rename("theirs/processed/paper___cites___paper", "theirs/processed/..___cites___..")
    with pytest.raises(gz.FormatError, match=r"edge_index.npy: expected a path inside the folder, found '\.\.'"):
        convert_dataset("theirs", "out")


def test_yaml_that_grows_when_it_is_read_is_refused():
    os.mkdir("theirs")
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    for text in (
        "\n".join([*lines, "dataset_name: *a9"]),
        "&a [*a]",
        "a: &a {b: *a}",
        "[" * 5000,
        f"x: {'y' * (2 << 20)}",
        "x: 0001-99-99",
        "? [a, b]\n: c",
        "x: !!python/object/apply:os.mkdir [trapped]",
        "x: \x00",
    ):
        with open("theirs/metadata.yaml", "w") as file:
            file.write(text)
        with pytest.raises(gz.FormatError, match="theirs/metadata.yaml: expected (YAML|at most|a mapping)"):
            convert_dataset("theirs", "out")
    assert not os.path.exists("trapped")


def test_yaml_may_say_a_thing_once_and_mean_it_twice():
    def share(document):
        task = document["tasks"][0]
        task["test_set"] = task["validation_set"]

    graphbolt_with(share)
    with open("theirs/metadata.yaml") as file:
        assert "*id001" in file.read()
    assert converted("theirs")[0].split("test", of="paper").tolist() == SPLITS["valid"]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(graph=7),
        lambda document: document["graph"].update(nodes=[7]),
        lambda document: document["graph"].update(nodes=[{"type": "paper"}]),
        lambda document: document["graph"].update(nodes=[{"type": "paper", "num": 2**70}]),
        lambda document: document["graph"].update(nodes=[{"type": "paper", "num": -1}]),
        lambda document: document["graph"].update(nodes=[{"type": "paper", "num": float("inf")}]),
        lambda document: document["graph"].update(nodes=[{"type": ["paper"], "num": 3}]),
        lambda document: document["graph"]["edges"][0].update(type=7),
        lambda document: document.update(feature_data=[[]]),
        lambda document: document["feature_data"][0].pop("name"),
        lambda document: document["feature_data"][0].update(name=["x"]),
        lambda document: document["feature_data"][0].update(type="ghost"),
        lambda document: document.update(tasks={"a": 1}),
        lambda document: document["tasks"][0].update(train_set=[7]),
    ],
)
def test_graphbolt_with_odd_parts_is_refused(change):
    graphbolt_with(change)
    with pytest.raises(gz.FormatError, match=r"theirs/metadata.yaml: expected "):
        convert_dataset("theirs", "out")


@pytest.mark.parametrize("ids", [[0, -1], [0, 5]])
def test_graphbolt_labels_of_nodes_that_are_not_there_are_refused(ids):
    data_sets.graphbolt("theirs")
    data_sets.save("theirs/set/train.npy", np.array(ids))
    with pytest.raises((gz.FormatError, IndexError), match=r"expected"):
        convert_dataset("theirs", "out")
