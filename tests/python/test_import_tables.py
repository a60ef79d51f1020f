"""Tables of nodes and edges to a data set folder, row by row beside polars."""

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphzero as gz
import tables
from cgroups import limited_to
from tables import DEPENDS, MAINTAINS

TESTS = Path(tables.__file__).parent


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edges_of(data, triple):
    """Edges of a type in the order of the table: (src label, dst label, weight, time) by edge id."""
    graph = data.edges[triple].graph
    src = np.repeat(np.arange(graph.num_src_nodes), np.diff(graph.indptr))
    order = np.arange(len(src)) if graph.edge_ids is None else np.argsort(graph.edge_ids)

    def labels(kind, nodes):
        ids = data.nodes[kind].ids
        return nodes if ids is None else ids.labels(nodes)

    return {
        "src": labels(triple[0], src[order]).tolist(),
        "dst": labels(triple[2], np.asarray(graph.indices)[order]).tolist(),
        "weight": graph.weights[order].tolist() if graph.has_weights else None,
        "time": graph.times[order].tolist() if graph.has_times else None,
    }


def check_packages(folder, given):
    """Compare a folder with its tables, every row."""
    with gz.open(folder) as data:
        package = data.nodes["package"]
        frame = given.packages.sort(pl.col("name").cast(pl.Binary))
        assert package.ids.labels(np.arange(package.num_nodes)).tolist() == frame["name"].to_list()
        np.testing.assert_array_equal(
            package["x"].get_tensor(), frame.select("size", "age").to_numpy().astype(np.float32)
        )
        classes = sorted(set(frame["section"]), key=str.encode)
        assert package.class_names == classes
        assert package.num_classes == len(classes)
        assert [classes[code] for code in package["y"].get_tensor()] == frame["section"].to_list()
        for name in ("train", "valid", "test"):
            expected = np.flatnonzero((frame["split"] == name).to_numpy())
            np.testing.assert_array_equal(data.split(name, of="package"), expected)
        assert (
            sorted(given.maintainers["mail"])
            == data.nodes["maintainer"].ids.labels(np.arange(data.nodes["maintainer"].num_nodes)).tolist()
        )
        depends = edges_of(data, DEPENDS)
        assert depends["src"] == given.depends["a"].to_list()
        assert depends["dst"] == given.depends["b"].to_list()
        assert depends["weight"] == given.depends["w"].to_list()
        times = given.depends["when"].str.to_datetime(time_zone="UTC").dt.epoch("s").to_list()
        assert depends["time"] == times
        assert data.edges[DEPENDS].time_unit == "s"
        maintains = edges_of(data, MAINTAINS)
        assert maintains["src"] == given.maintains["mail"].to_list()
        assert maintains["dst"] == given.maintains["name"].to_list()
    assert all(check.holds for check in gz.verify(folder))


def as_files(given, ending):
    paths = {}
    for name in given.__annotations__:
        frame = getattr(given, name)
        path = paths[name] = f"{name}.{ending}"
        if ending == "parquet":
            frame.write_parquet(path)
        elif ending == "arrow":
            frame.write_ipc(path)
        elif ending.startswith("csv.gz"):
            with gzip.open(path, "wb") as file:
                file.write(frame.write_csv().encode())
        else:
            frame.write_csv(path, separator={"tsv": "\t", "psv": "|"}.get(ending, ","))
    return paths


@pytest.mark.parametrize("ending", ["csv", "tsv", "psv", "csv.gz", "parquet", "arrow"])
def test_tables_in_files_become_a_data_set(here, ending):
    given = tables.package_tables()
    report = gz.build_dataset("folder", **given.settings(**as_files(given, ending)), memory="256MB")
    check_packages("folder", given)
    assert report.nodes["package"].num_nodes == 600
    assert report.nodes["package"].class_names == ("Doc", "libs", "net", "python", "weiß")
    assert report.edges[DEPENDS].conversion.num_rows == 2500
    assert sum(report.splits.values()) == 600


def as_sources(kind, frame):
    if kind == "polars":
        return frame
    if kind == "lazy":
        return frame.lazy()
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(frame.to_dict(as_series=False))
    if kind == "categorical":
        return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))
    if kind == "arrow":
        return frame.to_arrow()
    if kind == "reader":
        return pa.RecordBatchReader.from_stream(frame)
    if kind == "dict":
        return frame.to_dict(as_series=False)
    if kind == "duckdb":
        return pytest.importorskip("duckdb").sql("select * from frame")
    connection = sqlite3.connect(":memory:")
    connection.execute(f"create table t({', '.join(map(json.dumps, frame.columns))})")
    connection.executemany(f"insert into t values({', '.join('?' * frame.width)})", frame.rows())
    return connection.execute("select * from t")


@pytest.mark.parametrize(
    "kind", ["polars", "lazy", "pandas", "categorical", "arrow", "reader", "dict", "duckdb", "sqlite"]
)
def test_tables_in_memory_and_queries_become_the_same_data_set(here, kind):
    given = tables.package_tables(seed=1)
    sources = {name: as_sources(kind, getattr(given, name)) for name in given.__annotations__}
    gz.build_dataset("folder", **given.settings(**sources))
    check_packages("folder", given)


def test_several_files_and_globs_are_one_table(here):
    given = tables.package_tables(seed=2)
    for number, part in enumerate(given.depends.iter_slices(700)):
        part.write_csv(f"depends-{number}.csv")
    given.packages[:100].write_parquet("p0.parquet")
    given.packages[100:].write_parquet("p1.parquet")
    os.mkdir("maintains")
    given.maintains[:5].write_parquet("maintains/0.parquet")
    given.maintains[5:].write_parquet("maintains/1.parquet")
    sources = {
        "depends": "depends-*.csv", "packages": ["p0.parquet", "p1.parquet"], "maintains": "maintains",
    }  # fmt: skip
    gz.build_dataset("folder", **given.settings(**sources))
    check_packages("folder", given)


def test_the_result_depends_neither_on_the_order_of_nodes_nor_on_memory(here):
    given = tables.package_tables(seed=3)
    gz.build_dataset("first", **given.settings())
    shuffled = tables.PackageTables(
        given.packages.sample(fraction=1, shuffle=True, seed=1),
        given.maintainers.reverse(),
        given.depends,
        given.maintains,
    )
    gz.build_dataset("second", **shuffled.settings(), memory="64MB")
    for folder, _, names in os.walk("first"):
        for name in names:
            if name != "graphzero.json":
                path = os.path.join(folder, name)
                with open(path, "rb") as one, open(path.replace("first", "second", 1), "rb") as other:
                    assert one.read() == other.read(), path


def test_one_table_of_each_needs_no_types(here):
    gz.build_dataset(
        "folder",
        nodes={"source": {"id": ["b", "a", "lonely"], "v": [2, 1, 3]}, "features": ["v"]},
        edges={"source": {"src": ["a"], "dst": ["b"]}},
    )
    with gz.open("folder") as data:
        assert not data.is_hetero
        assert data.node_label(0) == "a"
        assert data.node_index("lonely", type="node") == 2
        assert data.x.tolist() == [[1], [2], [3]]
        assert data.edge_index.tolist() == [[0], [1]]


def test_a_type_without_a_table_has_the_ids_of_its_edges(here):
    gz.build_dataset(
        "folder", edges={"user:likes:item": {"source": {"u": [70, 5], "i": ["x", "y"]}, "src": 0, "dst": 1}}
    )
    with gz.open("folder") as data:
        assert data.node_index(70, of="user") == 1
        assert data.node_label(0, of="item") == "x"
        assert edges_of(data, ("user", "likes", "item"))["src"] == [70, 5]


