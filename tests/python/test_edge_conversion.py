"""Converting edges: any text, any option, any size, against the slow oracle."""

import bz2
import gc
import glob
import gzip
import io
import lzma
import os
import pathlib
import subprocess
import sys
import threading
import time as clock

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import files
import graphzero as gz
import oracle
from graphzero.convert.estimate import estimate_edges
from systems import NO_DESCRIPTORS, NO_LIMITS, NO_PIPES, NO_REPLACING, NO_USAGE, interrupt, posix_only, start


def entries(graph, direction):
    """All (neighbour, edge id) lists of an index."""
    index = graph.index(direction)
    edge_ids = index.edge_ids if index.edge_ids is not None else np.arange(graph.num_edges)
    pairs = list(zip(index.indices.tolist(), edge_ids.tolist(), strict=True))
    return [pairs[index.indptr[v] : index.indptr[v + 1]] for v in range(len(index.indptr) - 1)]


def write(path, text):
    pathlib.Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


TINY = [(0, 1), (0, 2), (1, 2), (3, 0)]
TINY_TEXTS = {
    "commas": "0,1\n0,2\n1,2\n3,0\n",
    "tabs": "0\t1\n0\t2\n1\t2\n3\t0\n",
    "runs of blanks": "0   1\n0 \t 2\n 1 2\n3  0  \n",
    "semicolons": "0;1\n0;2\n1;2\n3;0\n",
    "header": "source,target\n0,1\n0,2\n1,2\n3,0\n",
    "comments": "# SNAP\n% or this\n#\n0 1\n0 2\n# in the middle\n1 2\n3 0\n",
    "carriage returns": "0,1\r\n0,2\r\n1,2\r\n3,0\r\n",
    "byte-order mark": "\ufeff0,1\n0,2\n1,2\n3,0\n",
    "quotes": '"0","1"\n"0","2"\n1,"2"\n3,0\n',
    "spaces after commas": "0, 1\n0, 2\n1 ,2\n 3 , 0\n",
    "plus signs": "+0,1\n0,+2\n1,2\n3,0\n",
    "no newline at the end": "0,1\n0,2\n1,2\n3,0",
    "blank lines": "\n0,1\n\n\n0,2\n   \n1,2\n3,0\n\n",
    "header with byte-order mark and comments": "\ufeff# c\nfrom;to\n\n0;1\n0;2\n1;2\n3;0",
    "leading zeros": "00,01\n0,2\n0000000000000000001,2\n3,0\n",
}


@pytest.mark.parametrize("name", TINY_TEXTS)
def test_one_graph_in_every_dress(tmp_path, name):
    report = gz.convert_edges(write("e.txt", TINY_TEXTS[name]), "g.gl")
    assert (report.num_rows, report.num_edges, report.num_src_nodes) == (4, 4, 4)
    g = gz.Graph("g.gl", verify="full")
    assert entries(g, "out") == [[(1, 0), (2, 1)], [(2, 2)], [], [(0, 3)]]
    assert entries(g, "in") == [[(3, 3)], [(0, 0)], [(0, 1), (1, 2)], []]


def test_the_converter_writes_what_write_graph_writes(tmp_path):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 300, (2, 5000))
    weight, time = rng.random(5000).astype(np.float32), rng.integers(-50, 50, 5000)
    for options in ({}, {"directed": False}, {"index": "in"}, {"num_nodes": (400, 500)}):
        for extra in ({}, {"weight": weight}, {"time": time}, {"weight": weight, "time": time}):
            gz.write_graph("a.gl", src, dst, **options, **extra)
            gz.convert_edges((src, dst, extra.get("weight"), extra.get("time")), "b.gl", **options, memory="32MiB")
            assert pathlib.Path("a.gl").read_bytes() == pathlib.Path("b.gl").read_bytes(), (options, list(extra))


edge_lists = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 3), st.integers(-2, 2)), min_size=1, max_size=60
)


