"""Id dictionaries: labels to ids and back, built in any order, in bounded memory."""

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphzero as gz
from graphzero.ids import IdBuilder
from optional_torch import needs_torch, torch
from systems import NO_LIMITS, NO_USAGE, posix_only, resource

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
INT64 = st.integers(-(2**63), 2**63 - 1)
SPARSE = st.one_of(INT64, st.integers(-50, 50))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Hypothesis runs a test many times in one folder."""
    return tmp_path_factory.mktemp("ids")


@pytest.fixture
def movies(tmp_path):
    gz.write_ids(tmp_path / "movies.gi", ["tt0133093", "tt0068646", "tt0133093", ""])
    return gz.IdDictionary(tmp_path / "movies.gi")


def rank(labels):
    """The oracle: what each label's id is."""
    key = (lambda label: label.encode()) if labels and isinstance(labels[0], str) else None
    return {label: i for i, label in enumerate(sorted(set(labels), key=key))}


def check_both_ways(path, labels, absent):
    expected = rank(labels)
    with gz.IdDictionary(path, verify="full") as d:
        assert len(d) == len(expected)
        assert d.labels(range(len(d))).tolist() == list(expected)
        if labels:
            assert d.indices(labels).tolist() == [expected[label] for label in labels]
            assert d.indices([*absent, *labels], default=-1).tolist() == [
                expected.get(label, -1) for label in [*absent, *labels]
            ]
        for label in absent:
            assert (label in d) == (label in expected)


@settings(deadline=None, max_examples=150)
@given(labels=st.lists(TEXT, max_size=60), absent=st.lists(TEXT, max_size=5))
def test_any_text_comes_back(folder, labels, absent):
    gz.write_ids(folder / "s.gi", labels)
    check_both_ways(folder / "s.gi", labels, absent)


@settings(deadline=None, max_examples=150)
@given(labels=st.lists(SPARSE, min_size=1, max_size=300), absent=st.lists(SPARSE, max_size=5))
def test_any_integers_come_back(folder, labels, absent):
    gz.write_ids(folder / "i.gi", labels)
    check_both_ways(folder / "i.gi", labels, absent)


def test_nul_bytes_and_prefixes_are_labels_of_their_own(tmp_path):
    labels = ["", "\0", "\0\0", "a", "a\0", "a\0b", "abcdefgh", "abcdefgh\0", "abcdefg", "abcdefghi"]
    gz.write_ids(tmp_path / "x.gi", labels[::-1])
    check_both_ways(tmp_path / "x.gi", labels, ["b", "\0\0\0", "abcdefgh\0\0"])


def test_long_labels_come_back(tmp_path):
    labels = ["x" * n for n in (0, 7, 8, 9, 31, 32, 33, 4095, 4096, 70_000, 3_000_000)]
    with IdBuilder(tmp_path / "x.gi", "string", memory=1 << 20) as builder:
        builder.add(labels)
        builder.add([label + "y" for label in labels])
    check_both_ways(tmp_path / "x.gi", labels + [label + "y" for label in labels], ["x" * 3_000_001])


def test_integers_across_every_level_come_back(tmp_path):
    for count in (1, 16, 17, 256, 257, 4096, 4097, 70_000):
        labels = np.arange(count) * 3 - count
        gz.write_ids(tmp_path / "x.gi", labels)
        with gz.IdDictionary(tmp_path / "x.gi") as d:
            np.testing.assert_array_equal(d.indices(labels), np.arange(count))
            around = np.concatenate([labels - 1, labels + 1, [-(2**63), 2**63 - 1]])
            assert (d.indices(around, default=-7) == -7).all()


def test_many_strings_come_back(tmp_path):
    labels = [f"https://example.org/page/{i * 7919 % 300_007}" for i in range(300_000)]
    gz.write_ids(tmp_path / "x.gi", labels)
    with gz.IdDictionary(tmp_path / "x.gi", verify="full") as d:
        expected = rank(labels)
        assert d.indices(labels).tolist() == [expected[label] for label in labels]
        assert d.labels(d.indices(labels[:1000])).tolist() == labels[:1000]


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a"],
        ("b", "a"),
        np.array(["b", "a"]),
        np.array([b"b", b"a"]),
        np.array(["b", "a"], dtype=object),
        np.array(["x", "b", "a"])[1:],
        [b"b", "a"],
    ],
    ids=["list", "tuple", "text", "bytes", "objects", "slice", "mixed"],
)
def test_text_of_many_types(labels, tmp_path):
    gz.write_ids(tmp_path / "x.gi", labels)
    d = gz.IdDictionary(tmp_path / "x.gi")
    assert (d.kind, d.labels([0, 1]).tolist(), d.indices(labels).tolist()) == ("string", ["a", "b"], [1, 0])