def test_a_table_without_ids_numbers_its_rows(here):
    gz.build_dataset(
        "folder", nodes={"source": {"v": [5.0, 6.0]}, "features": "v"}, edges=pa.table({"src": [1], "dst": [0]})
    )
    with gz.open("folder") as data:
        assert data.x.tolist() == [[5], [6]]
        assert data.nodes["node"].ids is None
        assert data.edge_index.tolist() == [[1], [0]]


IDS = st.one_of(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30, unique=True),
    st.integers(1, 30).map(lambda count: list(range(count))),
    st.lists(st.uuids(), min_size=1, max_size=30, unique=True).map(lambda ids: [str(one) for one in ids]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=IDS, data=st.data())
def test_ids_of_any_kind_come_back(tmp_path, ids, data):
    order = data.draw(st.permutations(ids))
    ends = data.draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=40))
    values = np.arange(len(order), dtype=np.float32)
    kind = pa.string() if isinstance(ids[0], str) else pa.int64()
    nodes = pa.table({"key": pa.array(order, kind), "v": values})
    edges = pa.table({"src": pa.array([a for a, _ in ends], kind), "dst": pa.array([b for _, b in ends], kind)})
    as_text = data.draw(st.booleans()) and all("\r" not in str(one) and "\0" not in str(one) for one in ids)
    if as_text:
        for name, table in (("n.csv", nodes), ("e.csv", edges)):
            pl.from_arrow(table).write_csv(
                tmp_path / name, quote_style="always" if kind == pa.string() else "necessary"
            )
        nodes, edges = tmp_path / "n.csv", tmp_path / "e.csv"
    gz.build_dataset(
        tmp_path / "folder", {"source": nodes, "id": "key", "features": {"v": "v"}}, {"source": edges}, overwrite=True
    )
    with gz.open(tmp_path / "folder") as built:
        text = as_text and any(not (str(one).isdigit() and str(int(one)) == str(one)) for one in ids)
        for row, one in enumerate(order):
            if built.nodes["node"].ids is None:
                node = int(one)
            else:
                wanted = str(one) if built.nodes["node"].ids.kind == "string" else int(one)
                node = built.node_index(wanted)
            assert built.features("v").get_data(node) == values[row]
        found = edges_of(built, ("node", "to", "node"))
        assert [(str(a), str(b)) for a, b in zip(found["src"], found["dst"], strict=True)] == [
            (str(a), str(b)) for a, b in ends
        ]
        assert text or built.nodes["node"].num_nodes == len(ids)


def test_ids_of_text_keep_their_zeros(here):
    with open("n.csv", "w") as file:
        file.write("id\n7\n007\n")
    gz.build_dataset("folder", {"source": "n.csv", "id": "id"}, {"source": {"src": ["007"], "dst": ["7"]}})
    with gz.open("folder") as data:
        assert [data.node_label(node) for node in (0, 1)] == ["007", "7"]


def test_uuids_of_arrow_are_text(here):
    ids = [uuid.UUID(int=number) for number in (2**100, 5)]
    column = pa.array([one.bytes for one in ids], pa.uuid())
    gz.build_dataset("folder", pa.table({"id": column}), pa.table({"src": [str(ids[0])], "dst": column[1:]}))
    with gz.open("folder") as data:
        assert data.node_label(0) == str(ids[1])
        assert data.edge_index.tolist() == [[1], [0]]


def test_integers_that_pandas_made_floats_are_ids(here):
    edges = {"src": [1.0, 2.0, None], "dst": [2.0, 1.0, 1.0]}
    gz.build_dataset("folder", {"source": {"id": [1, 2]}}, {"source": edges}, on_missing="drop")
    with gz.open("folder") as data:
        assert data.edge_index.tolist() == [[0, 1], [1, 0]]


# Features.


def features_of(here, column, values, spec, **settings):
    table = pa.table({"id": ["a", "b", "c"], column: values})
    report = gz.build_dataset("folder", {"source": table, "features": spec, **settings}, None, overwrite=True)
    with gz.open("folder") as data:
        return {name: np.array(store.get_tensor()) for name, store in data.nodes["node"].attributes.items()}, report


def test_columns_are_packed_or_kept_apart(here):
    table = {"id": ["b", "a"], "n": [1, 2], "f": [0.5, 1.5], "flag": [True, False], "e": [[1.0, 2.0], [3.0, 4.0]]}
    spec = {"x": ["n", "flag", "e"], "n": "n", "f": {"column": "f"}}
    gz.build_dataset("folder", {"source": pa.table(table), "features": spec}, None)
    with gz.open("folder") as data:
        node = data.nodes["node"]
        assert node["x"].get_tensor().tolist() == [[2, 0, 3, 4], [1, 1, 1, 2]]
        assert (node["x"].dtype, node["n"].dtype, node["f"].dtype) == ("float32", "int64", "float64")
        assert node["n"].get_tensor().tolist() == [2, 1]


def test_categories_are_codes_with_names_or_columns(here):
    spec = {"x": [{"column": "c", "as": "onehot"}], "kind": {"column": "c", "as": "code"}}
    found, _ = features_of(here, "c", ["red", None, "blue"], spec)
    assert found["x"].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert found["kind"].tolist() == [1, -1, 0]
    with gz.open("folder") as data:
        assert data.nodes["node"].categories == {"kind": ["blue", "red"]}


def test_a_star_takes_all_columns_of_numbers_that_are_left(here):
    table = pa.table({"id": ["a", "b"], "n": [1, 2], "t": ["x", "y"], "y": [0, 1], "f": [1.0, 2.0]})
    report = gz.build_dataset("folder", {"source": table, "features": "*", "label": "y"}, None)
    assert report.nodes["node"].attributes["x"] == "2 float32"
    assert report.nodes["node"].unused_columns == ("t",)


def test_features_may_have_another_type(here):
    found, report = features_of(here, "v", [1.0, 2.0, 3.0], ["v"], dtype="float16")
    assert found["x"].dtype == np.float16
    assert not report.notes


def test_integers_that_float32_cannot_hold_are_noted(here):
    _, report = features_of(here, "v", [2**24 + 1, 0, 1], ["v"])
    assert "node: 'x' is rounded: largest error 1, " in report.notes[0]


def test_nothing_is_an_error_or_filled(here):
    with pytest.raises(
        ValueError, match=r"Table: row 1: fill: column 'v': expected a number, found nothing; give what"
    ):
        features_of(here, "v", [1, None, 3], ["v"])
    found, _ = features_of(here, "v", [1, None, 3], ["v"], fill=-7)
    assert found["x"].tolist() == [[1], [-7], [3]]
    found, _ = features_of(here, "v", [1, None, 3], [{"column": "v", "fill": float("nan")}])
    assert np.isnan(found["x"][1, 0])


def test_text_that_is_no_number_is_named_with_its_line(here):
    with open("n.csv", "w") as file:
        file.write('id,v\na,1\n"b\n",2\n\nc,many\n')
    for feature in ("v", {"column": "v", "as": "number"}):
        with pytest.raises(gz.FormatError, match=r"n.csv: line 6: column 'v': expected a number, found 'many'; to num"):
            gz.build_dataset("folder", {"source": "n.csv", "features": [feature]}, None)


def test_fields_of_text_may_be_quoted_missing_or_booleans(here):
    with open("n.csv", "w") as file:
        file.write('id;v;b\n"a;1";1.5;true\nb;NA;FALSE\n')
    gz.build_dataset("folder", {"source": "n.csv", "features": ["v", "b"], "fill": 0}, None)
    with gz.open("folder") as data:
        assert data.node_label(0) == "a;1"
        assert data.x.tolist() == [[1.5, 1], [0, 0]]