@settings(max_examples=80, deadline=None)
@given(
    edges=edge_lists,
    directed=st.booleans(),
    drop_duplicates=st.booleans(),
    drop_loops=st.booleans(),
    timed=st.booleans(),
    index=st.sampled_from(["both", "out", "in"]),
    delimiter=st.sampled_from([",", "\t", " ", ";"]),
    threads=st.sampled_from([1, 2, 8]),
)
def test_every_option_against_the_oracle(
    tmp_path_factory, edges, directed, drop_duplicates, drop_loops, timed, index, delimiter, threads
):
    folder = tmp_path_factory.mktemp("convert")
    text = "".join(delimiter.join(map(str, edge)) + "\n" for edge in edges)
    write(folder / "e.txt", text)
    report = gz.convert_edges(
        folder / "e.txt",
        folder / "g.gl",
        directed=directed,
        duplicates="drop" if drop_duplicates else "keep",
        weight=2,
        time=3 if timed else None,
        self_loops="drop" if drop_loops else "keep",
        index=index,
        threads=threads,
        memory="32MiB",
        num_nodes=13,
    )
    g = gz.Graph(folder / "g.gl", verify="full")
    src, dst, weight, time = (list(column) for column in zip(*edges, strict=True))
    directions = ("out", "in") if not directed or index == "both" else (index,)
    for direction in directions:
        found = g.index(direction)
        ids = found.edge_ids if found.edge_ids is not None else np.arange(g.num_edges)
        for node in range(13):
            expected = oracle.list_of(
                node, src, dst, direction=direction, directed=directed, time=time if timed else None
            )
            if drop_loops:
                expected = [(neighbour, edge) for neighbour, edge in expected if neighbour != node]
            if drop_duplicates:
                kept = {}
                for neighbour, edge in expected:
                    kept.setdefault((neighbour, time[edge]) if timed else neighbour, (neighbour, edge))
                expected = list(kept.values())
            part = slice(found.indptr[node], found.indptr[node + 1])
            assert list(zip(found.indices[part].tolist(), ids[part].tolist(), strict=True)) == expected
            assert found.weights[part].tolist() == [weight[edge] for _, edge in expected]
            if timed:
                assert found.times[part].tolist() == [time[edge] for _, edge in expected]
        stored = files.read_gl((folder / "g.gl").read_bytes()).arrays
        sums = stored[f"{direction if directed else 'out'}_weight_sums"]
        assert sums.tolist() == oracle.weight_sums(found.indptr.tolist(), found.weights.tolist())
    assert report.num_rows == len(edges)
    assert report.num_self_loops == sum(u == v for u, v, _, _ in edges)
    assert report.num_edges == g.num_edges
    assert (report.smallest_id, report.largest_id) == (min(src + dst), max(src + dst))


@pytest.mark.parametrize("opener", [gzip.open, bz2.open, lzma.open], ids=["gzip", "bzip2", "xz"])
def test_compressed_text_is_streamed(tmp_path, opener):
    with opener("e.csv.z", "wt") as file:
        file.write("src,dst\n" + "".join(f"{i},{i * 7 % 5000}\n" for i in range(5000)))
    gz.convert_edges("e.csv.z", "g.gl")
    g = gz.Graph("g.gl", verify="full")
    assert g.num_edges == 5000
    assert g.neighbors(1234).tolist() == [1234 * 7 % 5000]


def test_zstd_text_is_streamed(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    with pyarrow.output_stream("e.zst", compression="zstd") as file:
        file.write(b"0,1\n1,2\n")
    assert gz.convert_edges("e.zst", "g.gl").num_edges == 2


def test_blocks_of_a_stream_are_one_text(tmp_path):
    """Lines cut by a block belong together, and line numbers count on."""
    from graphzero.convert.text import line_blocks

    lines = [f"{i} {i + 1}" for i in range(3000)]
    with open(write("e.txt", "\n".join(lines)), "rb") as file:
        assert b"".join(line_blocks(file, "e.txt", 97)).decode().splitlines() == lines
    lines[2500] = "oops 1"
    with gzip.open("e.gz", "wt") as file:
        file.write("# comment\n" + "\n".join(lines))
    with pytest.raises(ValueError, match=r"e.gz: line 2502: expected a node id, found 'oops': \"oops 1\""):
        gz.convert_edges("e.gz", "g.gl", memory="32MiB")


def test_many_files_a_glob_and_a_pipe(tmp_path):
    for i in range(3):
        write(f"part-{i}.csv", f"src,dst\n{i},{i + 1}\n")
    for source in ("part-*.csv", sorted(glob.glob("part-*.csv")), [pathlib.Path(f"part-{i}.csv") for i in range(3)]):
        gz.convert_edges(source, "g.gl")
        assert entries(gz.Graph("g.gl"), "out") == [[(1, 0)], [(2, 1)], [(3, 2)], []]
    with pytest.raises(FileNotFoundError, match=r"none-\*.csv: expected files that match, found none"):
        gz.convert_edges("none-*.csv", "g.gl")
    read, sent = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(sent, b"0 1\n1 0\n"), os.close(sent)))
    writer.start()
    with os.fdopen(read, "rb") as pipe:
        assert gz.convert_edges(pipe, "p.gl").num_edges == 2
    writer.join()


@posix_only(reason=NO_PIPES)
def test_a_named_pipe(tmp_path):
    os.mkfifo("fifo")
    writer = threading.Thread(target=lambda: pathlib.Path("fifo").write_text("0,1\n"))
    writer.start()
    assert gz.convert_edges("fifo", "f.gl").num_edges == 1
    writer.join()


