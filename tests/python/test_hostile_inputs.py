"""Files and folders of strangers give an error soon: they neither block, nor fill the memory or the disk."""

import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
import torch

import data_sets
import graphzero as gz
from graphzero.convert.edge_sources import edge_source
from graphzero.convert.edge_sources.array_file import npy_file, npz_file
from graphzero.convert.edge_sources.torch_files import _BoundedFile, load_pt
from systems import NO_PIPES, NO_USAGE, posix_only, resource

FREE = 1 << 30


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_dataset(path="data"):
    with gz.DatasetWriter(path) as writer:
        writer.add_nodes({"x": np.eye(4, dtype=np.float32)})
        writer.add_edges([0, 1], [1, 2])
        writer.add_split("train", [0, 1])


# Pipes and devices


PIPES = {
    "manifest": ("data/graphzero.json", lambda: gz.open("data")),
    "npy": ("edges.npy", lambda: gz.convert_edges("edges.npy", "out.gl")),
    "npz": ("edges.npz", lambda: gz.convert_edges("edges.npz", "out.gl")),
    "pt": ("edges.pt", lambda: gz.convert_edges("edges.pt", "out.gl")),
    "mtx": ("edges.mtx", lambda: gz.convert_edges("edges.mtx", "out.gl")),
    "sg": ("edges.sg", lambda: gz.convert_edges("edges.sg", "out.gl")),
    "parquet": ("edges.parquet", lambda: gz.convert_edges("edges.parquet", "out.gl")),
    "features": ("x.npy", lambda: gz.convert_features("x.npy", "out.gd")),
    "features csv": ("x.csv", lambda: gz.convert_features("x.csv", "out.gd")),
    "graphbolt": ("data/metadata.yaml", lambda: gz.convert_dataset("data", "out")),
    "ogb": ("data/raw/edge.csv.gz", lambda: gz.convert_dataset("data", "out")),
    "ogb binary": ("data/raw/data.npz", lambda: gz.convert_dataset("data", "out")),
    "processed": ("data/a___b___a/edge_index.npy", lambda: gz.convert_dataset("data", "out", num_nodes={"a": 1})),
    "neo4j": ("data/nodes.csv", lambda: gz.convert_dataset("data", "out")),
    "pyg": ("data/processed/data.pt", lambda: gz.convert_dataset("data", "out")),
}


@posix_only(reason=NO_PIPES)
@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize(("path", "read"), PIPES.values(), ids=PIPES)
def test_pipes_and_devices_are_refused_before_they_are_opened(path, read, device):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    os.symlink("/dev/zero", path) if device else os.mkfifo(path)
    with pytest.raises(OSError, match="is not a regular file, expected one") as error:
        read()
    assert error.value.filename.endswith(path)


@posix_only(reason=NO_PIPES)
def test_a_pipe_beside_the_files_of_a_layout_is_refused():
    data_sets.mag240m("mag")
    os.mkfifo("mag/processed/paper/node_extra.npy")
    with pytest.raises(OSError, match="is not a regular file, expected one"):
        gz.convert_dataset("mag", "out")


# Lines without end