def test_lists_of_two_lengths_are_refused(here):
    with pytest.raises(gz.FormatError, match=r"row 1: column 'v': expected 2 numbers, as before it, found 1"):
        features_of(here, "v", [[1, 2], [3], [4, 5]], ["v"])


def test_text_must_be_said_to_be_a_category(here):
    with pytest.raises(
        TypeError, match=r"features: column 'v': expected numbers, found text; give {'column': 'v', 'as'"
    ):
        features_of(here, "v", ["x", "y", "z"], ["v"])


# Labels.


def label_of(here, values, spec="v", **settings):
    table = pa.table({"id": ["c", "b", "a"], "v": values})
    report = gz.build_dataset("folder", {"source": table, "label": spec, **settings}, None, overwrite=True)
    with gz.open("folder") as data:
        node = data.nodes["node"]
        return node["y"].get_tensor().tolist(), node.num_classes, node.class_names, report


def test_labels_are_classes_or_numbers(here):
    assert label_of(here, [2, None, 0])[:3] == ([0, -1, 2], 3, None)
    assert label_of(here, ["x", None, "b"])[:3] == ([0, -1, 1], 2, ["b", "x"])
    assert label_of(here, [True, False, True])[:3] == ([1, 0, 1], 2, None)
    assert label_of(here, [0.5, 1.0, 2.0])[:3] == ([2, 1, 0.5], None, None)
    assert label_of(here, [2007, 1999, 2007], {"column": "v", "kind": "class"})[:3] == ([1, 0, 1], 2, ["1999", "2007"])
    assert label_of(here, [2007, 1999, 2007], {"column": "v", "kind": "number"})[:3] == ([2007, 1999, 2007], None, None)
    assert label_of(here, [[1, 0], [0, 0], [1, 1]])[0] == [[1, 1], [0, 0], [1, 0]]


def test_integers_that_can_hardly_be_classes_are_refused(here):
    with pytest.raises(
        ValueError, match=r"Table: row 1: column 'v': expected classes, .*, found -5, which is below -1; giv"
    ):
        label_of(here, [1, -5, 2])
    with pytest.raises(
        ValueError, match=r"label: Table: column 'v': expected classes, .*, found 9999999, among 3 nodes"
    ):
        label_of(here, [1, 9999999, 2])


def test_whole_floats_with_gaps_may_be_classes(here):
    with pytest.raises(
        ValueError, match=r"label: column 'v': expected classes or numbers, found whole numbers and noth"
    ):
        label_of(here, [1.0, None, 2.0])


def test_class_names_survive_text(here):
    with open("n.csv", "w") as file:
        file.write("id,section\na,net\nb,\nc,Net\n")
    gz.build_dataset("folder", {"source": "n.csv", "label": "section"}, None)
    with gz.open("folder") as data:
        assert data.nodes["node"].class_names == ["Net", "net"]
        assert data.y.tolist() == [1, -1, 0]


# Splits.


def splits_of(data, of="node"):
    return {name: data.split(name, of=of).tolist() for name in data.split_names}


def test_splits_by_column_know_their_usual_names(here):
    table = pa.table({"id": list("abcd"), "s": ["val", "train", None, "train"]})
    gz.build_dataset("folder", {"source": table, "split": "s"}, None)
    with gz.open("folder") as data:
        assert splits_of(data) == {"valid": [0], "train": [1, 3]}


def test_splits_by_shares_are_exact_disjoint_and_repeatable(here):
    table = pa.table({"id": np.arange(1000)})
    shares = {"train": 0.7, "valid": 0.1, "test": 0.15}
    found = []
    for seed in (1, 1, 2):
        gz.build_dataset("folder", {"source": table, "split": {**shares, "seed": seed}}, None, overwrite=True)
        with gz.open("folder") as data:
            found.append(splits_of(data))
    assert [len(found[0][name]) for name in shares] == [700, 100, 150]
    assert len({node for split in found[0].values() for node in split}) == 950
    assert found[0] == found[1] != found[2]


def test_every_row_is_as_likely_in_a_split(monkeypatch):
    from graphzero.convert.tables import splits

    for block, least in ((4, 10**9), (4, 0)):  # NumPy's draws, and ours for more items than it takes
        monkeypatch.setattr(splits, "_BLOCK", block)
        monkeypatch.setattr(splits, "_MOST_NUMPY_DRAWS_FROM", least)
        counts = np.zeros((10, 3))
        for seed in range(3000):
            codes = np.concatenate(list(splits.shared_at_random(10, {"a": 0.5, "b": 0.3}, seed)))
            assert np.bincount(codes, minlength=3).tolist() == [2, 5, 3]
            counts[np.arange(10), codes] += 1
        expected = 3000 * np.array([0.2, 0.5, 0.3])
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


@settings(max_examples=60, deadline=None)
@given(
    times=st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)), min_size=1, max_size=50),
    shares=st.sampled_from([(0.5, 0.3, 0.2), (0.8, 0.1), (0.0, 1.0), (0.34, 0.33, 0.33)]),
)
def test_splits_by_time_divide_sorted_rows_and_keep_equal_times_together(tmp_path_factory, times, shares):
    from graphzero.convert.tables.splits import counts_of, shared_by_time

    path = tmp_path_factory.mktemp("times") / "t.gd"
    gz.write_features(path, np.array(times))
    with gz.FeatureStore(path) as store:
        codes = np.concatenate(list(shared_by_time(store, {str(i): share for i, share in enumerate(shares)})))
    ends = np.cumsum(counts_of(len(times), list(shares))[:-1])
    ranked = np.sort(times)
    for time, code in zip(times, codes, strict=True):
        first = int(np.searchsorted(ranked, time, "left"))  # rows that are older
        expected = int(np.searchsorted(ends, first, "right"))
        assert code == (expected + 1 if expected < len(ends) else 0)


def test_an_attribute_may_be_called_split(here):
    table = pa.table({"id": list("ba"), "s": ["train", None], "v": [5, 6]})
    gz.build_dataset("folder", {"source": table, "split": "s", "features": {"split": "v"}}, None)
    with gz.open("folder") as data:
        assert data.features("split").get_tensor().tolist() == [6, 5]
        assert splits_of(data) == {"train": [1]}


def test_splits_by_time_take_dates(here):
    table = pa.table({"id": list("abcd"), "when": ["2024-03-01", "2021-01-01", "2022-05-05", "2023-01-01"]})
    gz.build_dataset("folder", {"source": table, "split": {"train": 0.5, "test": 0.5, "by": "when"}}, None)
    with gz.open("folder") as data:
        assert splits_of(data) == {"train": [1, 2], "test": [0, 3]}
        assert list(data.nodes["node"].attributes) == []


def test_splits_by_files_arrays_and_masks(here):
    np.save("test.npy", np.array(["c", "d"]))
    with open("train.csv", "w") as file:
        file.write("b\na\n")
    pl.DataFrame({"id": ["e"]}).write_parquet("valid.parquet")
    table = pa.table({"id": list("abcdef"), "m": [True, False, None, False, False, True], "k": [False] * 5 + [False]})
    members = {"train": "train.csv", "valid": "valid.parquet", "test": "test.npy", "more": ["f"]}
    gz.build_dataset("folder", {"source": table, "split": members}, None)
    with gz.open("folder") as data:
        assert splits_of(data) == {"train": [0, 1], "valid": [4], "test": [2, 3], "more": [5]}
    gz.build_dataset("masks", {"source": table, "split": {"train": "m", "test": "k"}}, None)
    with gz.open("masks") as data:
        assert splits_of(data) == {"train": [0, 5], "test": []}