def test_columns_by_name_and_position(tmp_path):
    write("e.csv", "time,to,w,from\n5,1,0.5,0\n7,2,1.5,1\n")
    report = gz.convert_edges("e.csv", "g.gl", src="from", dst="to", weight="w", time=0)
    g = gz.Graph("g.gl")
    assert g.neighbors(0).tolist() == [1]
    assert g.weights.tolist() == [0.5, 1.5]
    assert g.times.tolist() == [5, 7]
    assert report.unused_columns == ()
    assert gz.convert_edges("e.csv", "h.gl", src=3, dst=1).unused_columns == ("time", "w")
    assert "not used    columns time, w" in str(gz.convert_edges("e.csv", "h.gl", src=3, dst=1))
    with pytest.raises(ValueError, match="e.csv: src: expected a column 'nope', found 4 columns: time, to, w, from"):
        gz.convert_edges("e.csv", "g.gl", src="nope")
    with pytest.raises(ValueError, match="e.csv: weight: expected column 9, found 4 columns"):
        gz.convert_edges("e.csv", "g.gl", weight=9)
    write("n.csv", "0,1\n")
    with pytest.raises(ValueError, match="n.csv: src: expected a column 'a', found 2 columns, without a header"):
        gz.convert_edges("n.csv", "g.gl", src="a")


BAD_LINES = [
    ("-1,2", "expected a node id, found '-1'"),
    ("1,-2", "expected a node id, found '-2'"),
    ("x,2", "expected a node id, found 'x'"),
    ("1.0,2", "expected a node id, found '1.0'"),
    ("1e3,2", "expected a node id, found '1e3'"),
    ("99999999999999999999,2", r"expected a node id below 2\^59, found '99999999999999999999'"),
    ("18446744073709551615,2", r"expected a node id below 2\^59"),
    ("9223372036854775808,2", r"expected a node id below 2\^59"),
    ("12345678901234567890123,2", r"expected a node id below 2\^59"),
    ("1", "expected 2 columns, found 1"),
    ("1,2,3", "expected 2 columns, found 3"),
    ("1,", "expected a node id, found ''"),
    (",2", "expected a node id, found ''"),
    ("1 2", "expected 2 columns, found 1"),
    ("x" * 5000 + ",2", "expected a node id, found 'x+"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
@pytest.mark.parametrize("position", [2, 2000])
def test_a_bad_line_is_named_or_skipped(tmp_path, line, message, position):
    lines = ["0,1"] * 3000
    lines[position - 1] = line
    write("e.csv", "\n".join(lines) + "\n")
    write("g.gl", b"precious")
    with pytest.raises(ValueError, match=rf"^e.csv: line {position}: {message}"):
        gz.convert_edges("e.csv", "g.gl")
    assert pathlib.Path("g.gl").read_bytes() == b"precious"
    assert sorted(os.listdir()) == ["e.csv", "g.gl"]
    report = gz.convert_edges("e.csv", "g.gl", bad_lines="skip")
    assert (report.num_rows, report.num_bad_lines, report.first_bad_lines[0].line) == (2999, 1, position)
    assert report.first_bad_lines[0].text.startswith(line[:80])
    assert "1 skipped" in str(report)


def test_the_first_bad_line_is_named_whatever_the_threads(tmp_path):
    lines = [f"{i},{i}" for i in range(400_000)]
    for position in (123_456, 200_000, 399_999):
        lines[position] = f"bad{position},0"
    write("e.csv", "\n".join(lines))
    for threads in (1, 2, 8):
        with pytest.raises(ValueError, match="line 123457: .*'bad123456'"):
            gz.convert_edges("e.csv", "g.gl", threads=threads)
    report = gz.convert_edges("e.csv", "g.gl", bad_lines="skip", threads=8)
    assert [bad.line for bad in report.first_bad_lines] == [123_457, 200_001, 400_000]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0,1,nan\n", {"weight": 2}, "line 1: expected a weight that is finite and not negative, found 'nan'"),
        ("0,1,inf\n", {"weight": 2}, "expected a weight that is finite and not negative, found 'inf'"),
        ("0,1,1\n0,1,-2\n", {"weight": 2}, "line 2: expected a weight .* found '-2'"),
        ("0,1,1e50\n", {"weight": 2}, "expected a weight .* found '1e50'"),
        ("0,1,\n", {"weight": 2}, "expected a weight .* found ''"),
        ("0,1,soon\n", {"time": 2}, "expected an integer time, found 'soon'"),
        ("0,1,1.5\n", {"time": 2}, "expected an integer time, found '1.5'"),
        ("0,1,5\n0,1\n", {"weight": 2}, "line 2: expected 3 columns, found 2"),
        ("0\n1\n", {}, "expected at least two columns, found 1 in line 1"),
        ("0,1\n2,7\n", {"num_nodes": 7}, "edge 1: expected a destination id below num_nodes = 7, found 7"),
        ("8,1\n", {"num_nodes": (5, 9)}, "edge 0: expected a source id below num_nodes = 5, found 8"),
        ("0,1\n", {"num_nodes": -1}, r"num_nodes: expected 0 to 2\^59, found -1"),
        ("0,1000000000000\n", {}, "the largest id is 1000000000000, but there are only 1 edges: the ids look sparse"),
        ("0,1\n", {"duplicates": True}, "duplicates: expected 'keep' or 'drop', found True"),
        ("0,1\n", {"bad_lines": "ignore"}, "bad_lines: expected 'raise' or 'skip', found 'ignore'"),
        ("0,1\n", {"self_loops": "no"}, "self_loops: expected 'keep' or 'drop', found 'no'"),
        ("0,1\n", {"index": "all"}, "index: expected 'both', 'out' or 'in', found 'all'"),
        ("0,1\n", {"memory": "1MB"}, "memory: expected at least 32 MB, found 1000000 bytes"),
        ("0,1\n", {"memory": "lots"}, "expected a size such as '2GB' or '512MiB', found 'lots'"),
        ("0,1\n", {"edge_ids": False}, "edge ids can be left out of a directed graph with one index only"),
        ("0,1\n", {"num_nodes": (2, 2), "directed": False}, "a bipartite graph is directed"),
    ],
)
def test_bad_values_and_options_are_named(tmp_path, text, options, message):
    write("e.csv", text)
    with pytest.raises((ValueError, IndexError), match=message):
        gz.convert_edges("e.csv", "g.gl", **options)
    assert os.listdir() == ["e.csv"]