@pytest.mark.parametrize(
    "labels",
    [
        [70, -3],
        np.array([70, -3]),
        np.array([70, -3], dtype=np.int32),
        np.array([70, -3], dtype=object),
        pytest.param(torch and torch.tensor([70, -3]), marks=needs_torch),
        pytest.param(torch and torch.tensor([70, -3], dtype=torch.int32), marks=needs_torch),
    ],
    ids=["list", "int64", "int32", "objects", "torch", "torch32"],
)
def test_integers_of_many_types(labels, tmp_path):
    gz.write_ids(tmp_path / "x.gi", labels)
    d = gz.IdDictionary(tmp_path / "x.gi")
    assert (d.kind, d.labels([0, 1]).tolist(), d.indices(labels).tolist()) == ("integer", [-3, 70], [1, 0])


def test_arrow_arrays_are_taken_by_their_buffers(tmp_path):
    pa = pytest.importorskip("pyarrow")
    text = pa.array(["zero", "ü", "", "b", "zero"])
    for labels in (text, text.cast(pa.large_string()), pa.chunked_array([text, text]), text.dictionary_encode()):
        gz.write_ids(tmp_path / "x.gi", labels)
        d = gz.IdDictionary(tmp_path / "x.gi")
        assert d.labels(range(4)).tolist() == ["", "b", "zero", "ü"]
        assert d.indices(text.slice(1, 3)).tolist() == [3, 0, 1]
    assert d.indices(pa.array([], pa.string())).tolist() == []
    gz.write_ids(tmp_path / "x.gi", pa.array([5, 3, 5]))
    assert gz.IdDictionary(tmp_path / "x.gi").indices(pa.array([3, 5])).tolist() == [0, 1]
    with pytest.raises(ValueError, match="labels: expected no nulls, found 1"):
        gz.write_ids(tmp_path / "x.gi", pa.array(["a", None]))


def test_shapes_are_kept(movies):
    edges = np.array([["", "tt0133093"], ["tt0068646", "tt0068646"], ["", ""]])
    assert movies.indices(edges).tolist() == [[0, 2], [1, 1], [0, 0]]
    assert movies.labels([[0, 1], [2, 2]]).tolist() == [["", "tt0068646"], ["tt0133093"] * 2]
    assert movies.indices([]).shape == (0,)
    assert movies.labels([]).shape == (0,)


def test_single_labels_are_plain_python(movies, tmp_path):
    assert (movies.index("tt0133093"), movies.label(1), movies.label(0)) == (2, "tt0068646", "")
    gz.write_ids(tmp_path / "i.gi", np.array([10, 20]))
    numbers = gz.IdDictionary(tmp_path / "i.gi")
    assert (numbers.index(20), numbers.label(0)) == (1, 10)
    assert type(movies.index("")) is int
    assert type(numbers.label(0)) is int
    assert type(movies.label(0)) is str


def test_membership_is_about_labels_of_the_kind(movies, tmp_path):
    assert "tt0133093" in movies
    assert "tt" not in movies
    assert 3 not in movies
    assert "\ud800" not in movies
    gz.write_ids(tmp_path / "i.gi", [10])
    numbers = gz.IdDictionary(tmp_path / "i.gi")
    assert 10 in numbers
    assert "10" not in numbers
    assert 2**70 not in numbers


def test_an_unknown_label_is_named_with_its_position(movies, tmp_path):
    with pytest.raises(KeyError, match=r"label 'tt1' at position 1 is not in .*movies\.gi"):
        movies.indices(["", "tt1", "tt2"])
    with pytest.raises(KeyError, match="label 'tt1' at position 0"):
        movies.index("tt1")
    with pytest.raises(KeyError, match="label '" + "ü" * 40 + "…' at position 0"):
        movies.index("ü" * 400)
    gz.write_ids(tmp_path / "i.gi", [10])
    with pytest.raises(KeyError, match=r"label -4 at position 2 is not in .*i\.gi"):
        gz.IdDictionary(tmp_path / "i.gi").indices([10, 10, -4])