def test_splits_that_overlap_or_name_strangers_are_refused(here):
    table = pa.table({"id": ["a", "b"], "m": [True, True], "k": [False, True]})
    for split, message in (
        ({"train": ["a"], "test": ["b", "a"]}, "expected each node in one split and once, found node 0 again"),
        ({"train": ["z"]}, "split 'train': expected an id of 'node', found 'z', which its table does not have"),
        ({"train": "m", "test": "k"}, "Table: row 1: split: expected a row in one split, found it in train and test"),
        ({"train": 0.9, "test": 0.2}, "split: expected shares from 0 to 1 that add up to 1 at most"),
        ({"train": 0.9, "test": "k"}, "split: expected a share for each split"),
        ({"train": 0.9, "seed": -1}, "split: seed: expected an integer from 0 on, found -1"),
    ):
        with pytest.raises((ValueError, KeyError), match=message):
            gz.build_dataset("folder", {"source": table, "split": split}, None)
    assert not os.path.exists("folder")


def test_edges_are_divided_too(here):
    table = pa.table({"src": [0, 1, 2, 0], "dst": [1, 2, 0, 2], "t": [4, 1, 3, 2], "s": ["a", "b", "a", None]})
    for split, expected in (
        ("s", {"a": [0, 2], "b": [1]}),
        ({"train": 0.75, "test": 0.25, "by": "t"}, {"train": [1, 2, 3], "test": [0]}),
    ):
        gz.build_dataset("folder", None, {"source": table, "split": split}, overwrite=True)
        with gz.open("folder") as data:
            assert splits_of(data, ("node", "to", "node")) == expected


# Edges.


def test_edges_keep_attributes_in_their_order_and_drop_rows_with_them(here):
    edges = {"src": ["a", "z", "b"], "dst": ["b", "a", "a"], "n": [1, 2, 3], "c": ["x", "y", "x"], "w": [1, 2, 3]}
    spec = {"source": edges, "features": {"n": "n", "c": {"column": "c", "as": "code"}}, "weight": "w"}
    report = gz.build_dataset("folder", {"source": {"id": ["a", "b"]}}, spec, on_missing="drop")
    assert report.edges["node", "to", "node"].num_dropped == 1
    with gz.open("folder") as data:
        edge = data.edges["node", "to", "node"]
        assert edge["n"].get_tensor().tolist() == [1, 3]
        assert edge["c"].get_tensor().tolist() == [0, 0]
        assert edge.categories == {"c": ["x", "y"]}
        assert edges_of(data, edge.name)["weight"] == [1, 3]


def test_nodes_that_only_edges_name_can_be_added(here):
    nodes = {"source": {"id": ["b", "a"], "v": [1.0, 2.0], "l": ["p", "q"], "s": ["train", "test"]},
             "features": ["v"], "label": "l", "split": "s"}  # fmt: skip
    report = gz.build_dataset("folder", nodes, {"source": {"src": ["a", "zz"], "dst": ["aa", "b"]}}, on_missing="add")
    assert report.nodes["node"].num_added == 2
    with gz.open("folder") as data:
        assert [data.node_label(node) for node in range(4)] == ["a", "aa", "b", "zz"]
        assert data.x.tolist() == [[2], [0], [1], [0]]
        assert data.y.tolist() == [1, -1, 0, -1]
        assert splits_of(data) == {"train": [2], "test": [0]}


def test_edges_can_be_undirected_deduplicated_and_have_a_way_back(here):
    edges = {"src": [0, 0, 1], "dst": [1, 1, 1], "w": [1.0, 2.0, 3.0]}
    nodes = pa.table({"id": [0, 1]})
    gz.build_dataset("folder", nodes, {"source": edges, "directed": False, "duplicates": "drop", "self_loops": "drop"})
    with gz.open("folder") as data:
        assert data.graph.num_edges == 2
        assert not data.graph.directed
    gz.build_dataset("back", nodes, {"source": edges, "weight": "w", "reverse": True})
    with gz.open("back") as data:
        assert edges_of(data, ("node", "rev_to", "node"))["src"] == [1, 1, 1]
        assert edges_of(data, ("node", "rev_to", "node"))["dst"] == [0, 0, 1]
        assert edges_of(data, ("node", "rev_to", "node"))["weight"] == [1, 2, 3]


TIMES = [
    ("2024-05-31", 1717113600),
    ("2024-05-31 12:00:01", 1717156801),
    ("2024-05-31T12:00:01Z", 1717156801),
    ("2024-05-31T14:00:01+02:00", 1717156801),
    ("2024-05-31T14:00:01+0200", 1717156801),
    ("0001-01-01", -62135596800),
    ("9999-12-31T23:59:59Z", 253402300799),
]


@pytest.mark.parametrize("mixed", [False, True])
def test_times_of_text_count_seconds_in_utc(here, mixed):
    groups = [TIMES] if mixed else [[one] for one in TIMES]
    for group in groups:
        edges = {"src": [0] * len(group), "dst": [0] * len(group), "t": [text for text, _ in group]}
        gz.build_dataset("folder", None, {"source": edges, "time": "t"}, overwrite=True)
        with gz.open("folder") as data:
            assert edges_of(data, ("node", "to", "node"))["time"] == [seconds for _, seconds in group]


def test_times_of_arrow_and_integers(here):
    stamps = pa.array([1_717_156_801_500, 1_717_156_801_000], pa.timestamp("ms", "Europe/Berlin"))
    for column, unit, expected, stored in (
        (stamps, "ms", [1_717_156_801_500, 1_717_156_801_000], "ms"),
        (stamps, "us", [1_717_156_801_500_000, 1_717_156_801_000_000], "us"),
        (pa.array([19874, 3], pa.date32()), None, [19874 * 86400, 3 * 86400], "s"),
        (pa.array([5, -5]), None, [5, -5], None),
        (pa.array([5, -5]), "ms", [5, -5], "ms"),
        (pa.array(["5", "-5"]), None, [5, -5], None),
    ):
        edges = pa.table({"src": [0, 0], "dst": [0, 0], "t": column})
        gz.build_dataset("folder", None, {"source": edges, "time": "t", "time_unit": unit}, overwrite=True)
        with gz.open("folder") as data:
            assert edges_of(data, ("node", "to", "node"))["time"] == expected
            assert data.edges["node", "to", "node"].time_unit == stored


def test_times_without_a_zone_are_in_that_of_time_zone(here):
    edges = {"src": [0], "dst": [0], "t": ["2024-07-01T12:00:00"]}
    gz.build_dataset("folder", None, {"source": edges, "time": "t", "time_zone": "Europe/Berlin"})
    with gz.open("folder") as data:
        assert edges_of(data, ("node", "to", "node"))["time"] == [1719828000]


def test_times_that_are_none_or_too_fine_are_named(here):
    def build(times, **more):
        edges = {"src": [0] * len(times), "dst": [0] * len(times), "t": times}
        gz.build_dataset("folder", None, {"source": edges, "time": "t", **more}, overwrite=True)

    with pytest.raises(
        ValueError, match=r"dict: row 1: time_unit: column 't': 2024.* is no whole number of s; give 'ms'"
    ):
        build(["2024-01-01", "2024-01-01T00:00:00.25"])
    with pytest.raises(
        ValueError, match=r"row 1: time: column 't': expected a date or time such as .*, found '2024-13-01'"
    ):
        build(["2024-01-01", "2024-13-01"])
    with pytest.raises(ValueError, match=r"row 1: time: column 't': expected a date or time such as .*, found nothing"):
        build(["2024-01-01", None])
    with pytest.raises(
        ValueError, match=r"row 1: time: column 't': expected an integer of 64 bits, as before it, found"
    ):
        build(["7", "2024-01-01"])
    with pytest.raises(ValueError, match=r"time: column 't': expected integers, dates or timestamps, found double"):
        build([0.5])
    with pytest.raises(ValueError, match=r"time_unit: expected 's', 'ms', 'us' or 'ns', found 'h'"):
        build([1], time_unit="h")


