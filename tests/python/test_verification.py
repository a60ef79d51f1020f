"""gz.verify tells what holds, what does not and where, for files of every kind."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import files
import graphzero as gz
from files import patched, reseal
from graphzero import _core
from systems import NO_PIPES, posix_only

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"


def names(checks):
    return [check.name for check in checks]


def problems(path):
    return {check.name: check.problem for check in gz.verify(path) if not check.holds}


def offset_of(path, name):
    """The byte where a section of a .gl starts."""
    container = files.parse(Path(path).read_bytes(), files.MAGIC["gl"], files.NAMES)
    return container.section(files.KINDS[name]).offset


@pytest.fixture
def large(tmp_path):
    """Enough nodes that several threads share the work; each has two neighbours."""
    num_nodes = 100_000
    nodes = np.repeat(np.arange(num_nodes), 2)
    path = tmp_path / "large.gl"
    gz.write_graph(path, nodes, (nodes + np.tile([1, 2], num_nodes)) % num_nodes, index="out")
    return path


def test_every_check_of_a_directed_graph_is_listed(tmp_path):
    gz.write_graph(tmp_path / "g.gl", [1, 0], [0, 1], weight=[1, 2], time=[5, 6])
    checks = gz.verify(tmp_path / "g.gl")
    assert names(checks) == [
        "checksum of out_indptr",
        "checksum of out_indices",
        "checksum of out_edge_ids",
        "checksum of out_weights",
        "checksum of out_times",
        "checksum of out_weight_sums",
        "checksum of in_indptr",
        "checksum of in_indices",
        "checksum of in_weights",
        "checksum of in_times",
        "checksum of in_weight_sums",
        "zeros between the sections",
        "out index: indptr rises from 0 to the edge count",
        "out index: lists are in order and hold valid ids",
        "out index: edge ids are complete",
        "in index: indptr rises from 0 to the edge count",
        "in index: lists are in order and hold valid ids",
        "both indexes hold the same edges",
    ]
    assert all(check.holds and check.problem == "" for check in checks)


def test_every_check_of_an_undirected_graph_is_listed(tmp_path):
    gz.write_graph(tmp_path / "g.gl", [1, 0], [0, 2], directed=False)
    assert names(gz.verify(tmp_path / "g.gl")) == [
        "checksum of out_indptr",
        "checksum of out_indices",
        "checksum of out_edge_ids",
        "zeros between the sections",
        "out index: indptr rises from 0 to the edge count",
        "out index: lists are in order and hold valid ids",
        "out index: edge ids are complete",
        "every edge is stored both ways",
    ]


def test_every_check_of_features_is_listed(tiny_gd, tmp_path):
    assert names(gz.verify(tiny_gd)) == ["checksum of data", "zeros between the sections"]
    gz.write_features(tmp_path / "mask.gd", [True, False])
    assert names(gz.verify(tmp_path / "mask.gd")) == [
        "checksum of data",
        "zeros between the sections",
        "bool items are 0 or 1",
    ]


def test_a_file_of_02_has_no_checksums_to_check():
    checks = gz.verify(SAMPLES / "weighted_directed.gl")
    assert [(check.name, check.state) for check in checks] == [
        ("out index: indptr rises from 0 to the edge count", "holds"),
        ("out index: lists hold valid ids", "holds"),
        ("content is what was written", "unknown"),
    ]
    (check,) = gz.verify(SAMPLES / "features_f32.gd")
    assert (check.state, check.holds) == ("unknown", False)
    assert check.problem.startswith("cannot be checked: a file of GraphZero 0.2 has no checksum")


def test_damage_to_a_file_of_02_is_not_called_intact(tmp_path):
    data = bytearray((SAMPLES / "features_f32.gd").read_bytes())
    data[-2] ^= 0x40
    path = files.write(tmp_path / "x.gd", bytes(data))
    assert not all(check.holds for check in gz.verify(path))


def test_a_check_that_fails_has_a_state(tmp_path, tiny_gd):
    data = Path(tiny_gd).read_bytes()
    path = files.write(tmp_path / "x.gd", data[:4096] + bytes([data[4096] ^ 1]) + data[4097:])
    assert [check.state for check in gz.verify(path)] == ["fails", "holds"]
    assert gz.Check("x.gd", "checksum of data", "").state == "holds"


def test_all_problems_are_told_at_once(tmp_path):
    gz.write_graph(tmp_path / "g.gl", [0, 1, 2], [1, 2, 0])
    data = (tmp_path / "g.gl").read_bytes()
    first, second = offset_of(tmp_path / "g.gl", "out_indices"), offset_of(tmp_path / "g.gl", "in_indptr")
    path = files.write(
        tmp_path / "bad.gl", patched(data, {(first, "<i"): 9, (second, "<q"): 1, (len(data) - 1, "B"): 1})
    )
    assert list(problems(path)) == [
        "checksum of out_indices",
        "checksum of in_indptr",
        "zeros between the sections",
        "out index: lists are in order and hold valid ids",
        "in index: indptr rises from 0 to the edge count",
    ]


def test_checks_that_rest_on_a_failed_one_are_left_out(tmp_path, tiny_gl):
    data = Path(tiny_gl).read_bytes()
    path = files.write(tmp_path / "bad.gl", reseal(patched(data, {(offset_of(tiny_gl, "out_indptr"), "<q"): 1})))
    left = names(gz.verify(path))
    assert "out index: indptr rises from 0 to the edge count" in left
    assert "out index: lists are in order and hold valid ids" not in left
    assert "both indexes hold the same edges" not in left
    assert "in index: lists are in order and hold valid ids" in left


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_problem_is_told_whatever_the_number_of_threads(threads, large):
    at = offset_of(large, "out_indices")
    broken = {(at + 4 * entry, "<i"): -1 for entry in (199_998, 140_000, 70_001, 199_000)}
    path = files.write(large, reseal(patched(large.read_bytes(), broken)))
    gz.set_num_threads(threads)
    try:
        told = problems(path)
    finally:
        gz.set_num_threads(0)
    assert list(told) == ["out index: lists are in order and hold valid ids"]
    # Entry 70,001 is the second of its list, so the first finds the order broken.
    assert list(told.values()) == ["out_indices[70001]: expected at least 35001, found -1"]


def test_a_large_graph_is_intact(large):
    assert problems(large) == {}


def test_full_verification_names_path_check_and_place(tmp_path, tiny_gl):
    data = patched(Path(tiny_gl).read_bytes(), {(offset_of(tiny_gl, "in_edge_ids"), "<i"): 2})
    path = files.write(tmp_path / "bad.gl", data)
    with pytest.raises(
        gz.FormatError,
        match=rf"^{re.escape(str(path))}: checksum of in_edge_ids: expected \d+, found \d+: the bytes chan",
    ):
        gz.Graph(path, verify="full")


def test_an_intact_file_opens_with_full_verification(tiny_gl, tiny_gd):
    assert gz.Graph(tiny_gl, verify="full").num_edges == 4
    assert gz.FeatureStore(tiny_gd, verify="full").num_rows == 4


@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_another_word_for_verify_is_refused(store, tiny_gl, tiny_gd):
    path = tiny_gl if store is gz.Graph else tiny_gd
    with pytest.raises(ValueError, match="verify: expected 'header' or 'full', found 'deep'"):
        store(path, verify="deep")


def test_a_path_of_any_kind_is_taken(tiny_gl):
    for path in (tiny_gl, Path(tiny_gl), os.fsencode(tiny_gl)):
        assert problems(path) == {}


@posix_only(reason=NO_PIPES)
def test_what_is_no_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        gz.verify(tmp_path / "missing.gl")
    with pytest.raises(FileNotFoundError, match="has no graphzero.json"):
        gz.verify(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        gz.verify(tmp_path / "pipe")


def test_what_has_no_header_raises(tmp_path):
    for content in (b"", b"GRAPH", b"src,dst\n", b"GRAPHZGD", b"graphlit", b"GZDATA26"):
        with pytest.raises(gz.FormatError, match=r"anything: "):
            gz.verify(files.write(tmp_path / "anything", content))


def test_the_name_of_a_file_does_not_matter(tmp_path, tiny_gl, tiny_gd):
    os.rename(tiny_gl, tmp_path / "a.gd")
    os.rename(tiny_gd, tmp_path / "b.gl")
    assert "checksum of out_indptr" in names(gz.verify(tmp_path / "a.gd"))
    assert "checksum of data" in names(gz.verify(tmp_path / "b.gl"))


def test_verifying_takes_no_memory(tmp_path):
    gz.write_features(tmp_path / "x.gd", np.zeros((1 << 16, 1 << 10), np.uint8))
    before = gz.memory_report().anonymous
    assert problems(tmp_path / "x.gd") == {}
    assert gz.memory_report().anonymous - before < 16 << 20


def test_a_check_names_its_file(tiny_gl, tiny_dataset):
    assert {check.file for check in gz.verify(tiny_gl)} == {tiny_gl}
    assert {check.file for check in gz.verify(tiny_dataset)} == {
        "graphzero.json",
        "nodes/node/x.gd",
        "nodes/node/y.gd",
        "edges/node__to__node/graph.gl",
        "splits/train/node.gd",
        "splits/test/node.gd",
    }


def test_damage_to_a_file_of_a_data_set_is_told_under_its_name(tiny_dataset):
    path = Path(tiny_dataset) / "splits/test/node.gd"
    files.write(path, patched(path.read_bytes(), {(4096, "<q"): 2}))
    checks = [check for check in gz.verify(tiny_dataset) if not check.holds]
    assert [(check.file, check.name) for check in checks] == [("splits/test/node.gd", "checksum of data")]


def test_a_check_holds_unless_it_has_a_problem():
    assert gz.Check(file="x.gd", name="checksum of data", problem="").holds
    assert not gz.Check(file="x.gd", name="checksum of data", problem="expected 1, found 2").holds


def test_progress_counts_the_bytes_that_were_read(tmp_path):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(1000, size=(2, 20_000))
    gz.write_graph(tmp_path / "g.gl", src, dst, weight=rng.random(20_000, dtype=np.float32))
    gz.write_features(tmp_path / "x.gd", rng.random((3000, 20)))
    read = _core.VerifyProgress()
    _core.verify_graph(os.fsencode(tmp_path / "g.gl"), read)
    size = (tmp_path / "g.gl").stat().st_size
    assert 1.8 * size < read.bytes() < 2 * size  # all of it, and lists once more
    before = read.bytes()
    _core.verify_features(os.fsencode(tmp_path / "x.gd"), read)
    assert read.bytes() - before == 3000 * 20 * 8


def test_classes_beyond_their_number_are_found(tmp_path):
    with gz.DatasetWriter(tmp_path / "ds") as writer:
        writer.add_nodes({"y": [0, -1, 2]}, label="y", num_classes=3)
        writer.add_edges([0], [1])
    assert not problems(tmp_path / "ds")
    manifest = tmp_path / "ds" / "graphzero.json"
    manifest.write_text(manifest.read_text().replace('"num_classes": 3', '"num_classes": 2'))
    found = "[2]: expected a class below 2, found 2"
    assert problems(tmp_path / "ds") == {"label y: classes of node are counted": found}