def test_an_unknown_id_is_named_with_its_position(movies):
    with pytest.raises(IndexError, match=r"id 3 at position 1 is not in .*movies\.gi, which has 3 labels"):
        movies.labels([0, 3])
    with pytest.raises(IndexError, match="id -1 at position 0"):
        movies.label(-1)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a", 3], TypeError, r"labels\[1\]: expected text, found <class 'int'>"),
        (["a", None], TypeError, r"labels\[1\]: expected text, found <class 'NoneType'>"),
        (["a", "x\ud800"], ValueError, r"labels\[1\]: expected text, found a lone surrogate, which has no UTF-8"),
        ([b"a", b"\xff"], ValueError, r"label 1: expected UTF-8, found '\\xff'"),
        ([b"\xed\xa0\x80"], ValueError, r"label 0: expected UTF-8, found '\\xed\\xa0\\x80'"),
        ("text", TypeError, "labels: expected several labels, found one: 'text'"),
        (np.array([0.5]), TypeError, "labels: expected text, found float64"),
        ([1, 2.5], TypeError, "labels: expected integers, found float64"),
        ([1, "a"], TypeError, "labels: expected integers, found <U"),
        (np.array([2**63], dtype=np.uint64), IndexError, r"labels\[0\]: expected an integer below 2\^63, found"),
        ([2**70, 1], ValueError, rf"labels\[0\]: expected an integer of 64 bits, found {2**70}"),
    ],
    ids=lambda value: None if isinstance(value, type) else str(value)[:20],
)
def test_bad_labels_are_named_and_leave_the_target_alone(labels, error, message, tmp_path):
    gz.write_ids(tmp_path / "x.gi", ["old"])
    with pytest.raises(error, match=message):
        gz.write_ids(tmp_path / "x.gi", labels)
    assert gz.IdDictionary(tmp_path / "x.gi").label(0) == "old"
    assert os.listdir(tmp_path) == ["x.gi"]


def test_bad_options_are_named(tmp_path, movies):
    with pytest.raises(ValueError, match="kind: expected 'integer' or 'string', found 'float'"):
        IdBuilder(tmp_path / "x.gi", "float")
    with pytest.raises(ValueError, match="memory: expected at least 1048576 bytes, found 1000"):
        IdBuilder(tmp_path / "x.gi", "string", memory="1kB")
    with pytest.raises(FileNotFoundError):
        IdBuilder(tmp_path / "missing" / "x.gi", "string")
    with pytest.raises(TypeError, match="label: expected text, found 3"):
        movies.index(3)
    with pytest.raises(ValueError, match="verify: expected 'header' or 'full'"):
        gz.IdDictionary(movies.path, verify="some")
    builder = IdBuilder(tmp_path / "x.gi", "integer")
    builder.finish()
    for call in (builder.finish, lambda: builder.add([1])):
        with pytest.raises(ValueError, match=r"x\.gi: the builder is finished"):
            call()


def batches(labels, seed, count):
    """The labels in another order, in batches of other sizes."""
    rng = np.random.default_rng(seed)
    shuffled = [labels[i] for i in rng.permutation(len(labels))]
    cuts = np.sort(rng.integers(0, len(labels), count)).tolist()
    return [shuffled[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(labels)], strict=True)]


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_the_file_depends_on_the_set_of_labels_alone(kind, tmp_path):
    numbers = np.random.default_rng(1).integers(-(2**40), 2**40, 60_000)
    labels = numbers.tolist() if kind == "integer" else [f"node-{i}" for i in numbers.tolist()]
    labels += labels[:20_000]
    gz.write_ids(tmp_path / "expected.gi", labels)
    expected = (tmp_path / "expected.gi").read_bytes()
    try:
        for seed, (threads, memory) in enumerate([(1, "1GB"), (2, "1MiB"), (8, "1MiB"), (8, "2MB"), (1, "1MiB")]):
            gz.set_num_threads(threads)
            builder = IdBuilder(tmp_path / "x.gi", kind, memory=memory)
            for batch in batches(labels, seed, 7):
                builder.add(batch)
            report = builder.finish()
            assert (report.num_added, report.num_labels) == (80_000, len(set(labels)))
            assert (report.num_runs > 0) == (memory != "1GB")
            assert (tmp_path / "x.gi").read_bytes() == expected
            d = gz.IdDictionary(tmp_path / "x.gi", verify="full")
            np.testing.assert_array_equal(
                d.indices(labels), np.unique(np.array(labels, dtype=object), return_inverse=True)[1]
            )
    finally:
        gz.set_num_threads(0)


def test_labels_that_repeat_are_not_spilled(tmp_path):
    builder = IdBuilder(tmp_path / "x.gi", "string", memory="4MB")
    batch = [f"user {i}" for i in range(5000)]
    for _ in range(100):
        builder.add(batch)
    assert builder.finish() == (500_000, 5000, 0)


def test_an_aborted_builder_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), IdBuilder(tmp_path / "x.gi", "integer", memory=1 << 20) as builder:
        builder.add(np.arange(300_000))
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def run_child(code, *arguments, **options):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, **options)