# What is wrong.


def test_an_id_that_comes_twice_is_named_with_both_rows(here):
    with open("n.csv", "w") as file:
        file.write("id,v\na,1\nb,2\na,3\n")
    message = (
        r"nodes 'node': n.csv: line 4: expected each id once in column 'id', found 'a', which n.csv: line 2 has too"
    )
    with pytest.raises(ValueError, match=message):
        gz.build_dataset("folder", {"source": "n.csv", "features": ["v"]}, None)
    with pytest.raises(ValueError, match=message):
        gz.build_dataset("folder", "n.csv", {"source": {"src": ["a"], "dst": ["x"]}}, on_missing="add")


def test_ids_that_are_missing_are_named(here):
    nodes = {"source": {"id": ["a", "b"]}}
    message = (
        r"dict: row 1: column 'dst': expected an id of 'node', found 'z', which its table does not have; give on_mis"
    )
    with pytest.raises(KeyError, match=message):
        gz.build_dataset("folder", nodes, {"source": {"src": ["a", "b"], "dst": ["b", "z"]}})
    with pytest.raises(ValueError, match=r"dict: row 0: src: column 'src': expected an id of 'node', found nothing"):
        gz.build_dataset("folder", nodes, {"source": {"src": [None, "b"], "dst": ["b", "a"]}})
    with pytest.raises(ValueError, match=r"Table: row 1: id: nodes 'node': column 'id': expected an id, found nothing"):
        gz.build_dataset("folder", pa.table({"id": ["a", None]}), None)
    with open("n.csv", "w") as file:
        file.write("id,v\na,1\n,2\n")
    with pytest.raises(
        ValueError, match=r"n.csv: line 3: id: nodes 'node': column 'id': expected an id, found nothing"
    ):
        gz.build_dataset("folder", "n.csv", None)