def test_bad_arrays_are_named(tmp_path):
    for src, message in [([0, -3], "edge 1: expected a source id from 0 to .*, found -3")]:
        with pytest.raises(IndexError, match=message):
            gz.convert_edges((src, [0, 0]), "g.gl")
    with pytest.raises(ValueError, match="edge 0: expected a weight that is finite and not negative, found nan"):
        gz.convert_edges(([0], [0], [np.nan]), "g.gl")
    with pytest.raises(TypeError, match="expected integer ids, found labels; give ids='map' to number them"):
        gz.convert_edges((np.array(["a"]), np.array(["b"])), "g.gl", ids="dense")


def test_small_weights_become_zero_and_long_ones_are_rounded(tmp_path):
    write("e.csv", "0,1,1e-60\n0,2,0.1234567890123456789\n0,3,+2.5\n")
    gz.convert_edges("e.csv", "g.gl", weight=2)
    assert gz.Graph("g.gl").weights.tolist() == [0.0, np.float32(0.1234567890123456789), 2.5]


def test_an_empty_source_is_an_empty_graph(tmp_path):
    for text in ("", "\n\n", "# nothing\n", "src,dst\n"):
        report = gz.convert_edges(write("e.csv", text), "g.gl")
        assert (report.num_rows, report.num_edges) == (0, 0)
        assert gz.Graph("g.gl", verify="full").num_nodes == 0


def test_missing_and_unusable_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing.csv"):
        gz.convert_edges("missing.csv", "g.gl")
    write("e.csv", "0,1\n")
    with pytest.raises(FileNotFoundError, match=r"nowhere"):
        gz.convert_edges("e.csv", "nowhere/g.gl")
    with pytest.raises(IsADirectoryError):
        gz.convert_edges("e.csv", tmp_path)
    with pytest.raises(ValueError, match="e.csv: is both the source and the target"):
        gz.convert_edges("e.csv", "./e.csv")
    assert pathlib.Path("e.csv").read_text() == "0,1\n"