BUILD = """
import resource, sys
import numpy as np
import graphzero as gz
from graphzero.ids import IdBuilder
kind, path, count, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
gz.set_num_threads(2)
text = np.array([b"label-%07d" % i for i in range(1000)])
def batch(i):
    numbers = (np.arange(i, i + 1000) * 7_919_999) % 100_000_007
    return numbers if kind == "integer" else [b"label-%09d" % n for n in numbers.tolist()]
batch(0)
used = int([line for line in open("/proc/self/status") if line.startswith("VmData")][0].split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + limit, used + limit))
builder = IdBuilder(path, kind, memory=16 << 20)
for i in range(0, count, 1000):
    builder.add(batch(i))
print(builder.finish().num_runs)
"""


@pytest.mark.no_asan
@pytest.mark.no_tsan
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_memory_stays_in_bounds(kind, tmp_path):
    """Three million labels: 24 MB of integers, 45 MB of text and as much again to find it, in 16 MB and some."""
    count, path = 3_000_000, tmp_path / "x.gi"
    run = run_child(BUILD, kind, path, count, 96 << 20)  # threads of the pool take 8 MB of stack each
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 1
    with gz.IdDictionary(path, verify="full") as d:
        assert len(d) == count
        assert d.nbytes > 25_000_000


@posix_only(reason=NO_LIMITS)
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_a_full_disk_is_an_error_and_leaves_nothing(kind, tmp_path):
    code = """
import resource, signal, sys
import graphzero as gz
from graphzero.ids import IdBuilder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
labels = list(range(200_000)) if sys.argv[1] == "integer" else [f"label {i}" for i in range(200_000)]
try:
    with IdBuilder(sys.argv[2], sys.argv[1], memory=1 << 20) as builder:
        builder.add(labels)
except OSError as error:
    print(error.errno, error.strerror)
"""
    for limit in (100_000, 1_650_000 if kind == "integer" else 2_500_000):  # in the runs, in the file
        run = run_child(code, kind, tmp_path / "x.gi", limit)
        assert (run.returncode, run.stdout) == (0, "27 cannot write: File too large\n"), run.stderr
        assert os.listdir(tmp_path) == []


def test_a_killed_builder_leaves_nothing_at_the_target(tmp_path):
    code = """
import sys, time
import numpy as np
from graphzero.ids import IdBuilder
builder = IdBuilder(sys.argv[1], "integer", memory=1 << 20)
builder.add(np.arange(500_000))
print("ready", flush=True)
time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path / "x.gi"], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert not (tmp_path / "x.gi").exists()
    gz.write_ids(tmp_path / "x.gi", [1])
    assert os.listdir(tmp_path) == ["x.gi"]


def test_runs_go_to_the_folder_that_was_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError) as error,
        IdBuilder(tmp_path / "x.gi", "integer", memory=1 << 20, tmp_dir=tmp_path / "missing") as builder,
    ):
        builder.add(np.arange(500_000))
    assert error.value.filename == str(tmp_path / "missing")


def cold(path):
    """Mount a dictionary that is not in the page cache; pages that are mapped would stay there."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return gz.IdDictionary(path)


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_a_cold_dictionary_answers_as_a_warm_one(kind, tmp_path):
    numbers = np.random.default_rng(2).permutation(3_000_000)
    labels = numbers * 5 if kind == "integer" else np.char.add("label-", (numbers[:700_000] * 3).astype(str))
    gz.write_ids(tmp_path / "x.gi", labels)
    path, asked = tmp_path / "x.gi", labels[:20_000]
    with gz.IdDictionary(path) as d:
        assert d.nbytes > 16 << 20
        warm = d.indices(asked)
    with cold(path) as d:
        np.testing.assert_array_equal(d.indices(asked), warm)
    with cold(path) as d:
        np.testing.assert_array_equal(d.labels(warm).astype(labels.dtype), asked)
    absent = asked + 1 if kind == "integer" else np.char.add(asked, "x")
    with cold(path) as d:
        found = d.indices(np.concatenate([asked, absent]), default=-1)
    np.testing.assert_array_equal(found, np.concatenate([warm, np.full(len(asked), -1)]))


def test_it_is_mounted_like_the_other_files(movies):
    assert repr(movies) == f"IdDictionary({movies.path!r}: 3 string labels, {movies.nbytes / 1000:.1f} kB)"
    assert [file.path for file in movies.memory_report().files] == [movies.path]
    assert movies.resident_bytes() in (None, movies.nbytes)
    assert movies.format == "1"
    with movies as d:
        assert d.index("") == 0
    assert repr(movies) == f"IdDictionary({movies.path!r}, closed)"
    for call in (lambda: movies.index(""), lambda: "x" in movies, lambda: len(movies), lambda: movies.label(0)):
        with pytest.raises(ValueError, match="this IdDictionary is closed"):
            call()