TWO = {"a": {"source": {"id": [1]}}, "b": {"source": {"id": [1]}}}
EDGE = {"source": {"src": [1], "dst": [1]}}


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (None, None, "edges: expected tables of nodes, of edges, or both, found neither"),
        (TWO, EDGE, r"edges: expected the type of the edges, .* several kinds of node, \['a', 'b'\]"),
        (EDGE, {"a:r:b": EDGE}, r"nodes: expected a table for each of the types \['a', 'b'\], found one"),
        ({"a": {"source": {"id": [1]}, "lable": "x"}}, None, r"nodes: 'a': expected source, .*, found 'lable'; did you mea"),
        ({"a": {"id": "x"}}, None, "nodes: 'a': expected a source, found none"),
        (None, {"a:b": EDGE}, r"edges: expected an edge type, \(source, relation, destination\) or .*, found 'a:b'"),
        (None, {"a:b:c": EDGE, ("a", "b", "c"): EDGE}, "edges: expected each edge type once, found one under two spelli"),
        (None, {**EDGE, "src": "src"}, "dict: expected both src= and dst=, found one; there are src, dst"),
        (None, {**EDGE, "src": "src", "dst": "src"}, "dict: dst: expected another column than that of src, found 'src'"),
        (None, {**EDGE, "weight": "w"}, "dict: weight: expected one of the columns src, dst, found 'w'"),
        (None, {"a:r:b": {**EDGE, "directed": False}}, "directed: edges .*: expected one kind of node for undirected"),
        (None, {**EDGE, "reverse": True, "directed": False}, "reverse: edges .*: expected true or a name, for directed edg"),
        (None, {**EDGE, "reverse": 5}, "reverse: edges .*: expected true or a name, for directed edges, found 5"),
        (None, {**EDGE, "time": "src", "time_zone": 5}, "time_zone: expected the name of a zone, such as Europe/Berlin, fo"),
        (None, {**EDGE, "split": {"train": [0]}}, "split: edges .*: expected a column of true and false for each split, f"),
        (None, {**EDGE, "on_missing": "x"}, "on_missing: expected 'error', 'drop' or 'add', found 'x'"),
        (None, {"source": 7}, "source: expected a path, several paths, a frame, .*, found int"),
        (None, {"source": []}, "source: expected paths of files, found an empty list"),
        ({"source": {"id": [1.5]}}, None, "dict: id: column 'id': expected ids that are text, integers or UUIDs, found dou"),
        ({"source": {"id": [[1]]}}, None, "dict: id: column 'id': expected ids that are text, integers or UUIDs, found lis"),
        ({"source": {"id": [1]}, "features": {"y": "id"}, "label": "id"}, None, "features: nodes 'node': 'y' is the name of"),
        ({"source": {"id": [1]}, "fill": "x"}, None, "fill: expected a number, found 'x'"),
        ({"source": {"id": [1]}, "features": [{"column": "id", "like": 1}]}, None, "features: expected column, as, fill,"),
        ({"source": {"id": [1]}, "features": [{"column": "id", "as": "x"}]}, None, "features: expected 'number', 'code' or 'one"),
        ({"source": {"v": [1]}}, {**EDGE, "on_missing": "add"}, "on_missing: nodes 'node': expected a column of ids to add"),
    ],
)  # fmt: skip
def test_wrong_settings_say_what_was_expected(here, nodes, edges, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gz.build_dataset("folder", nodes, edges)
    assert os.listdir() == []


def test_weights_must_be_finite(here):
    edges = {"source": {"src": [0, 0], "dst": [0, 0], "w": [1.0, -1.0]}, "weight": "w"}
    with pytest.raises(
        ValueError, match=r"dict: row 1: weight: column 'w': expected finite weights from 0 on, found -1.0"
    ):
        gz.build_dataset("folder", None, edges)


def test_a_text_of_other_fields_names_the_file(here):
    with open("n.csv", "w") as file:
        file.write("id,v\na,1\nb,2,3\n")
    with pytest.raises(
        gz.FormatError, match=r"n.csv: expected rows of 2 fields in utf-8, separated by ',', found: .*3"
    ):
        gz.build_dataset("folder", "n.csv", None)
    with open("n.csv", "w") as file:
        file.write("id,id\na,1\n")
    with pytest.raises(gz.FormatError, match=r"n.csv: expected names of columns that differ, found 'id' twice"):
        gz.build_dataset("folder", "n.csv", None)
    open("n.csv", "w").close()
    with pytest.raises(
        gz.FormatError, match=r"n.csv: expected a line with the names of the columns, found an empty file"
    ):
        gz.build_dataset("folder", "n.csv", None)


def test_files_of_one_table_must_agree(here):
    pl.DataFrame({"id": ["a"]}).write_parquet("0.parquet")
    pl.DataFrame({"key": ["a"]}).write_parquet("1.parquet")
    pl.DataFrame({"id": [1]}).write_parquet("2.parquet")
    with pytest.raises(gz.FormatError, match=r"1.parquet: expected the columns of 0.parquet, id, found key"):
        gz.build_dataset("folder", ["0.parquet", "1.parquet"], None)
    with pytest.raises(
        gz.FormatError, match=r"2.parquet: column 'id': expected .*string.*, as in 0.parquet, found int64"
    ):
        gz.build_dataset("folder", ["0.parquet", "2.parquet"], None)


def test_an_error_leaves_the_old_folder(here):
    nodes = {"source": {"id": ["a"]}}
    gz.build_dataset("folder", nodes, None)
    with pytest.raises(KeyError):
        gz.build_dataset("folder", nodes, {"source": {"src": ["a"], "dst": ["b"]}}, overwrite=True)
    with gz.open("folder") as data:
        assert data.num_nodes == 1
    assert os.listdir() == ["folder"]


def test_memory_has_a_least(here):
    with pytest.raises(ValueError, match=r"memory: expected at least 64.0 MB, found 1.0 MB"):
        gz.build_dataset("folder", {"source": {"id": ["a"]}}, None, memory="1MB")


def test_a_dry_run_says_what_it_would_make_and_writes_nothing(here):
    given = tables.package_tables()
    report = gz.build_dataset("folder", **given.settings(**as_files(given, "csv")), dry_run=True)
    text = str(report)
    for line in (
        "folder: would be made of these tables, by their first rows",
        "ids text; x: 2 float32; y: int64",
        "label: column 'section', 5 classes",
        "from 'a' to 'b'; weights 'w'; times 'when', in s since 1970, UTC",
    ):
        assert line in text
    assert not os.path.exists("folder")
    with pytest.raises(ValueError, match="expected a number"):
        gz.build_dataset("folder", None, {"source": {"src": [0], "dst": [0], "w": [None]}, "weight": "w"}, dry_run=True)


def test_progress_counts_all_rows(here):
    given = tables.package_tables()
    seen = []
    gz.build_dataset("folder", **given.settings(), progress=lambda done, total: seen.append((done, total)))
    # Packages are read for their ids and for their rows, maintainers for their ids, edges once.
    assert seen[-1] == (600 + 600 + 60 + 2500 + 600,) * 2


def test_metadata_is_kept(here):
    gz.build_dataset("folder", {"source": {"id": ["a"]}}, None, metadata={"name": "one"})
    with gz.open("folder") as data:
        assert data.metadata["name"] == "one"


# Recipes.

RECIPE = {
    "nodes": {"package": {"source": "packages.csv", "id": "name", "label": "section", "split": "split", "features": ["size", "age"]},
              "maintainer": {"source": "maintainers.csv", "id": "mail"}},
    "edges": {"package depends package": {"source": "depends.csv", "src": "a", "dst": "b", "weight": "w", "time": "when"},
              "maintainer maintains package": {"source": "maintains.csv", "src": "mail", "dst": "name"}},
}  # fmt: skip
TOML = """
[nodes.package]
source = "packages.csv"
id = "name"
label = "section"
split = "split"
features = ["size", "age"]
[nodes.maintainer]
source = "maintainers.csv"
id = "mail"
[edges."package depends package"]
source = "depends.csv"
src = "a"
dst = "b"
weight = "w"
time = "when"
[edges."maintainer maintains package"]
source = "maintains.csv"
src = "mail"
dst = "name"
"""


@pytest.mark.parametrize("ending", ["json", "yaml", "toml"])
def test_a_recipe_does_the_same(here, monkeypatch, ending):
    if ending == "toml":
        pytest.importorskip("tomllib")
    given = tables.package_tables()
    as_files(given, "csv")
    text = {"json": json.dumps(RECIPE), "yaml": json.dumps(RECIPE), "toml": TOML}[ending]
    (here / f"recipe.{ending}").write_text(text)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    gz.build_dataset("folder", recipe=f"../recipe.{ending}")
    check_packages("folder", given)


def test_a_recipe_that_is_wrong_says_so(here):
    for name, text, message in (
        ("a.json", "{", "a.json: expected JSON, found"),
        ("b.json", "[]", "b.json: expected settings by name, found a list"),
        ("c.json", '{"node": 1}', "c.json: expected nodes, edges, .*, found 'node'"),
        ("d.txt", "", "recipe: expected a name that ends in .toml, .yaml or .json, found 'd.txt'"),
    ):
        (here / name).write_text(text)
        with pytest.raises((ValueError, TypeError), match=message):
            gz.build_dataset("folder", recipe=name)
    (here / "good.json").write_text('{"nodes": "n.csv"}')
    with pytest.raises(TypeError, match="nodes: is in the recipe good.json too"):
        gz.build_dataset("folder", {"source": {"id": [1]}}, recipe="good.json")


def test_a_large_group_of_rows_is_read_in_pieces(here):
    ids = np.arange(200_000)
    pq.write_table(pa.table({"id": ids[::-1], "e": pa.FixedSizeListArray.from_arrays(np.repeat(ids[::-1], 32).astype(np.float32), 32)}),
                   "n.parquet", row_group_size=200_000)  # fmt: skip
    gz.build_dataset("folder", {"source": "n.parquet", "features": ["e"]}, None, memory="64MB")
    with gz.open("folder") as data:
        np.testing.assert_array_equal(data.features("x").get_tensor()[:, 5], ids)


# Kills, full disks and limits.

BUILD = """
import os, pkgutil, signal, resource, sys
import graphzero as gz, tables
given = tables.package_tables(seed=9)
{before}
gz.build_dataset("folder", **given.settings(), overwrite=True, memory="64MB")
"""
KILLED = {
    "ids are collected": "graphzero.convert.tables.run.collect_ids",
    "rows are written": "graphzero.convert.tables.attributes.PlacedRows.finish",
    "edges are converted": "graphzero.convert.tables.run.convert_edges",
    "the manifest is written": "graphzero.convert.dataset_draft.write_manifest",
}


def started(before):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", BUILD.format(before=before)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("moment", KILLED)
def test_a_killed_build_leaves_the_old_folder(here, moment):
    given = tables.package_tables()
    gz.build_dataset("folder", **given.settings())
    owner, name = KILLED[moment].rsplit(".", 1)
    kill = "lambda *given, **options: os.kill(os.getpid(), signal.SIGKILL)"
    done = started(f"setattr(pkgutil.resolve_name({owner!r}), {name!r}, {kill})")
    assert (done.stderr, done.returncode) == ("", -signal.SIGKILL)
    check_packages("folder", given)
    gz.build_dataset("folder", **given.settings(), overwrite=True)
    assert os.listdir() == ["folder"]


def test_a_full_disk_leaves_the_old_folder(here):
    given = tables.package_tables()
    gz.build_dataset("folder", **given.settings())
    limit = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"
    done = started(limit)
    assert done.returncode == 1
    assert "[Errno 27]" in done.stderr
    check_packages("folder", given)
    assert os.listdir() == ["folder"]


MANY = """
import numpy as np, pyarrow as pa, graphzero as gz
rng = np.random.default_rng(0)
names = np.char.add("a rather long name of a node, number ", np.arange(300_000).astype(str))
nodes = pa.table({"id": rng.permutation(names), "v": rng.random(300_000), "e": pa.array(list(rng.random((300_000, 32))))})
edges = pa.table({"src": rng.choice(names, 2_000_000), "dst": rng.choice(names, 2_000_000)})
pa.parquet.write_table(nodes, "n.parquet"); pa.parquet.write_table(edges, "e.parquet")
"""
LIMITED = """
import graphzero as gz
gz.build_dataset("folder", {"source": "n.parquet", "features": ["v", "e"]}, "e.parquet", memory="128MB")
"""


def test_a_budget_holds_in_a_control_group(here):
    subprocess.run([sys.executable, "-c", f"import pyarrow.parquet\n{MANY}"], check=True)
    command = limited_to(256 << 20, [sys.executable, "-c", LIMITED])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with gz.open("folder") as data:
        assert (data.num_nodes, data.num_edges) == (300_000, 2_000_000)


# What a newcomer stumbled over.


def test_nodes_of_two_types_with_one_number_are_no_self_loop(here):
    nodes = {"u": {"source": {"id": ["a", "b"]}}, "m": {"source": {"id": ["x", "y"]}}}
    edges = {"u:rates:m": {"source": {"s": ["a", "b"], "d": ["x", "x"]}, "src": 0, "dst": 1, "self_loops": "drop"}}
    report = gz.build_dataset("folder", nodes, edges)
    assert report.edges["u", "rates", "m"].conversion.num_edges == 2
    assert report.edges["u", "rates", "m"].conversion.num_self_loops == 0


def test_shares_are_of_nodes_in_the_table_that_have_a_class(here):
    table = {"id": [10, 20, 30, 40], "c": ["p", None, "q", "p"], "t": [4, 3, 2, 1]}
    edges = {"source": {"src": [10, 98], "dst": [99, 20]}}
    half = {"train": 0.5, "test": 0.5}
    for choice, divided in (
        ({"split": half}, {0, 1, 2, 3}),
        ({"split": half, "label": "c"}, {0, 2, 3}),
        ({"split": {**half, "by": "t"}, "label": "c"}, {0, 2, 3}),
    ):
        gz.build_dataset("folder", {"source": table, **choice}, edges, on_missing="add", overwrite=True)
        with gz.open("folder") as data:
            found = splits_of(data)
            assert set(found["train"]) | set(found["test"]) == divided
            assert abs(len(found["train"]) - len(found["test"])) <= 1
            if "by" in choice["split"]:
                assert found == {"train": [2, 3], "test": [0]}


def test_numbers_to_predict_are_never_made_up(here):
    table = {"id": [10, 20, 30], "price": [1.5, None, 2.5], "v": [None, 1, 2]}
    nodes = {"source": table, "label": "price", "features": ["v"], "fill": 7}
    gz.build_dataset("folder", nodes, {"source": {"src": [10], "dst": [99]}}, on_missing="add")
    with gz.open("folder") as data:
        np.testing.assert_array_equal(data.y.numpy(), [1.5, np.nan, 2.5, np.nan])
        assert data.x.tolist() == [[7], [1], [2], [0]]


def test_dates_are_in_the_zone_too(here):
    for column in (
        pa.array([19905], pa.int32()).cast(pa.date32()),
        pa.array(["2024-07-01"]),
        pa.array([19905 * 86400]).cast(pa.timestamp("s")),
    ):
        edges = {"source": pa.table({"src": [0], "dst": [0], "t": column}), "time": "t", "time_zone": "Europe/Berlin"}
        gz.build_dataset("folder", None, edges, overwrite=True)
        with gz.open("folder") as data:
            assert edges_of(data, ("node", "to", "node"))["time"] == [1719784800]
    with pytest.raises(ValueError, match="time_zone: expected the name of a zone, such as Europe/Berlin, found 'Mars'"):
        gz.build_dataset("folder", None, {**edges, "time_zone": "Mars"}, overwrite=True)


def test_files_that_are_no_tables_are_refused(here):
    (here / "x.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(
        gz.FormatError, match=r"x.jsonl: expected CSV, TSV, Parquet or Arrow, found .jsonl; read it with"
    ):
        gz.build_dataset("folder", "x.jsonl", None)


@pytest.mark.parametrize("as_file", [False, True])
def test_text_and_types_give_the_same_labels_and_categories(here, as_file):
    frame = pl.DataFrame({"id": ["a", "b", "c"], "n": [10, 9, 100], "flag": [True, False, True]})
    source = frame
    if as_file:
        frame.write_csv("n.csv")
        source = "n.csv"
    spec = {
        "source": source,
        "label": {"column": "n", "kind": "class"},
        "features": {"n": {"column": "n", "as": "code"}},
    }
    gz.build_dataset("folder", spec, None, overwrite=True)
    with gz.open("folder") as data:
        assert data.nodes["node"].class_names == ["9", "10", "100"]
        assert data.y.tolist() == data.features("n").get_tensor().tolist() == [1, 0, 2]
    gz.build_dataset("folder", {"source": source, "label": "flag"}, None, overwrite=True)
    with gz.open("folder") as data:
        assert (data.y.tolist(), data.nodes["node"].num_classes) == ([1, 0, 1], 2)


def test_text_with_leading_zeros_names_classes(here):
    (here / "n.csv").write_text("id,zip\na,01067\nb,10115\n")
    gz.build_dataset("folder", {"source": "n.csv", "label": "zip"}, None)
    with gz.open("folder") as data:
        assert data.nodes["node"].class_names == ["01067", "10115"]


def test_labels_that_begin_late_are_noted_and_categories_are_coded(here):
    report = label_of(here, [2011, 2012, 2011])[3]
    assert report.notes == ("node: the smallest label is 2011, and there are 2,013 classes; 'kind': 'class' numbers only "
                            "those that occur",)  # fmt: skip
    assert label_of(here, pa.array([30, 10, 30]).dictionary_encode())[:3] == ([1, 0, 1], 2, ["10", "30"])
    assert label_of(here, [1.0, None, 0.0], {"column": "v", "kind": "class"})[:3] == ([0, -1, 1], 2, ["0", "1"])
    assert label_of(here, pa.array([True, None, False]))[:2] == ([0, -1, 1], 2)


def test_nan_is_nothing(here):
    with pytest.raises(ValueError, match="row 0: fill: column 'v': expected a number, found nothing"):
        features_of(here, "v", pa.array([np.nan, 1, 2]), ["v"])
    found, _ = features_of(here, "v", pa.array([np.nan, 1, 2]), ["v"], fill=5)
    assert found["x"].tolist() == [[5], [1], [2]]
    found, _ = features_of(here, "v", [[1.0, 2.0], None, [3.0, 4.0]], ["v"], fill=5)
    assert found["x"].tolist() == [[1, 2], [5, 5], [3, 4]]


@pytest.mark.parametrize("number", ["1_000", "0x10", "1,5", "5%"])
def test_what_only_programs_read_is_no_number(here, number):
    (here / "n.csv").write_text(f'id,v\na,1\nb,"{number}"\n')
    with pytest.raises(gz.FormatError, match=f"n.csv: line 3: column 'v': expected a number, found '{number}'"):
        gz.build_dataset("folder", {"source": "n.csv", "features": ["v"]}, None)


def test_text_may_break_lines_be_latin_and_have_masks_with_gaps(here):
    (here / "n.csv").write_bytes('id;note;m;s\na;"two\nlines";True;Train\nb;ä;;VAL\n'.encode("latin-1"))
    with pytest.raises(gz.FormatError, match="give its encoding, such as 'latin-1'"):
        gz.build_dataset("folder", {"source": "n.csv", "label": "note"}, None)
    gz.build_dataset(
        "folder", {"source": "n.csv", "label": "note", "encoding": "latin-1", "split": {"train": "m"}}, None
    )
    with gz.open("folder") as data:
        assert data.nodes["node"].class_names == ["two\nlines", "ä"]
        assert splits_of(data) == {"train": [0]}
    gz.build_dataset("cases", {"source": "n.csv", "encoding": "latin-1", "split": "s"}, None)
    with gz.open("cases") as data:
        assert splits_of(data) == {"train": [0], "valid": [1]}


def test_a_split_of_edges_that_are_dropped_is_refused(here):
    edges = {**EDGE, "split": {"train": 0.5}, "duplicates": "drop"}
    with pytest.raises(ValueError, match="split: edges .*: edges that are dropped would stay in it; drop them from"):
        gz.build_dataset("folder", None, edges)


def test_matrices_in_memory_are_columns_of_lists(here):
    gz.build_dataset("folder", {"source": {"id": [0, 1], "e": np.eye(2)}, "features": ["e"]}, None)
    with gz.open("folder") as data:
        assert data.x.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="source: expected columns of one length, of one kind of value each, found: "):
        gz.build_dataset("other", {"source": {"id": [0, 1], "v": [1]}}, None)