def conversion_in_64_mb(call):
    """What a conversion says, and by how many kB memory grew."""
    program = (
        "import resource, graphzero as gz\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"try:\n    print(gz.convert_{call})\n"
        "except ValueError as error:\n    print(type(error).__name__, error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split("\n")
    return out[0], int(out[1])


@pytest.mark.parametrize("start", [b"0,1\n1,2\n", b"0,1\n" * 1_000_000, b"# c\n", None])
def test_a_line_without_end_is_refused_in_bounded_memory(start):
    if start is None:
        start = b"0,1\n1,2\n"
        with gzip.open("bomb.csv", "wb") as file:
            file.write(start)
            for _ in range(120):
                file.write(b"1" * (1 << 20))
    else:
        with open("bomb.csv", "wb") as file:
            file.write(start)
            file.truncate(1 << 30)
    line = start.count(b"\n") + 1
    said, growth = conversion_in_64_mb("edges('bomb.csv', 'out.gl', memory='64MB').num_edges")
    assert said == (
        f"FormatError bomb.csv: line {line}: expected lines of at most 16 MB, found a longer one; is it text? Cut such "
        "lines first, or give more memory="
    )
    assert growth < 100_000
    os.remove("bomb.csv")


@pytest.mark.parametrize(
    ("unit", "count", "said"),
    [
        (b"0,1," + b"x" * (15 << 20) + b"\n", 8, "8"),  # long, but not too long
        (b"# c\n" * (1 << 20), 40, "0"),
        (b"1," * (7 << 20) + b"\n", 2, "ValueError big.csv: line 1: expected at most 1048576 columns, found 7340033: "),
    ],
)
def test_long_lines_and_long_comments_are_read_in_bounded_memory(unit, count, said):
    with open("big.csv", "wb") as file:
        for _ in range(count):
            file.write(unit)
    found, growth = conversion_in_64_mb("edges('big.csv', 'out.gl', memory='64MB').num_edges")
    assert found.startswith(said)
    assert growth < 100_000
    os.remove("big.csv")


def test_many_fields_behind_two_columns_take_no_memory():
    with open("big.csv", "wb") as file:
        file.write(b"0,1\n" + b"1," * (7 << 20) + b"\n")
    found, growth = conversion_in_64_mb("edges('big.csv', 'out.gl', memory='64MB').num_edges")
    assert found.startswith("ValueError big.csv: line 2: expected 2 columns, found 7340033: ")
    assert growth < 100_000


def test_rows_of_a_line_without_end_are_refused():
    with gzip.open("bomb.csv.gz", "wb", compresslevel=9) as file:
        file.write(b"0,1\n1,2\n")
        for _ in range(20):
            file.write(b"1" * (1 << 20))
    with pytest.raises(gz.FormatError, match=r"bomb.csv.gz: line 3: expected lines of at most 16 MB"):
        gz.convert_features("bomb.csv.gz", "out.gd", dtype="float32", memory="64MB")


def test_a_long_line_that_is_in_bounds_is_read():
    with gzip.open("wide.csv.gz", "wt") as file:
        for row in range(3):
            file.write(",".join([str(row)] * (1 << 20)) + "\n")
    gz.convert_features("wide.csv.gz", "wide.gd", dtype="float32", memory="64MB")
    with gz.FeatureStore("wide.gd") as store:
        assert store.shape == (3, 1 << 20)
        assert store.get_data(2)[-1] == 2


def test_short_lines_before_a_row_ask_for_no_memory():
    with open("x.csv", "w") as file:
        file.write((",".join(["1"] * 200) + "\n\n") * 5000)
    said, growth = conversion_in_64_mb("features('x.csv', 'x.gd', dtype='float32', memory='64MB').shape")
    assert said == "(5000, 200)"
    assert growth < 150_000


def test_a_longer_line_is_read_where_memory_allows():
    with open("e.csv", "wb") as file:
        for _ in range(2):
            file.write(b"0,1," + b"x" * (17 << 20) + b"\n")
    with pytest.raises(gz.FormatError, match="e.csv: line 1: expected lines of at most 16 MB"):
        gz.convert_edges("e.csv", "out.gl", memory="256MB")
    assert gz.convert_edges("e.csv", "out.gl", memory="320MB").num_edges == 2


def test_a_manifest_names_no_file_that_cannot_be(tiny_dataset):
    with open(os.path.join(tiny_dataset, "graphzero.json")) as file:
        text = file.read()
    with open(os.path.join(tiny_dataset, "graphzero.json"), "w") as file:
        file.write(re.sub(r'("file": ")', r"\1\\ud800", text))
    with pytest.raises(gz.FormatError, match="graphzero.json: expected JSON of text, found half of a surrogate pair"):
        gz.open(tiny_dataset)


# Headers that claim


def npy_bytes(descr="<i8", shape=(2, 2), data=b"\0" * 32, version=1, length=None, header=None):
    text = (header or repr({"descr": descr, "fortran_order": False, "shape": shape})).encode() + b"\n"
    packed = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + packed + text + data


@pytest.mark.parametrize(
    "content",
    [
        npy_bytes(shape=(2**70, 2)),
        npy_bytes(shape=(2**70, 0)),
        npy_bytes(shape=(2**40, 2**40, 0)),
        npy_bytes(shape=(2, -1)),
        npy_bytes(shape=("2", 2)),
        npy_bytes(descr="<i99999999999999999999"),
        npy_bytes(descr="|V8"),
        npy_bytes(descr="(2,)<i4"),
        npy_bytes(descr=[("a", "<i4")]),
        npy_bytes(descr="|O"),
        npy_bytes(descr="<U0", shape=(2**50,)),
        npy_bytes(descr=7),
        npy_bytes(version=2, length=2**32 - 1),
        npy_bytes(version=2, length=20_000, data=b" " * 30_000),
        npy_bytes(header="(" * 5000),
        npy_bytes(header="-" * 9000 + "1"),
        npy_bytes(header="{'descr': __import__('os').mkdir('trapped')}"),
        npy_bytes(header=" "),
    ],
    ids=range(18),
)
def test_npy_headers_that_claim_anything_are_refused(content):
    with open("a.npy", "wb") as file:
        file.write(content)
    with zipfile.ZipFile("a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content)
    for read in (lambda: npy_file("a.npy"), lambda: npz_file("a.npz", "a")):
        with pytest.raises(gz.FormatError, match=r"^a.np[yz].*: (expected|ends too early)"):
            read()
    assert not os.path.exists("trapped")


@posix_only(reason=NO_USAGE)
def test_a_header_that_inflates_is_not_read():
    with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as file:
        file.write(npy_bytes(version=2, length=400 << 20, data=b""))
        for _ in range(400):
            file.write(b" " * (1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(gz.FormatError, match="expected the header of a .npy file, found: one of 419430400 bytes"):
        npz_file("bomb.npz", "a")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_shape_of_a_matrix_has_two_numbers():
    scipy.sparse.save_npz("a.npz", scipy.sparse.csr_matrix(np.eye(3)))
    members = dict(np.load("a.npz").items())
    np.savez_compressed("b.npz", **{**members, "shape": np.zeros(1 << 22, np.int64)})
    with pytest.raises(gz.FormatError, match="b.npz: expected a matrix of two dimensions"):
        edge_source("b.npz")


@pytest.mark.parametrize("counts", ["9" * 30 + " 3 1", f"{2**60} 3 1", f"3 3 {2**70}"])
def test_matrix_market_headers_that_claim_too_much_are_refused(counts):
    with open("a.mtx", "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern general\n{counts}\n1 1\n")
    with pytest.raises(gz.FormatError, match="a.mtx: line 2: expected ROWS COLUMNS ENTRIES"):
        gz.convert_edges("a.mtx", "out.gl")


# Zip files, text, labels and tensors that others would not have written


def damaged_zip(change):
    """A .npz whose bytes are changed by ``change(bytearray)``."""
    np.savez("a.npz", a=np.arange(4))
    with open("a.npz", "rb") as file:
        data = bytearray(file.read())
    change(data)
    with open("a.npz", "wb") as file:
        file.write(data)
    os.link("a.npz", "a.pt")


def directory(data):
    return data.rindex(b"PK\x01\x02")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.__setitem__(slice(directory(data) + 46, directory(data) + 47), b"\xff"),
        lambda data: data.__setitem__(slice(directory(data) + 10, directory(data) + 12), struct.pack("<H", 77)),
        lambda data: data.__setitem__(slice(directory(data) + 42, directory(data) + 46), struct.pack("<I", 2**31)),
        lambda data: data.__setitem__(slice(data.rindex(b"PK\5\6"), data.rindex(b"PK\5\6")), b"PK\6\7" + b"\1" * 16),
    ],
    ids=["name that is no text", "compression", "offset", "several disks"],
)
def test_zip_files_that_lead_nowhere_are_refused(change):
    def set_utf8(data):
        at = directory(data)
        data[at + 8 : at + 10] = struct.pack("<H", 0x800)  # the name is UTF-8
        change(data)

    damaged_zip(set_utf8)
    for read in (lambda: npz_file("a.npz", "a"), lambda: load_pt("a.pt")):
        with pytest.raises((gz.FormatError, ValueError), match=r"^a\.(npz|pt).*: expected "):
            read()


def test_text_of_no_character_is_refused():
    np.save("a.npy", np.array([["a", "b"], ["b", "c"]]))
    with open("a.npy", "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(struct.pack("<I", 0x110000))
    with pytest.raises(gz.FormatError, match=r"a.npy: expected text, found a character beyond U\+10FFFF"):
        gz.convert_edges("a.npy", "out.gl")


def test_bools_of_other_bytes_become_true():
    np.save("a.npy", np.array([0, 1, 2, 255], np.uint8))
    with open("a.npy", "rb") as file:
        data = file.read().replace(b"|u1", b"|b1")
    with open("a.npy", "wb") as file:
        file.write(data)
    gz.convert_features("a.npy", "file.gd")
    gz.write_features("memory.gd", np.load("a.npy"))
    gz.convert_features("a.npy", "int.gd", dtype="int64")
    for path in ("file.gd", "memory.gd", "int.gd"):
        with gz.FeatureStore(path, verify="full") as store:
            assert store.get_tensor().astype(int).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("labels", "found"),
    [(np.float32(3), r"float32 of shape \(\)"), (np.array(["a"] * 5), r"<U1 of shape \(5,\)")],
)
def test_labels_are_numbers_of_nodes(labels, found):
    data_sets.mag240m("mag")
    np.save("mag/processed/paper/node_label.npy", labels)
    with pytest.raises(
        gz.FormatError, match=rf"node_label.npy: expected labels, a number for each node, found {found}"
    ):
        gz.convert_dataset("mag", "out")


def test_labels_too_large_to_be_classes_stay_as_they_are():
    data_sets.mag240m("mag")
    np.save("mag/processed/paper/node_label.npy", np.full(5, 1e300))
    gz.convert_dataset("mag", "out")
    with gz.open("out") as data:
        assert data.labels("paper").get_tensor().tolist() == [1e300] * 5


def test_a_wide_line_takes_no_more_memory_than_it_has_numbers():
    data_sets.ogb_csv("theirs")
    with gzip.open("theirs/raw/num-node-list.csv.gz", "wb") as target:
        target.write(b"1," * 5000 + b"1\n")
    tracemalloc.start()
    try:
        assert gz.convert_dataset("theirs", "out", format="ogb-csv").nodes == {"node": 1}
    except gz.FormatError:
        pass  # its edges name nodes that are not there
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 50 << 20


def test_a_tensor_without_an_array_is_refused():
    eye = torch.eye(3)
    with_meta = torch.empty(3, device="meta")
    for tensor, found in (
        (eye.to_sparse(), "sparse_coo"),
        (eye.to_sparse().bfloat16(), "sparse_coo"),
        (with_meta, "meta"),
    ):
        torch.save({"x": tensor}, "a.pt")
        with pytest.raises(TypeError, match=rf"source: expected .* found .*{found}"):
            gz.convert_features("a.pt", "out.gd", key="x")


def test_a_pickle_that_claims_bytes_gets_no_room_for_them():
    torch.save(torch.arange(3), "old.pt", _use_new_zipfile_serialization=False)
    size = os.path.getsize("old.pt")
    with _BoundedFile("old.pt") as file:
        assert len(file.read(1 << 60)) == size
    assert load_pt("old.pt").tolist() == [0, 1, 2]


@pytest.mark.parametrize(("field", "found"), [("9" * 30, "too large"), ("x" * 60_000, "invalid literal")])
def test_numbers_of_neo4j_that_are_none_are_refused_in_bounded_memory(field, found):
    os.mkdir("theirs")
    with open("theirs/nodes.csv", "w") as file:
        file.write("id:ID,n:int\n" + "".join(f"{i},{i}\n" for i in range(20_000)) + f"last,{field}\n")
    tracemalloc.start()
    with pytest.raises(gz.FormatError, match=rf"nodes.csv: column n: expected numbers, found: .*{found}"):
        gz.convert_dataset("theirs", "out", format="neo4j")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 << 20


def test_a_pyg_object_without_its_parts_is_refused():
    data = data_sets.pyg_hetero()
    del data.__dict__["_node_store_dict"]  # PyG looks for it without end
    torch.save(data, "a.pt")
    with pytest.raises(gz.FormatError, match="a.pt: expected a Data or HeteroData of PyG, found one that PyG refuses"):
        gz.convert_dataset("a.pt", "out")


# Tables that inflate


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("raw/num-node-list.csv.gz", b"1\n" * (1 << 22)),
        ("raw/node-label.csv.gz", b"1\n" * (1 << 22)),
        ("raw/node-label.csv.gz", b"1," * (1 << 22)),
        ("split/time/train.csv.gz", b"1\n" * (1 << 22)),
        ("split/time/train.csv.gz", b"99999999999999999999\n"),
        ("split/time/train.csv.gz", b"\xff\xfe\n"),
    ],
)
def test_tables_of_ogb_have_no_more_lines_than_there_are_nodes(file, content):
    data_sets.ogb_csv("theirs")
    with gzip.open(f"theirs/{file}", "wb") as target:
        target.write(content)
    with pytest.raises(gz.FormatError, match=f"theirs/{file}: expected "):
        gz.convert_dataset("theirs", "out")


