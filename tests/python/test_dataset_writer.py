"""DatasetWriter: rows, edges and splits given by labels belong to the nodes that have these labels."""

import shutil

import numpy as np
import pytest

import graphzero as gz

NAMES = ["zoe", "adam", "mia"]
AGES = [31, 44, 27]
KNOWS = ("node", "to", "node")


def ages(path, labels):
    """The ages of nodes, by label."""
    node = gz.open(path).nodes["node"]
    return node["age"].gather(node.ids.indices(labels)).tolist()


def arrow(values):
    return pytest.importorskip("pyarrow").array(values)


def tensor(values, dtype=None):
    torch = pytest.importorskip("torch")
    return torch.tensor(values, dtype=None if dtype is None else getattr(torch, dtype))


@pytest.mark.parametrize(
    "ids",
    [
        lambda: NAMES,
        lambda: tuple(NAMES),
        lambda: np.array(NAMES),
        lambda: np.array(NAMES, dtype=object),
        lambda: np.array(NAMES).astype("S"),
        lambda: arrow(NAMES),
        lambda: arrow(NAMES).dictionary_encode(),
    ],
    ids=["list", "tuple", "array", "objects", "bytes", "arrow", "arrow dictionary"],
)
def test_rows_follow_labels_of_text(tmp_path, ids):
    with gz.DatasetWriter(tmp_path / "people") as w:
        w.add_nodes({"age": AGES}, ids=ids())
    assert ages(tmp_path / "people", NAMES) == AGES
    assert ages(tmp_path / "people", ["adam", "mia", "zoe"]) == [44, 27, 31]


@pytest.mark.parametrize(
    "ids",
    [
        lambda values: values,
        lambda values: np.array(values),
        lambda values: np.array(values, dtype=np.uint64),
        lambda values: np.array(values, dtype=object),
        arrow,
        tensor,
    ],
    ids=["list", "array", "unsigned", "objects", "arrow", "tensor"],
)
def test_rows_follow_labels_that_are_sparse_integers(tmp_path, ids):
    labels = [7_000_000_000, 12, 40]
    with gz.DatasetWriter(tmp_path / "people") as w:
        w.add_nodes({"age": AGES}, ids=ids(labels))
    assert ages(tmp_path / "people", labels) == AGES


def rows_of(kind, values, folder):
    """Rows in one of the forms that an attribute may have."""
    if kind == "memmap":
        np.save(folder / "rows.npy", values)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if kind == "list":
        return values.tolist()
    if kind == "tensor":
        return tensor(values.tolist(), "float32")
    if kind == "array":
        return values
    path = folder / "rows.gd"
    order = np.random.default_rng(1).permutation(len(values)) if "hot" in kind else None
    if "quantised" in kind:
        gz.convert_features(values, path, dtype="int8-quantised", order=order)
    else:
        gz.write_features(path, values, order=order)
    return gz.FeatureStore(path) if "store" in kind else path if "path" in kind else str(path)


@pytest.mark.parametrize(
    "kind",
    [
        "array",
        "memmap",
        "list",
        "tensor",
        "path",
        "string",
        "store",
        "hot path",
        "hot store",
        "quantised store",
        "quantised hot path",
    ],
)
@pytest.mark.parametrize("at_once", [None, 64], ids=["one block", "many blocks"])
def test_rows_of_every_kind_follow_their_labels(tmp_path, monkeypatch, kind, at_once):
    if at_once is not None:
        monkeypatch.setattr("graphzero.features._BLOCK_BYTES", at_once)
    rng = np.random.default_rng(3)
    labels = rng.permutation([f"n{i}" for i in range(50)]).tolist()
    values = rng.integers(-127, 128, (50, 4)).astype(np.float32)
    values[:, 0] = 127  # the scale of a quantised row is then 1
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"x": rows_of(kind, values, tmp_path)}, ids=labels)
    node = gz.open(tmp_path / "ds").nodes["node"]
    found = [node["x"].get_data(node.ids.index(label)).tolist() for label in labels]
    assert found == values.tolist()
    assert all(check.holds for check in gz.verify(tmp_path / "ds"))
    assert node["x"].reordered == ("hot" in kind)
    assert node["x"].quantised == ("quantised" in kind)