# What a breaker found.


def test_an_empty_name_is_no_folder(here):
    (here / "precious.txt").write_text("x")
    for write in (
        lambda: gz.build_dataset("", None, EDGE, overwrite=True),
        lambda: gz.DatasetWriter("", overwrite=True),
    ):
        with pytest.raises(ValueError, match="path: expected the name of a folder, found an empty one"):
            write()
    assert os.listdir() == ["precious.txt"]


def test_a_manifest_that_could_not_be_read_is_not_written(here):
    gz.build_dataset("folder", None, EDGE)
    names = pa.table({"c": [f"{number}" * 40 for number in range(90_000)]})
    nodes = {"source": names, "features": {"x": {"column": "c", "as": "code"}}}
    with pytest.raises(
        ValueError, match=r"graphzero.json: expected at most 16777216 bytes, found .*: names of categories"
    ):
        gz.build_dataset("folder", nodes, None, overwrite=True)
    with gz.open("folder") as data:
        assert data.num_edges == 1


class Cursor:
    """Rows of a database, and what it returns behind the last of them."""

    description = (("src",), ("dst",))

    def __init__(self, rows, end):
        self._rows, self._end = list(rows), end

    def fetchmany(self, count):
        taken, self._rows = self._rows[: min(count, 2)], self._rows[min(count, 2) :]
        return taken or self._end


