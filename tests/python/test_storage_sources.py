"""Sources in object storage: edges, features and tables are what they are on a disk."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pytest

import graphzero as gz
import graphzero.convert.edges
from graphzero._files.storage import listed, located, write_stored
from graphzero.convert.estimate import estimate_edges
from storage_server import KEY, SECRET
from tables import DEPENDS, package_tables

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.fs")
pq = pytest.importorskip("pyarrow.parquet")

EDGES = np.random.default_rng(0).integers(0, 500, (2, 3000))
ROWS = np.random.default_rng(1).random((500, 8), np.float32)


def put(url, path):
    """Bring a local file to a URL."""
    write_stored(located(url), iter([open_bytes(path)]))
    return url


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def put_bytes(url, data):
    write_stored(located(url), iter([data]))
    return url


def csv_bytes(edges, header=b"src,dst\n"):
    return header + b"".join(b"%d,%d\n" % (a, b) for a, b in edges.T)


def same_graph(a, b):
    return open_bytes(a) == open_bytes(b)


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "expected.gl"
    gz.convert_edges(EDGES, path)
    return path


def write_parquet(path, edges):
    pq.write_table(pa.table({"src": edges[0], "dst": edges[1]}), path, row_group_size=400)
    return path


@pytest.mark.parametrize("pattern", ["edges/*.parquet", "edges", "edges/", "**/part-?.parquet", "edges/part-[01].par*"])
def test_parquet_files_of_a_pattern_or_a_folder(storage, tmp_path, expected, pattern):
    for number, part in enumerate(np.array_split(EDGES, 2, axis=1)):
        put(f"{storage}/edges/part-{number}.parquet", write_parquet(tmp_path / "part", part))
    put_bytes(f"{storage}/edges/_SUCCESS", b"")
    report = gz.convert_edges(f"{storage}/{pattern}", tmp_path / "g.gl")
    assert report.num_edges == 3000
    assert same_graph(tmp_path / "g.gl", expected)


def test_several_urls_and_paths_make_one_graph(storage, tmp_path, expected):
    first, second = np.array_split(EDGES, 2, axis=1)
    put(f"{storage}/a.parquet", write_parquet(tmp_path / "a", first))
    write_parquet(tmp_path / "b.parquet", second)
    gz.convert_edges([f"{storage}/a.parquet", tmp_path / "b.parquet"], tmp_path / "g.gl")
    assert same_graph(tmp_path / "g.gl", expected)


@pytest.mark.parametrize("form", ["file", "stream"])
def test_arrow_files(storage, tmp_path, expected, form):
    table = pa.table({"src": EDGES[0], "dst": EDGES[1]})
    new = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with new(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=700)
    gz.convert_edges(put(f"{storage}/e.arrow", tmp_path / "e.arrow"), tmp_path / "g.gl")
    assert same_graph(tmp_path / "g.gl", expected)


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gzip", "bz2", "xz"]
)
def test_text_comes_as_a_stream(storage, tmp_path, expected, pack):
    url = put_bytes(f"{storage}/edges.csv", pack(csv_bytes(EDGES)))
    gz.convert_edges(url, tmp_path / "g.gl")
    assert same_graph(tmp_path / "g.gl", expected)


def test_text_compressed_with_zstd(storage, tmp_path, expected):
    data = pa.compress(csv_bytes(EDGES), "zstd", asbytes=True)
    gz.convert_edges(put_bytes(f"{storage}/edges.csv.zst", data), tmp_path / "g.gl")
    assert same_graph(tmp_path / "g.gl", expected)


def test_labels_of_text_are_read_twice(storage, tmp_path):
    url = put_bytes(f"{storage}/edges.csv", b"src,dst\na,b\nb,c\n")
    report = gz.convert_edges(url, tmp_path / "g.gl", ids="map")
    assert (report.num_edges, report.num_src_nodes) == (2, 3)


def test_arrays_are_read_by_range(storage, tmp_path, expected):
    np.save(tmp_path / "e.npy", EDGES)
    gz.convert_edges(put(f"{storage}/e.npy", tmp_path / "e.npy"), tmp_path / "g.gl")
    assert same_graph(tmp_path / "g.gl", expected)


@pytest.mark.parametrize("form", ["npy", "fortran", "raw", "parquet", "arrow", "csv", "csv.gz"])
def test_features_of_each_form(storage, tmp_path, form):
    path = tmp_path / f"x.{form}"
    options = {}
    table = pa.table({f"c{i}": ROWS[:, i] for i in range(8)})
    if form in ("npy", "fortran"):
        path = tmp_path / "x.npy"
        np.save(path, ROWS if form == "npy" else np.asfortranarray(ROWS))
    elif form == "raw":
        ROWS.tofile(path)
        options = {"shape": (-1, 8), "dtype": "float32"}
    elif form == "parquet":
        pq.write_table(table, path)
    elif form == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        text = "\n".join(",".join(map(repr, row)) for row in ROWS.tolist()).encode()
        path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)
        options = {"dtype": "float32"}
    report = gz.convert_features(put(f"{storage}/{path.name}", path), tmp_path / "x.gd", **options)
    assert report.source == str(located(f"{storage}/{path.name}"))
    assert report.bytes_in
    with gz.FeatureStore(tmp_path / "x.gd") as store:
        np.testing.assert_array_equal(store.get_tensor(writable=False), ROWS)
    again = gz.convert_features(f"{storage}/{path.name}", tmp_path / "x.gd", **options)  # the target is there
    assert again.shape == report.shape


def test_a_data_set_of_tables(storage, tmp_path):
    given = package_tables()
    given.packages.write_csv(tmp_path / "packages.csv")
    given.depends.write_parquet(tmp_path / "depends.parquet")
    given.maintainers.write_ipc(tmp_path / "maintainers.arrow", compression="uncompressed")
    put(f"{storage}/packages.csv", tmp_path / "packages.csv")
    put(f"{storage}/depends/0.parquet", tmp_path / "depends.parquet")
    put(f"{storage}/maintainers.arrow", tmp_path / "maintainers.arrow")
    gz.build_dataset(tmp_path / "near", **given.settings())
    urls = {
        "packages": f"{storage}/packages.csv",
        "depends": f"{storage}/depends/*.parquet",
        "maintainers": f"{storage}/maintainers.arrow",
    }
    gz.build_dataset(tmp_path / "far", **given.settings(**urls))
    with gz.open(tmp_path / "near") as near, gz.open(tmp_path / "far") as far:
        assert near.edges[DEPENDS].graph.fingerprint == far.edges[DEPENDS].graph.fingerprint
        assert near.nodes["package"].num_nodes == far.nodes["package"].num_nodes


@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_splits_of_files(storage, tmp_path, ending):
    nodes = {"id": list(range(10))}
    if ending == "npy":
        np.save(tmp_path / "train.npy", np.array([1, 3]))
        put(f"{storage}/train.npy", tmp_path / "train.npy")
    else:
        put_bytes(f"{storage}/train.csv", b"1\n3\n")
    gz.build_dataset(
        tmp_path / "ds",
        nodes={"source": nodes, "id": "id", "split": {"train": f"{storage}/train.{ending}"}},
        edges={"source": {"a": [0], "b": [1]}, "src": "a", "dst": "b"},
    )
    with gz.open(tmp_path / "ds") as ds:
        assert ds.split("train").tolist() == [1, 3]


def test_a_recipe_names_urls(storage, tmp_path):
    put_bytes(f"{storage}/edges.csv", b"a,b\n0,1\n1,2\n")
    (tmp_path / "recipe.json").write_text(
        '{"edges": {"source": "%s/edges.csv", "src": "a", "dst": "b"}}' % storage  # noqa: UP031
    )
    gz.build_dataset(tmp_path / "ds", recipe=tmp_path / "recipe.json")
    with gz.open(tmp_path / "ds") as ds:
        assert ds.num_nodes == 3


def test_estimates_look_at_the_beginning(storage, tmp_path):
    url = put_bytes(f"{storage}/edges.csv", csv_bytes(EDGES))
    assert estimate_edges(url).rows == pytest.approx(3000, abs=2)
    put(f"{storage}/e.parquet", write_parquet(tmp_path / "p", EDGES))
    assert estimate_edges(f"{storage}/e.parquet").rows == 3000


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.csv", None, "expected a file there, found none"),
        ("*.csv", None, "expected files that match, found none"),
        ("x.npz", b"PK", r"x\.npz: expected Parquet, Arrow, text or .npy, which are read in storage; copy this file"),
        ("x.parquet", b"PAR1 no PAR1", r"x\.parquet: expected a Parquet file, found"),
        ("x.arrow", b"ARROW1 no", r"x\.arrow: expected an Arrow file, found"),
        ("x.csv", b"src,dst\n1,2\n1\n", r"x\.csv: line 3: "),
        (
            "x.csv.gz",
            gzip.compress(csv_bytes(EDGES))[:-50],
            r"x\.csv\.gz: cannot be decompressed, it is damaged or cut",
        ),
    ],
)
def test_errors_name_the_url(storage, tmp_path, name, data, message):
    put_bytes(f"{storage}/keep", b"")
    if data is not None:
        put_bytes(f"{storage}/{name}", data)
    with pytest.raises((OSError, ValueError), match=message) as error:
        gz.convert_edges(f"{storage}/{name}", tmp_path / "g.gl")
    assert "://" in str(error.value)
    assert not (tmp_path / "g.gl").exists()


def test_features_are_one_file(storage, tmp_path):
    for name in ("a", "b"):
        np.save(tmp_path / "x.npy", ROWS)
        put(f"{storage}/{name}.npy", tmp_path / "x.npy")
    with pytest.raises(ValueError, match=r"\*\.npy: expected one file, found 2, such as .*a\.npy"):
        gz.convert_features(f"{storage}/*.npy", tmp_path / "x.gd")


def test_files_in_the_memory_of_fsspec(tmp_path, expected):
    fsspec = pytest.importorskip("fsspec")
    write_parquet(tmp_path / "p", EDGES)
    fsspec.filesystem("memory").pipe("/edges/0.parquet", open_bytes(tmp_path / "p"))
    gz.convert_edges("memory://edges/*.parquet", tmp_path / "g.gl")
    assert same_graph(tmp_path / "g.gl", expected)
    assert listed(located("memory://edges/*.parquet")) == ["memory://edges/0.parquet"]


def test_wrong_credentials_of_a_source_are_not_shown(s3, tmp_path):
    put_bytes("s3://bucket/edges.csv", csv_bytes(EDGES))
    put("s3://bucket/e.parquet", write_parquet(tmp_path / "p", EDGES))
    s3.check_credentials(0)
    for name in ("edges.csv", "e.parquet", "*.csv"):
        with pytest.raises(OSError, match="storage says: .*; check the credentials") as error:
            gz.convert_edges(f"s3://WRONGKEY:wrong%2Fsecret@bucket/{name}", tmp_path / "g.gl")
        for secret in ("WRONGKEY", "wrong/secret", "wrong%2Fsecret", KEY, SECRET):
            assert secret not in str(error.value)


@pytest.mark.parametrize("name", ["edges.csv", "e.parquet", "e.npy"])
def test_a_server_lost_while_a_source_is_read(s3, tmp_path, monkeypatch, name):
    np.save(tmp_path / "e.npy", EDGES)
    put_bytes("s3://bucket/edges.csv", csv_bytes(EDGES))
    put("s3://bucket/e.parquet", write_parquet(tmp_path / "p", EDGES))
    put("s3://bucket/e.npy", tmp_path / "e.npy")
    # Asked when the first of two files has been read.
    monkeypatch.setattr(graphzero.convert.edges, "check_free_space", lambda path, needed: s3.cut())
    with pytest.raises(OSError, match=rf"storage says: .*s3://bucket/{name}"):
        gz.convert_edges([f"s3://bucket/{name}"] * 2, tmp_path / "g.gl")
    assert not (tmp_path / "g.gl").exists()


def test_a_source_without_pyarrow_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    with pytest.raises(ImportError, match=r"object storage needs pyarrow: pip install 'graphzero\[arrow\]'"):
        gz.convert_edges("s3://bucket/edges.csv", tmp_path / "g.gl")