def test_a_truncated_gzip_is_an_error(tmp_path):
    data = gzip.compress("".join(f"{i},{i}\n" for i in range(100_000)).encode())
    write("e.gz", data[: len(data) // 2])
    with pytest.raises(OSError, match=r"e.gz: cannot be decompressed, it is damaged or cut short"):
        gz.convert_edges("e.gz", "g.gl")
    assert os.listdir() == ["e.gz"]


def test_wide_ids_arrive_in_the_middle(tmp_path):
    """Records of four and of eight bytes meet in one index.

    Its offsets over 2^32 nodes would be 34 GB, so the nodes of the wide side are only named, not counted: the graph is
    bipartite with an index over the few.
    """
    far = 2**32 + 10
    src = np.arange(200_000) % 1000
    dst = np.arange(200_000) % 777
    dst[100_000:] += np.where(np.arange(100_000) % 3 == 0, far, 0)
    gz.convert_edges((src, dst), "g.gl", num_nodes=(1000, far + 777), index="out", memory="32MiB")
    g = gz.Graph("g.gl", verify="full")
    assert g.id_dtype == np.int64
    order = np.lexsort((dst, src))
    assert np.array_equal(g.indices, dst[order])
    assert np.array_equal(g.edge_ids, order)


@pytest.mark.parametrize("kind", ["hub", "one edge many times", "hub with times", "hub without edge ids"])
def test_skew_of_any_kind_fits_a_small_budget(tmp_path, kind):
    """Half of all edges at one node is more than a bucket can hold at once: it is split."""
    rng = np.random.default_rng(1)
    n = 1_500_000
    src = np.where(rng.random(n) < 0.5, 7, rng.integers(0, 1000, n))
    dst = rng.integers(0, 1000, n)
    time = rng.integers(0, 3, n) if kind == "hub with times" else None
    if kind == "one edge many times":
        src[: n // 2], dst[: n // 2] = 7, 9
    single = kind == "hub without edge ids"
    report = gz.convert_edges(
        (src, dst, None, time), "g.gl", memory="32MiB", index="out" if single else "both", edge_ids=not single
    )
    assert report.spilled > 0
    g = gz.Graph("g.gl", verify="full")
    order = np.lexsort((dst, time, src)) if time is not None else np.lexsort((dst, src))
    index = g.index("out")
    assert np.array_equal(index.indices, dst[order])
    if not single:
        assert np.array_equal(index.edge_ids, order)


def test_the_file_does_not_depend_on_threads_or_memory(tmp_path):
    rng = np.random.default_rng(2)
    edges = rng.integers(0, 5000, (400_000, 2))
    np.savetxt("e.txt", edges, fmt="%d")
    contents = set()
    for threads in (1, 2, 8):
        for memory in ("32MiB", "1GB"):
            gz.convert_edges("e.txt", "g.gl", threads=threads, memory=memory)
            contents.add(pathlib.Path("g.gl").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"directed": False},
        {"index": "in"},
        {"duplicates": "drop"},
        {"duplicates": "drop", "directed": False},
        {"self_loops": "drop"},
    ],
    ids=str,
)
def test_sums_of_weights_do_not_depend_on_where_lists_are_cut(tmp_path, options):
    """Half of the edges are those of one node, whose list comes in many parts; a quarter are one edge."""
    rng = np.random.default_rng(3)
    n = 400_000
    src, dst = rng.integers(0, 3000, (2, n))
    src[: n // 2] = 7
    src[n // 2 : 3 * n // 4], dst[n // 2 : 3 * n // 4] = 7, 9
    mixed = rng.permutation(n)
    src, dst, weight = src[mixed], dst[mixed], rng.lognormal(0, 8, n).astype(np.float32)
    contents = set()
    for threads, memory in ((1, "1GB"), (2, "64MiB"), (16, "32MiB")):
        report = gz.convert_edges((src, dst, weight), "g.gl", threads=threads, memory=memory, **options)
        contents.add(pathlib.Path("g.gl").read_bytes())
    assert report.spilled > 0  # what is cut is written to disk
    assert len(contents) == 1
    stored = files.read_gl(contents.pop()).arrays
    for side in ("out", "in"):
        if f"{side}_indptr" in stored:
            expected = oracle.weight_sums(stored[f"{side}_indptr"].tolist(), stored[f"{side}_weights"].tolist())
            assert stored[f"{side}_weight_sums"].tolist() == expected
    if "duplicates" not in options and "self_loops" not in options:
        gz.write_graph("w.gl", src, dst, weight=weight, **options)
        assert pathlib.Path("w.gl").read_bytes() == pathlib.Path("g.gl").read_bytes()


@pytest.mark.parametrize("options", [{}, {"directed": False}, {"index": "out"}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_estimate_counts_every_section(tmp_path, options, weighted):
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 1000, (2, 100_000))
    weight = rng.random(100_000, dtype=np.float32) if weighted else None
    gz.convert_edges((src, dst, weight), "g.gl", **options)
    found = sum(
        section.length
        for section in files.parse(pathlib.Path("g.gl").read_bytes(), files.MAGIC["gl"], files.NAMES).sections
        if not files.NAMES[section.kind].endswith("indptr")
    )
    np.savetxt("e.csv", np.stack([src, dst], 1), fmt="%d", delimiter=",")
    assert estimate_edges("e.csv", weight=2 if weighted else None, **options).final_disk == found


def test_edge_ids_are_left_out_where_they_are_positions(tmp_path):
    gz.convert_edges(write("s.csv", "0,1\n0,2\n1,0\n2,2\n"), "g.gl")
    g = gz.Graph("g.gl", verify="full")
    assert g.index("out").edge_ids is None
    assert g.index("in").edge_ids is not None
    gz.convert_edges(write("s.csv", "1,0\n0,1\n"), "without.gl", index="out", edge_ids=False)
    g = gz.Graph("without.gl", verify="full")
    assert g.edge_ids is None
    assert g.num_input_edges == 2


@posix_only(reason=NO_REPLACING)
def test_a_reader_is_not_disturbed(tiny, tiny_gl):
    gz.convert_edges(write("e.csv", "5,6\n"), tiny_gl)
    assert tiny.neighbors(0).tolist() == [1, 2]
    assert gz.Graph(tiny_gl).num_nodes == 7


@posix_only(reason=NO_USAGE)
def test_memory_stays_within_the_budget(tmp_path):
    rng = np.random.default_rng(3)
    np.savetxt("e.txt", rng.integers(0, 100_000, (2_000_000, 2)), fmt="%d")  # 48 MB of records for two indexes
    code = """
import resource, graphzero as gz
report = gz.convert_edges("e.txt", "g.gl", memory="32MiB")
assert report.spilled > 0, report
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    baseline = "import resource, graphzero; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    run = lambda text: int(
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    )
    assert run(code) - run(baseline) < 48
    assert all(check.holds for check in gz.verify("g.gl"))


SLOW = """
import numpy as np, graphzero as gz
def batches():
    rng = np.random.default_rng(0)
    for i in range(40):
        print(i, flush=True)
        yield rng.integers(0, 100_000, 100_000), rng.integers(0, 100_000, 100_000)
    print("sorting", flush=True)
gz.convert_edges(batches(), "g.gl", memory="32MiB")
print("done", flush=True)
"""


@pytest.mark.parametrize("phase", ["3", "20", "sorting"])
def test_a_killed_conversion_leaves_nothing_after_the_next(tmp_path, phase):
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == phase:
            break
    clock.sleep(0.02)
    process.kill()
    process.wait()
    process.stdout.close()
    assert not os.path.exists("g.gl")
    gz.convert_edges([(np.array([0]), np.array([1]))], "g.gl")
    assert os.listdir() == ["g.gl"]


@posix_only(reason=NO_LIMITS)
def test_a_full_disk_is_an_error_in_every_phase(tmp_path):
    write("e.txt", "".join(f"{i} {i * 17 % 60000}\n" for i in range(60_000)))
    code = """
import resource, signal, sys, graphzero as gz
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
try:
    gz.convert_edges("e.txt", "g.gl", memory="32MiB")
except OSError as error:
    print(error.strerror)
"""
    for limit in (1 << 12, 1 << 17, 1 << 20):
        out = subprocess.run(
            [sys.executable, "-c", code, str(limit)], capture_output=True, text=True, check=True
        ).stdout
        assert "File too large" in out
        assert os.listdir() == ["e.txt"]


def test_ctrl_c_ends_a_conversion_and_leaves_nothing(tmp_path):
    longer = SLOW.replace("range(40)", "range(400)")  # where it takes a second to begin the process that sends it
    process = start([sys.executable, "-c", longer], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == "10":
            break
    interrupt(process)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert os.listdir() == []


def test_classic_calls(tmp_path):
    write("e.csv", "src,dst,weight\n0,1,0.5\n0,2,1.5\n1,2,1\n5,1,3\n")
    gz.convert_csv_to_gl(input_csv="e.csv", output_bin="a.gl", directed=True)
    gz.convert_csv_to_gl(csv_path="e.csv", out_path="b.gl", directed=True)
    gz.convert_csv_to_gl("e.csv", "c.gl", True)
    a = gz.Graph("a.gl")
    assert a.get_weights(0).tolist() == [0.5, 1.5]
    assert pathlib.Path("a.gl").read_bytes() == pathlib.Path("b.gl").read_bytes() == pathlib.Path("c.gl").read_bytes()
    gz.convert_csv_to_gl("e.csv", "u.gl")
    u = gz.Graph("u.gl")
    assert (u.num_edges, u.directed) == (8, False)
    with pytest.raises(TypeError, match=r"convert_csv_to_gl: expected csv_path \(or input_csv\)"):
        gz.convert_csv_to_gl()


def test_the_classic_sample_gives_the_classic_arrays(tmp_path):
    sample = pathlib.Path(__file__).parents[1] / "data" / "graphzero02" / "edges_unweighted.csv"
    gz.convert_csv_to_gl(sample, "u.gl", directed=True)
    g = gz.Graph("u.gl")
    assert g.indptr.tolist() == [0, 3, 4, 5, 6, 6, 7]
    assert g.indices.tolist() == [1, 2, 2, 2, 0, 3, 1]


def test_progress_is_told_on_standard_error(tmp_path, capfd):
    write("e.csv", "0,1\n" * 1000)
    gz.convert_edges("e.csv", "g.gl", progress=True)
    assert "reading" in capfd.readouterr().err
    gz.convert_edges("e.csv", "g.gl")
    assert capfd.readouterr() == ("", "")


LABELS = [("tt2", "nm1"), ("tt1", "nm1"), ("ünï", "tt2"), ("tt1", "a b")]


@pytest.mark.parametrize("form", ["csv", "gzip", "arrays", "iterator"])
def test_text_ids_are_numbered_in_sorted_order(tmp_path, form):
    text = "from,to\n" + "".join(f"{src},{dst}\n" for src, dst in LABELS)
    source = {
        "csv": lambda: write("e.csv", text),
        "gzip": lambda: write("e.gz", gzip.compress(text.encode())),
        "arrays": lambda: tuple(np.array(column) for column in zip(*LABELS, strict=True)),
        "iterator": lambda: [tuple(np.array(column) for column in zip(*LABELS, strict=True))],
    }[form]()
    report = gz.convert_edges(source, "g.gl", ids="map")
    assert report.ids_path == "g.gi"
    ids = gz.IdDictionary("g.gi", verify="full")
    labels = sorted({label for edge in LABELS for label in edge}, key=str.encode)
    assert ids.labels(range(len(ids))).tolist() == labels
    g = gz.Graph("g.gl", verify="full")
    assert g.num_nodes == len(labels)
    found = [(labels[v], labels[u], edge) for v, entry in enumerate(entries(g, "out")) for u, edge in entry]
    assert sorted(found, key=lambda edge: edge[2]) == [(*edge, i) for i, edge in enumerate(LABELS)]
    assert sorted(name for name in os.listdir() if not name.startswith("e.")) == ["g.gi", "g.gl"]


def test_labels_in_a_plain_text_are_recognised(tmp_path):
    write("e.csv", "# movies\ntt1,nm2\ntt2,nm1\n")
    with pytest.raises(
        ValueError, match="e.csv: cannot tell whether the first line, tt1, nm2, is a header: give header="
    ):
        gz.convert_edges("e.csv", "movies.gl")
    report = gz.convert_edges("e.csv", "movies.gl", header=False)
    assert report.ids_path == "movies.gi"
    assert "labels in   movies.gi" in str(report)
    assert gz.IdDictionary("movies.gi").index("tt2") == 3
    with pytest.raises(TypeError, match="e.csv: expected integer ids, found labels; give ids='map' to number them"):
        gz.convert_edges("e.csv", "g.gl", ids="dense", header=False)
    with pytest.raises(
        ValueError, match="ids: expected 'auto', 'dense', 'map' or the path of a .gi file, found 'hash'"
    ):
        gz.convert_edges("e.csv", "g.gl", ids="hash", header=False)


def test_sparse_integers_are_numbered_by_value(tmp_path):
    write("e.txt", "1000000000000 5\n9 1000000000000\n5 9\n")
    gz.convert_edges("e.txt", "g.gl", ids="map", ids_path="nodes.gi")
    ids = gz.IdDictionary("nodes.gi")
    assert ids.kind == "integer"
    assert ids.labels([0, 1, 2]).tolist() == [5, 9, 1000000000000]
    assert entries(gz.Graph("g.gl"), "out") == [[(1, 2)], [(2, 1)], [(0, 0)]]
    gz.convert_edges([[10**15, 3]], "h.gl", ids="map")
    assert gz.IdDictionary("h.gi").label(1) == 10**15


def test_labels_with_weights_and_bad_lines(tmp_path):
    write("e.tsv", 'a\tb\t0.5\t7\n"x ""y"""\ta\t1\t8\nlonely\nb\ta\tmuch\t9\n')
    with pytest.raises(ValueError, match=r"e.tsv: line 3: expected 4 columns, found 1: \"lonely\""):
        gz.convert_edges("e.tsv", "g.gl", ids="map", weight=2, time=3)
    assert os.listdir() == ["e.tsv"]
    report = gz.convert_edges("e.tsv", "g.gl", ids="map", weight=2, time=3, bad_lines="skip")
    assert [bad.line for bad in report.first_bad_lines] == [3, 4]
    assert report.first_bad_lines[1].reason.startswith("expected a weight")
    assert gz.IdDictionary("g.gi").index('x "y"') == 2
    g = gz.Graph("g.gl")
    assert g.weights.tolist() == [0.5, 1.0]
    assert g.times.tolist() == [7, 8]


def test_a_failed_conversion_keeps_the_old_dictionary(tmp_path):
    gz.convert_edges(write("e.csv", "a,b\n"), "g.gl", header=False)
    write("bad.csv", "c,d\nbroken\n")
    with pytest.raises(ValueError, match="line 2"):
        gz.convert_edges("bad.csv", "g.gl", header=False)
    assert gz.IdDictionary("g.gi").labels([0, 1]).tolist() == ["a", "b"]
    assert sorted(os.listdir()) == ["bad.csv", "e.csv", "g.gi", "g.gl"]


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("dst,src\n0,1\n1,2\n", [(1, 0), (2, 1)]),
        (",src,dst\n0,5,6\n1,6,7\n", [(5, 6), (6, 7)]),
        ("id,target,source\n9,0,1\n8,1,2\n", [(1, 0), (2, 1)]),
        ("a,b\n0,1\n1,2\n", [(0, 1), (1, 2)]),
        ("From\tTo\n3\t4\n", [(3, 4)]),
    ],
)
def test_a_header_says_which_end_is_which_as_in_a_table(text, edges):
    with open("e.csv", "w") as file:
        file.write(text)
    gz.convert_edges("e.csv", "e.gl")
    index = gz.Graph("e.gl").index()
    src = np.repeat(np.arange(len(index.indptr) - 1), np.diff(index.indptr))
    assert list(zip(src.tolist(), index.indices.tolist(), strict=True)) == sorted(edges)


def test_a_first_column_without_a_name_is_refused():
    with open("e.csv", "w") as file:
        file.write(",a,b\n0,5,6\n1,6,7\n")
    message = (
        r"e.csv: the first column has no name, as if it numbered the rows: expected src= and dst=, two of a, b, or"
    )
    with pytest.raises(ValueError, match=message):
        gz.convert_edges("e.csv", "e.gl")
    gz.convert_edges("e.csv", "e.gl", src="a", dst="b")
    assert gz.Graph("e.gl").neighbors(5).tolist() == [6]


@pytest.mark.parametrize("text", ["src,dst\n7,8", "src,dst\n7,8\n", "# a\nsrc,dst\n7,8"])
@pytest.mark.parametrize("size", [1, 9, 1 << 20])
def test_a_header_alone_in_a_block_does_not_hide_the_edges_behind_it(text, size):
    class Slow(io.RawIOBase):
        def __init__(self):
            self.rest = text.encode()

        def readable(self):
            return True

        def read(self, count=-1):
            found, self.rest = self.rest[:size], self.rest[size:]
            return found

    report = gz.convert_edges(Slow(), "e.gl", header=True, src="src", dst="dst")
    assert report.num_edges == 1
    with gzip.open("e.csv.gz", "wt") as file:
        file.write(text)
    for options in ({"header": True}, {"ids": "map"}):
        assert gz.convert_edges("e.csv.gz", "e.gl", **options).num_edges == 1


def test_one_familiar_word_among_labels_is_no_header():
    with open("e.csv", "w") as file:
        file.write("to,be\nor,not\n")
    with pytest.raises(
        ValueError, match=r"e.csv: cannot tell whether the first line, to, be, is a header: give header="
    ):
        gz.convert_edges("e.csv", "e.gl")
    assert gz.convert_edges("e.csv", "e.gl", header=False).num_edges == 2
    assert gz.convert_edges("e.csv", "e.gl", header=True).num_edges == 1


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_bytes_that_nobody_decompresses_are_told(compress, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_bytes(compress(b"0,1\n"))
    problem = (
        "expected text, found data compressed with (gzip|bzip2|xz); decompress it first, or give the path of a file"
    )
    with open("e.csv", "rb") as stream, pytest.raises(ValueError, match=problem):
        gz.convert_edges(stream, "g.gl")
    (tmp_path / "twice.csv").write_bytes(gzip.compress(compress(b"0,1\n")))
    with pytest.raises(ValueError, match=problem):
        gz.convert_edges("twice.csv", "g.gl")
    (tmp_path / "e.csv").write_text("BZh9,b\n")
    with open("e.csv", "rb") as stream:
        assert gz.convert_edges(stream, "g.gl", header=False, ids="map").num_edges == 1


@posix_only(reason=NO_DESCRIPTORS)
def test_the_copy_of_a_stream_goes_with_the_call(tmp_path):
    """A copy is as large as the stream, and nothing shows that it waits for the garbage collector."""
    before = len(os.listdir("/proc/self/fd"))
    gc.disable()
    try:
        gz.convert_edges(io.BytesIO(b"zoe,mia\nmia,adam\n"), tmp_path / "g.gl", header=False, ids="map")
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("bipartite", [False, True])
def test_labels_of_a_stream_are_read_twice_from_a_copy(bipartite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "zoe,mia\nmia,adam\nzoe,adam\n"
    pathlib.Path("e.csv").write_text(text)
    gz.convert_edges("e.csv", "plain.gl", header=False, bipartite=bipartite)
    with open("e.csv", "rb") as stream:
        gz.convert_edges(stream, "open.gl", header=False, ids="map", bipartite=bipartite)
    gz.convert_edges(io.BytesIO(text.encode()), "bytes.gl", header=False, ids="map", bipartite=bipartite)
    options = ["--no-header", "--ids", "map", *(["--bipartite"] if bipartite else [])]
    command = [sys.executable, "-m", "graphzero", "convert", "-", "pipe.gl", *options]
    subprocess.run(command, input=text.encode(), check=True, capture_output=True)
    ends = [".gl", *([".src.gi", ".dst.gi"] if bipartite else [".gi"])]
    for name in ("open", "bytes", "pipe"):
        for end in ends:
            assert pathlib.Path(name + end).read_bytes() == pathlib.Path("plain" + end).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {
        "e.csv",
        *(name + end for name in ("plain", "open", "bytes", "pipe") for end in ends),
    }