@pytest.mark.parametrize("name", ["num-node-dict", "triplet-type-list"])
def test_tables_of_types_are_small(name):
    data_sets.ogb_csv_hetero("theirs")
    with gzip.open(f"theirs/raw/{name}.csv.gz", "wb") as target:
        target.write(b"a,b,c\n" * (1 << 20))
    with pytest.raises(gz.FormatError, match=f"{name}.csv.gz: expected at most 65536 lines, found more"):
        gz.convert_dataset("theirs", "out")


@pytest.mark.parametrize("start", [b"", b"id:ID,n:int\n"])
def test_a_line_without_end_of_neo4j_is_refused(start):
    os.mkdir("theirs")
    with gzip.open("theirs/nodes.csv.gz", "wb") as file:
        file.write(start + b"1" * (4 << 20))
    with pytest.raises(gz.FormatError, match="nodes.csv.gz: expected lines of at most 1048576 characters"):
        gz.convert_dataset("theirs", "out", format="neo4j")


def test_a_cut_table_is_refused():
    data_sets.ogb_csv("theirs")
    with open("theirs/raw/num-node-list.csv.gz", "r+b") as file:
        file.truncate(os.path.getsize(file.name) - 5)
    with pytest.raises(gz.FormatError, match=r"num-node-list.csv.gz: expected csv, compressed"):
        gz.convert_dataset("theirs", "out")