@pytest.mark.parametrize("end", [[], (), None])
def test_cursors_end_as_they_like(here, end):
    gz.build_dataset("folder", None, Cursor([(1, 2), (2, 3), (3, 1)], end))
    with gz.open("folder") as data:
        assert data.num_edges == 3


def test_cursors_have_one_type_per_column(here):
    for rows in ([(1, 2), (2, 3), ("x", 1)], [("x", 1), (2, 1)]):
        with pytest.raises(
            ValueError, match="source: expected a query whose columns each have values of one type, found"
        ):
            gz.build_dataset("folder", None, Cursor(rows, []))


def test_a_stream_that_can_be_read_once_is_copied(here):
    class Once:
        def __init__(self, table):
            self._reader = table.to_reader()

        def __arrow_c_stream__(self, requested_schema=None):
            return self._reader.__arrow_c_stream__(requested_schema)

    gz.build_dataset("folder", None, Once(pa.table({"src": [3, 1], "dst": [1, 2]})))
    with gz.open("folder") as data:
        assert data.num_edges == 2


@pytest.mark.parametrize("largest", [1234567890123456789, 2**63 - 1, -(2**63), 2**63])
def test_integers_of_19_digits_are_integers(here, largest):
    (here / "e.csv").write_text(f"src,dst\n{largest},5\n")
    gz.build_dataset("folder", None, "e.csv")
    with gz.open("folder") as data:
        assert data.nodes["node"].ids.kind == ("string" if largest == 2**63 else "integer")
        assert str(largest) in {str(data.node_label(0)), str(data.node_label(1))}


def test_a_file_that_changes_between_passes_is_noticed(here, monkeypatch):
    from graphzero.convert.tables import node_table

    def write(count):
        (here / "n.csv").write_text("id,v\n" + "".join(f"{number},1\n" for number in range(count)))

    written = node_table.NodeTable.write
    for count in (10, 30):
        write(20)
        monkeypatch.setattr(
            node_table.NodeTable,
            "write",
            lambda *given, **more: (write(count), written(*given, **more))[1],  # noqa: B023
        )
        with pytest.raises(
            gz.FormatError, match="n.csv: changed while it was read; expected the rows of the first pass"
        ):
            gz.build_dataset("folder", {"source": "n.csv", "features": ["v"]}, None)


def test_one_hot_has_its_limits(here):
    table = pa.table({"id": np.arange(5000), "c": [str(number) for number in range(5000)]})
    with pytest.raises(
        ValueError, match="features: column 'c': expected at most 4,096 different values for as many col"
    ):
        gz.build_dataset("folder", {"source": table, "features": [{"column": "c", "as": "onehot"}]}, None)


def test_an_index_of_pandas_is_no_feature(here):
    frame = pytest.importorskip("pandas").DataFrame({"id": [0, 1, 2], "a": [1.0, 2.0, 3.0]}).iloc[[2, 0, 1]]
    gz.build_dataset("folder", {"source": frame, "features": "*"}, None)
    with gz.open("folder") as data:
        assert data.x.tolist() == [[1], [2], [3]]


def test_a_table_inside_the_target_is_refused(here):
    gz.build_dataset("folder", None, EDGE)
    (here / "folder" / "raw.csv").write_text("src,dst\n0,1\n")
    with pytest.raises(
        ValueError, match="folder: expected one that does not hold the table folder/raw.csv, found folder"
    ):
        gz.build_dataset("folder", None, "folder/raw.csv", overwrite=True)
    assert (here / "folder" / "raw.csv").exists()


def test_a_damaged_dictionary_is_refused(here):
    bad = pa.DictionaryArray.from_arrays(pa.array([-2, 0, 7], pa.int32()), pa.array(["a", "b"]), safe=False)
    with pytest.raises(gz.FormatError, match="Table: column 'src': expected entries of its dictionary, found others"):
        gz.build_dataset("folder", {"source": {"id": ["a", "b"]}}, pa.table({"src": bad, "dst": ["a"] * 3}))


@pytest.mark.parametrize(
    ("values", "fill", "expected"),
    [
        (pa.array([1, None, 0], pa.uint8()), -1, [1, -1, 0]),
        (pa.array([1, None, 0], pa.int8()), 300, [1, 300, 0]),
        (pa.array([True, None, False]), -1, [1, -1, 0]),
        (pa.array([1, None, 0]), 0.5, [1, 0.5, 0]),
        (pa.array([1, None, 0]), float("inf"), [1, float("inf"), 0]),
    ],
)
def test_any_number_fills_any_column(here, values, fill, expected):
    found, _ = features_of(here, "v", values, ["v"], fill=fill)
    assert found["x"][:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": {"train": float("nan")}}, "split: expected shares from 0 to 1"),
        ({"split": {"train": None}}, "split: 'train': expected a share, a column, ids or a file of ids, found None"),
        ({"split": {"train": {1}}}, "split: 'train': expected ids in a list, an array or a file, found set"),
        ({"split": {"train": np.eye(2)}}, "split: 'train': expected ids in one dimension, found 2"),
        ({"split": {str(i): 0.001 for i in range(300)}}, "split: expected at most 255 splits, found 300"),
        ({"encoding": "bogus"}, "encoding: expected one such as utf-8 or latin-1, found 'bogus'"),
        ({"delimiter": 5}, "delimiter: expected one character, found 5"),
        ({"header": "no"}, "header: expected true or false, found 'no'"),
    ],
)
def test_settings_of_other_kinds_are_named(here, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gz.build_dataset("folder", {"source": {"id": [1, 2]}, **settings}, None)


@pytest.mark.parametrize("memory", [1.5, [], 2**70])
def test_memory_is_a_size(here, memory):
    with pytest.raises((ValueError, TypeError), match="memory: expected"):
        gz.build_dataset("folder", None, EDGE, memory=memory)


def test_nan_of_text_is_nothing_too(here):
    (here / "n.csv").write_text("id,v\na,1\nb,nan\n")
    gz.build_dataset("folder", {"source": "n.csv", "features": ["v"], "fill": 0}, None)
    with gz.open("folder") as data:
        assert data.x.tolist() == [[1], [0]]


def test_the_row_of_a_list_is_named(here):
    with pytest.raises(ValueError, match="Table: row 2: fill: column 'v': expected a number, found nothing"):
        features_of(here, "v", [[1, 2], [3, 4], [None, 5]], ["v"])


def test_times_beyond_the_years_of_python_are_shown(here):
    table = pa.table({"src": [0], "dst": [0], "t": pa.array([316516579200001], pa.timestamp("ms"))})
    with pytest.raises(
        ValueError, match="time_unit: column 't': 12000-01-05T08:00:00.001 is no whole number of s; give 'ms'"
    ):
        gz.build_dataset("folder", None, {"source": table, "time": "t"})