def test_bfloat16_rows_follow_their_labels(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"x": tensor([[1.5], [2.5], [3.5]], "bfloat16")}, ids=NAMES)
    node = gz.open(tmp_path / "ds").nodes["node"]
    assert node["x"].dtype == "bfloat16"
    assert node["x"].as_torch().float().flatten().tolist() == [2.5, 3.5, 1.5]


def test_a_hot_file_stays_hottest_first(tmp_path):
    gz.write_features(tmp_path / "x.gd", np.array(AGES), order=[1, 2, 0])
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": tmp_path / "x.gd"}, ids=NAMES)
    store = gz.open(tmp_path / "ds").nodes["node"]["age"]
    assert store.get_tensor(order="stored").tolist() == [44, 27, 31]


def test_the_given_file_is_not_changed(tmp_path):
    gz.write_features(tmp_path / "x.gd", np.array(AGES))
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": tmp_path / "x.gd"}, ids=NAMES)
    assert gz.FeatureStore(tmp_path / "x.gd").get_tensor().tolist() == AGES


@pytest.mark.parametrize("form", [str, gz.IdDictionary])
def test_with_a_dictionary_file_rows_are_by_node_id(tmp_path, form):
    gz.write_ids(tmp_path / "people.gi", NAMES)
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": [44, 27, 31]}, ids=form(tmp_path / "people.gi"))
    assert ages(tmp_path / "ds", NAMES) == AGES


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        (["zoe", "adam", "mia", "adam"], "'adam' at 1 and at 3"),
        ([90, 10, 90, 10], "90 at 0 and at 2"),
        (np.array(["b", "b", "a", "a"]), "'b' at 0 and at 1"),
    ],
)
def test_a_repeated_label_is_named_with_its_places(tmp_path, ids, named):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        with pytest.raises(ValueError, match=rf"^ids of 'user': expected each label once, found {named}$"):
            w.add_nodes({"age": [1, 2, 3, 4]}, type="user", ids=ids)
        w.abort()


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("kind", ["array", "path", "list"])
def test_rows_and_labels_must_be_as_many(tmp_path, kind, count):
    values = np.ones((count, 2), np.float32)
    with gz.DatasetWriter(tmp_path / "ds") as w:
        with pytest.raises(ValueError, match=rf"(expected 3 rows, found {count}|expected {count} labels, found 3)"):
            w.add_nodes({"x": rows_of(kind, values, tmp_path)}, ids=NAMES)
        w.abort()