# The disk


@pytest.fixture
def small_disk(monkeypatch):
    """A disk with 1 GiB free."""
    monkeypatch.setattr("graphzero._files.folder.shutil.disk_usage", lambda path: SimpleNamespace(free=FREE))


TOO_MUCH = {
    "write_graph": lambda: gz.write_graph("out", [0], [1], num_nodes=1 << 30),
    "convert_edges": lambda: gz.convert_edges(([0], [1]), "out", num_nodes=1 << 40),
    "two kinds": lambda: gz.convert_edges(([0], [1]), "out", num_nodes=(3, 1 << 40)),
    "write_features": lambda: gz.write_features("out", np.broadcast_to(np.float32(1), (1 << 30, 4))),
    "convert_features": lambda: gz.convert_features(np.broadcast_to(np.float32(1), (1 << 30, 4)), "out"),
}


@pytest.mark.usefixtures("small_disk")
@pytest.mark.parametrize("write", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_the_disk_has_no_room_for_is_not_begun(write):
    with pytest.raises(OSError, match=r"needs about .* of disk, and 1.1 GB are free") as error:
        write()
    assert (error.value.errno, error.value.filename) == (28, "out")
    assert os.listdir() == []


@pytest.mark.usefixtures("small_disk")
def test_a_matrix_that_claims_nodes_does_not_fill_the_disk():
    with open("a.mtx", "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern general\n{2**40} {2**40} 1\n1 1\n")
    with pytest.raises(OSError, match="of disk, and"):
        gz.convert_edges("a.mtx", "out.gl")
    assert os.listdir() == ["a.mtx"]


@pytest.mark.usefixtures("small_disk")
def test_rows_by_id_are_not_begun_if_there_is_no_room():
    with open("x.csv", "w") as file:
        file.write("id,a\n0,1\n1,2\n")
    with pytest.raises(OSError, match="of disk, and"):
        gz.convert_features("x.csv", "out.gd", id_column="id", num_rows=1 << 40, dtype="float32")
    assert os.listdir() == ["x.csv"]


def test_a_missing_folder_is_the_error_that_it_was():
    with pytest.raises(OSError, match="No such file"):
        gz.write_graph("missing/out.gl", [0], [1])


# Manifests


def manifest(**changes):
    write_dataset()
    with open("data/graphzero.json") as file:
        document = json.load(file)
    document.update(changes)
    with open("data/graphzero.json", "w") as file:
        json.dump(document, file)
    return document


def test_a_manifest_of_many_splits_is_read_in_one_pass():
    document = manifest()
    record = document["splits"][0]["ids"]
    splits = [{"name": str(i), "of": "node", "ids": record} for i in range(60_000)]
    splits.append(splits[0])
    with open("data/graphzero.json", "w") as file:
        json.dump({**document, "splits": splits}, file)
    begin = time.process_time()
    with pytest.raises(gz.FormatError, match=r"splits\[60000\]: expected each split of a type once"):
        gz.open("data")
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["splits"][0].update(of={}), r"splits\[0\].of: expected a node type or an edge type"),
        (lambda d: d["splits"][0].update(of=7), r"splits\[0\].of: expected a node type or an edge type"),
        (
            lambda d: d["splits"][0].update(of=[[], {}, 1]),
            r"splits\[0\].of: expected \[source, relation, destination\]",
        ),
        (lambda d: d["edges"][0].update(type=[{}, [], 1]), r"edges\[0\].type: expected \[source"),
        (lambda d: d["splits"][0].update(name={}), r"splits\[0\].name: expected a name"),
        (lambda d: d["nodes"]["node"].update(label=[]), r"nodes.node.label: expected the name of an attribute"),
        (
            lambda d: d["nodes"]["node"].update(num_nodes=float("1e300")),
            r"nodes.node.num_nodes: expected a number of nodes",
        ),
        (lambda d: d["metadata"].update(x=float("inf")), r"expected JSON, found Infinity, which is no number of JSON"),
        (lambda d: d["metadata"].update(x=float("nan")), r"expected JSON, found NaN, which is no number of JSON"),
        (lambda d: d["metadata"].update(x=nested(200)), r"expected JSON of at most 100 levels, found more"),
        (lambda d: d.update(other={"x": {"value": nested(200)}}), r"expected JSON of at most 100 levels, found more"),
        (
            lambda d: d.update(other={"x": {"value": 2**70, "dtype": "int64"}}),
            r"other.x.value: expected a number that fits",
        ),
        (
            lambda d: d.update(other={"x": {"value": 0.5, "dtype": "int64"}}),
            r"other.x.value: expected a number that fits",
        ),
        (lambda d: d.update(other={"x": {"value": 2, "dtype": "bool"}}), r"other.x.value: expected a number that fits"),
        (
            lambda d: d.update(other={"x": {"value": 10**400, "dtype": "float32"}}),
            r"other.x.value: expected a number that",
        ),
    ],
)
def test_manifests_with_odd_values_are_refused(change, message):
    document = manifest()
    change(document)
    with open("data/graphzero.json", "w") as file:
        json.dump(document, file)
    with pytest.raises(gz.FormatError, match=f"data/graphzero.json: {message}"):
        gz.open("data")


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "expected JSON, found"),
        ('{"a": 1e400}', "expected JSON, found 1e400, which is too large"),
        ('{"a": -1e400}', "expected JSON, found -1e400, which is too large"),
        ("1" * 5000, "expected "),
        ('{"a": "\\ud800"}', "expected JSON of text, found half of a surrogate pair"),
        ("", "expected JSON, found"),
        ("[]", "top: expected an object"),
    ],
)
def test_what_is_hardly_json_is_refused(text, message):
    os.mkdir("data")
    with open("data/graphzero.json", "w") as file:
        file.write(text)
    with pytest.raises(gz.FormatError, match=f"data/graphzero.json: {message}"):
        gz.open("data")