def test_pickle_reopens_and_refuses_a_changed_file(movies):
    pickled = pickle.dumps(movies)
    assert pickle.loads(pickled).index("tt0133093") == 2
    gz.write_ids(movies.path, ["other"])
    with pytest.raises(gz.FormatError, match="changed since it was pickled"):
        pickle.loads(pickled)
    assert movies.label(1) == "tt0068646"  # the old file stays mounted


def test_a_file_that_shrinks_is_an_error(tmp_path):
    gz.write_ids(tmp_path / "x.gi", np.arange(100_000))
    d = gz.IdDictionary(tmp_path / "x.gi")
    os.truncate(tmp_path / "x.gi", 8192)
    with pytest.raises(OSError, match="the file shrank while it was mapped"):
        d.indices(np.arange(100_000))


@posix_only(reason=NO_USAGE)
def test_opening_costs_nothing_whatever_the_size(tmp_path):
    gz.write_ids(tmp_path / "x.gi", np.arange(2_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    for _ in range(100):
        gz.IdDictionary(tmp_path / "x.gi").close()
    assert time.process_time() - start < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096


def test_a_data_set_knows_its_labels(tmp_path):
    gz.write_ids(tmp_path / "users.gi", [900, 7])
    with gz.DatasetWriter(tmp_path / "ds") as w:
        w.add_nodes({"year": [1999, 1972]}, type="movie", ids=["tt0133093", "tt0068646"])
        w.add_nodes(type="user", ids=tmp_path / "users.gi")
        w.add_nodes(type="genre", num_nodes=4)
        w.add_edges([0, 1], [1, 0], type=("user", "rates", "movie"))
    with gz.open(tmp_path / "ds") as ds:
        assert ds.nodes["user"].num_nodes == 2
        assert ds.node_index("tt0133093", of="movie") == 1
        assert ds.node_label(0, of="movie") == "tt0068646"
        assert ds.features("year", of="movie").get_data(ds.node_index("tt0133093", of="movie")) == 1999
        assert (ds.node_index(900, of="user"), ds.node_label(0, of="user")) == (1, 7)
        assert isinstance(ds.nodes["movie"].ids, gz.IdDictionary)
        assert ds.nodes["genre"].ids is None
        assert ds.nodes["user"].ids in list(ds.stores())
        assert (ds.node_index(3, of="genre"), ds.node_label(np.int32(2), of="genre")) == (3, 2)
        with pytest.raises(TypeError, match="label: expected an integer, found 'comedy'"):
            ds.node_index("comedy", of="genre")
        for wrong in (4, -1):
            with pytest.raises(KeyError, match=f"ds: expected a label of 'genre', an id below 4, found {wrong}"):
                ds.node_index(wrong, of="genre")
            with pytest.raises(IndexError, match=f"ds: expected an id of 'genre' below 4, found {wrong}"):
                ds.node_label(wrong, of="genre")
        with pytest.raises(ValueError, match="has several node types"):
            ds.node_label(0)
        with pytest.raises(ValueError, match="labels are those of nodes"):
            ds.node_index(0, of=("user", "rates", "movie"))
        with pytest.raises(KeyError, match="label 'tt1' at position 0"):
            ds.node_index("tt1", of="movie")
        assert pickle.loads(pickle.dumps(ds)).node_label(1, of="movie") == "tt0133093"
    assert ds.nodes["movie"].ids.closed
    checks = gz.verify(tmp_path / "ds")
    assert all(check.holds for check in checks)
    assert "nodes/movie/ids.gi" in {check.file for check in checks}


def test_labels_that_do_not_match_the_nodes_are_refused(tmp_path):
    writer = gz.DatasetWriter(tmp_path / "ds")
    with pytest.raises(ValueError, match="ids of 'movie': expected 3 labels, found 2"):
        writer.add_nodes({"year": [1, 2, 3]}, type="movie", ids=["a", "b"])
    writer.abort()


@pytest.mark.parametrize("store", [gz.Graph, gz.FeatureStore])
def test_another_store_points_to_the_right_one(tmp_path, store):
    gz.write_ids("labels.gi", ["a"])
    with pytest.raises(gz.FormatError, match=r"labels.gi: is an id dictionary \(.gi\), .*: open it with IdDictionary"):
        store("labels.gi")