def test_labels_have_one_dimension(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        with pytest.raises(ValueError, match=r"^ids of 'node': expected one dimension, found shape \(1, 3\)$"):
            w.add_nodes({"age": [1]}, ids=np.array([NAMES]))
        w.abort()


def test_edges_and_splits_of_text_are_looked_up(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": AGES}, type="user", ids=NAMES)
        w.add_nodes(type="film", ids=np.array(["up", "alien"]))
        w.add_edges(["zoe", "mia"], np.array(["up", "alien"]), type=("user", "likes", "film"))
        w.add_split("train", ["zoe", "adam"], of="user")
    ds = gz.open(tmp_path / "ds")
    users, films = ds.nodes["user"].ids, ds.nodes["film"].ids
    likes = ds.edges["user", "likes", "film"].graph
    assert films.labels(likes.neighbors(users.index("zoe"))).tolist() == ["up"]
    assert films.labels(likes.neighbors(users.index("mia"))).tolist() == ["alien"]
    assert users.labels(ds.split("train", of="user")).tolist() == ["zoe", "adam"]


def test_arrow_text_is_looked_up_too(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes(ids=arrow(NAMES))
        w.add_edges(arrow(["zoe"]), arrow(["mia"]))
        w.add_split("train", arrow(["mia"]))
    ds = gz.open(tmp_path / "ds")
    assert ds.graph.neighbors(2).tolist() == [1]
    assert ds.split("train").tolist() == [1]


def test_integers_are_looked_up_when_they_are_called_labels(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": AGES}, ids=[1, 3, 2])
        w.add_edges([1], [3], labels=True)
        w.add_split("by label", [3], labels=True)
        w.add_split("by id", [2], labels=False)
    ds = gz.open(tmp_path / "ds")
    assert ds.graph.neighbors(0).tolist() == [2]
    assert ds.split("by label").tolist() == ds.split("by id").tolist() == [2]


def test_integers_that_may_be_ids_or_labels_are_refused(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": AGES}, ids=[1, 3, 2])
        told = r"expected labels=True if these are labels, or labels=False if they are node ids"
        with pytest.raises(ValueError, match=rf"^src: .*{told}"):
            w.add_edges([1], [2])
        with pytest.raises(ValueError, match=rf"^split 'train': .*{told}"):
            w.add_split("train", [1])
        w.abort()


def test_integers_are_ids_where_both_are_the_same_or_labels_are_text(tmp_path):
    gz.write_ids(tmp_path / "sparse.gi", [10, 20])
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"age": AGES}, type="dense", ids=[2, 0, 1])
        w.add_nodes(type="named", ids=NAMES)
        w.add_nodes(type="by file", ids=tmp_path / "sparse.gi")
        w.add_edges([2], [0], type=("dense", "to", "named"))
        w.add_split("train", [1], of="by file")
    ds = gz.open(tmp_path / "ds")
    assert ds.nodes["dense"]["age"].get_tensor().tolist() == [44, 27, 31]
    assert ds.edges["dense", "to", "named"].graph.neighbors(2).tolist() == [0]


def test_an_unknown_label_is_named(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes(type="user", ids=NAMES)
        w.add_nodes(type="bare", num_nodes=2)
        with pytest.raises(KeyError, match=r"dst: .*'nobody'"):
            w.add_edges(["zoe"], ["nobody"], type=("user", "knows", "user"))
        with pytest.raises(KeyError, match=r"split 'train': .*'nobody'"):
            w.add_split("train", ["nobody"], of="user")
        with pytest.raises(TypeError, match=r"dst: expected ids of 'bare', found labels; .* ids="):
            w.add_edges(["zoe"], ["a"], type=("user", "knows", "bare"))
        with pytest.raises(TypeError, match=r"split 'train': expected ids of edges, found labels"):
            w.add_edges(["zoe"], ["mia"], type=("user", "knows", "user"))
            w.add_split("train", ["zoe"], of=("user", "knows", "user"))
        w.abort()


def test_floats_are_no_labels(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes(ids=NAMES)
        with pytest.raises(TypeError, match="^src: expected integers, found float64$"):
            w.add_edges([0.5], [1.5])
        w.abort()


def test_a_graph_of_other_labels_is_refused(tmp_path, monkeypatch):
    """Its node 1 would be another node here, whether or not there are as many."""
    monkeypatch.chdir(tmp_path)
    with open("e.csv", "w") as file:
        file.write("source,target\nzoe,adam\nmia,adam\n")
    gz.convert_edges("e.csv", "e.gl")
    for ids in (["zoe", "mia", "bob", "adam"], ["zoe", "bob", "adam"]):
        with gz.DatasetWriter("ds") as writer:
            writer.add_nodes({"x": np.eye(len(ids))}, ids=ids)
            message = (
                r"^edge type .*: e.gl: expected a graph whose nodes are numbered by the labels of 'node', found one "
                r"numbered by those of e.gi; give the edges as labels, src= and dst=, or ids='e.gi' to add_nodes$"
            )
            with pytest.raises(ValueError, match=message):
                writer.add_edges(graph="e.gl")
            writer.add_edges(["zoe"], ["adam"])
        with gz.open("ds") as data:
            assert data.num_nodes == len(ids)
        shutil.rmtree("ds")
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes({"x": np.eye(3)}, ids=["zoe", "mia", "adam"])
        writer.add_edges(graph="e.gl")
    with gz.open("ds") as data:
        assert data.num_edges == 2


def test_a_graph_with_another_number_of_nodes_is_refused(tmp_path):
    """Its folder would not open."""
    gz.write_graph("g.gl", [0], [1], num_nodes=(2, 3))
    with gz.DatasetWriter("ds") as writer:
        writer.add_nodes(type="a", num_nodes=2)
        writer.add_nodes(type="b", num_nodes=4)
        message = (
            r"^graph: destination nodes of \('a', 'to', 'b'\): expected 4, as many as 'b' has, found 3; write it with"
        )
        with pytest.raises(ValueError, match=message):
            writer.add_edges(type=("a", "to", "b"), graph="g.gl")