# What a program may hand us by mistake


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda w: w.add_nodes({5: np.eye(2)}), "expected a name, found 5"),
        (lambda w: w.add_nodes({"x": np.eye(2)}, type=5), "expected a name, found 5"),
        (lambda w: w.add_nodes(num_nodes=2, type=5), "expected a name, found 5"),
        (lambda w: w.add_nodes({"x": np.eye(2)}, type="a\ud800"), "expected a name that is text"),
        (lambda w: w.add_nodes(num_nodes=2, num_classes="three"), "num_classes: expected an integer"),
        (lambda w: (w.add_nodes(num_nodes=2), w.add_split(5, [0])), "expected a name, found 5"),
        (lambda w: (w.add_nodes(num_nodes=2), w.add_split("a", [0], of=5)), "edge type: expected"),
        (lambda w: w.add_other(5, 1), "expected a name, found 5"),
        (lambda w: w.add_other("x", nested(200)), "x: expected a tensor or a JSON value, found list"),
        (lambda w: w.add_other("x", nested(100_000)), "x: expected a tensor or a JSON value, found list"),
        (lambda w: w.set_metadata(x=nested(100_000)), "x: expected a tensor or a JSON value, found list"),
        (lambda w: w.set_metadata(x=float("inf")), "x: expected a tensor or a JSON value, found float"),
        (lambda w: w.set_metadata(x=object()), "x: expected a tensor or a JSON value, found object"),
    ],
)
def test_names_and_values_that_a_manifest_cannot_hold_are_refused_where_they_are_given(add, message):
    with pytest.raises((TypeError, ValueError), match=message), gz.DatasetWriter("data") as writer:
        add(writer)
    assert not os.path.exists("data")


def test_a_file_opened_as_text_is_refused():
    with pytest.raises(TypeError, match="StringIO: expected a file opened for bytes, .*found one for text"):
        gz.convert_edges(io.StringIO("0,1\n"), "out.gl")
    with pytest.raises(TypeError, match="source: expected a path, .* found StringIO"):
        gz.convert_features(io.StringIO("0,1\n"), "out.gd", dtype="float32")
    with pytest.raises(TypeError, match="source: expected a path, .* found BytesIO"):
        gz.convert_features(io.BytesIO(b"0,1\n"), "out.gd", dtype="float32")
    assert gz.convert_edges(io.BytesIO(b"0,1\n"), "out.gl").num_edges == 1


def test_names_of_columns_that_are_no_text_are_refused():
    import pyarrow as pa

    name = "\u00e9" * 8
    table = pa.table({"src": [0], "dst": [1], name: [1.0]})
    with pa.OSFile("e.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    contents = Path("e.arrow").read_bytes()
    assert name.encode() in contents
    Path("e.arrow").write_bytes(contents.replace(name.encode(), b"\xff" * 16))
    message = "e.arrow: expected names of columns in UTF-8, found: 'utf-8' codec can't decode byte 0xff in position 0"
    with pytest.raises(gz.FormatError, match=message):
        gz.convert_edges("e.arrow", "e.gl", src="src", dst="dst")
    with pytest.raises(gz.FormatError, match=message):
        gz.convert_features("e.arrow", "x.gd")


def test_labels_of_a_type_that_is_not_there_are_refused(tmp_path):
    raw = tmp_path / "mag" / "raw"
    raw.mkdir(parents=True)
    np.savez(raw / "num_nodes_dict.npz", paper=[3])
    np.savez(raw / "num_edges_dict.npz", paper___cites___paper=[2])
    np.savez(raw / "edge_index_dict.npz", paper___cites___paper=[[0, 1], [1, 2]])
    np.savez(raw / "node-label.npz", author=[0, 1, 0])
    with pytest.raises(gz.FormatError, match=r"labels: expected nodes of a type of \['paper'\], found 'author'"):
        gz.convert_dataset(tmp_path / "mag", "out")
