"""What a source looks like is guessed only where it is certain; else it is refused with what to pass."""

import gzip
import os
import pathlib
import struct
import zipfile

import numpy as np
import pytest

import graphzero as gz
from graphzero.ids import IdDictionary

EDGES = [(0, 1), (0, 2), (1, 2), (3, 0)]


def write(name, text, encoding="utf-8"):
    data = text if isinstance(text, bytes) else text.encode(encoding)
    pathlib.Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return name


def edges_of(source, **options):
    gz.convert_edges(source, "g.gl", **options)
    g = gz.Graph("g.gl")
    src = np.repeat(np.arange(g.num_src_nodes), np.diff(g.indptr))
    return sorted(zip(src.tolist(), g.indices.tolist(), strict=True))


def edges_refused(source, message, **options):
    """Refused, and the graph that was there is there."""
    gz.write_graph("g.gl", [0], [1], num_nodes=77)
    with pytest.raises(ValueError, match=message):
        gz.convert_edges(source, "g.gl", **options)
    assert gz.Graph("g.gl").num_nodes == 77
    assert sorted(name for name in os.listdir() if name.startswith("g.")) == ["g.gl"]


def features_refused(source, message, **options):
    gz.write_features("x.gd", [1.0])
    with pytest.raises(ValueError, match=message):
        gz.convert_features(source, "x.gd", **options)
    assert gz.FeatureStore("x.gd").get_tensor().tolist() == [1.0]


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
@pytest.mark.parametrize(
    "text",
    [
        "0,1\r0,2\r1,2\r3,0\r",
        "0,1,5\r0,2,6\r1,2,7\r",
        "src,dst\r0,1\r0,2\r",
        "# made by hand\r0,1\r0,2\r",
        "0 1\r0 2\r",
        "a,b\rc,d\r",
        "0,1\r\n0,2\r1,2\r\n3,0\r\n",
        "0,1\n# a\r0,2\n3,0\n",
        "0 1 note\n0 2 note\r1 2 note\n",
        "a,b\nc,d\rx\n",
    ],
)
def test_a_carriage_return_alone_ends_no_line(text, name):
    message = rf"{name}: line \d: expected lines that end with a line feed, found a carriage return alone; .*: tr"
    edges_refused(write(name, text), message)


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
@pytest.mark.parametrize("text", ["1,2\r3,4\r", "1 a\r2 b\n", "1,2\n# c\r3,4\n", "1,2\n3,4\r5,6\n"])
def test_a_carriage_return_alone_ends_no_row(text, name):
    features_refused(write(name, text), "found a carriage return alone", dtype="float32", columns=[0])


def test_a_long_file_of_old_macs_is_not_read_to_its_end():
    write("e.csv.gz", "0,1\r" * 2_000_000)
    edges_refused("e.csv.gz", "found a carriage return alone", memory="64MB")
    write("e.csv", "0,1\r" * 2_000_000)
    edges_refused("e.csv", "found a carriage return alone")


def test_returns_before_line_feeds_do_no_harm():
    assert edges_of(write("e.csv", "0,1\r\n0,2\r\r\n1,2\n3,0\r\n")) == EDGES
    assert edges_of(write("e.csv", "0,1\r\n0,2\r\n1,2\r\n3,0\r")) == EDGES
    gz.convert_features(write("x.csv", "1,2\r\r\n3,4\r\n"), "x.gd", dtype="float32")
    assert gz.FeatureStore("x.gd").get_tensor().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "text", ["0;1;0,5\n0;2;1,5\n", "src;dst;w\n0;1;0,5\n", "0\t1\t0,5\n", "0 1 0,5\n", "0|1|0,5\n", '"0";"1";"0,5"\n']
)
def test_a_decimal_comma_is_no_delimiter_and_no_weight(text):
    message = r"e.csv: line \d: expected a weight .*, found '0,5': a decimal comma; write 0.5"
    edges_refused(write("e.csv", text), message, weight=2)


def test_a_column_with_decimal_commas_may_be_left_out():
    assert edges_of(write("e.csv", "0;1;0,5\n0;2;1,5\n1;2;2\n3;0;1\n")) == EDGES


def test_an_id_with_a_decimal_comma_is_neither_id_nor_label():
    edges_refused(write("e.csv", "0,5;1\n1,5;2\n"), "e.csv: line 1: expected a node id, found '0,5'")


@pytest.mark.parametrize("text", ["0,5;1,5\n2,5;3,5\n", "0,5;1,5\n", "a;b\n0,5;1,5\n"])
def test_features_with_decimal_commas_are_refused(text):
    message = r"x.csv: line \d: column 1: expected a number, found '0,5': a decimal comma; write 0.5"
    features_refused(write("x.csv", text), message, dtype="float32")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("0 1 hello,world\n0 2 a\n1 2 b\n3 0 c\n", None),
        ("0,1,one; two\n0,2,x\n1,2,y\n3,0,z\n", None),
        ("0\t1\tone, two\n0\t2\tx\n1\t2\ty\n3\t0\tz\n", None),
        ('0;1;"a,b"\n0;2;x\n1;2;y\n3;0;z\n', None),
        ("0 | 1\n0 | 2\n1 | 2\n3 | 0\n", None),
        ("0|1\n0|2\n1|2\n3|0\n", None),
        ("0\t1 5\n0\t2 6\n1\t2 7\n3\t0 8\n", None),
        ("a;b\n0;1\n0;2\n1;2\n3;0\n", None),
        ("\ufeff0;1\n0;2\n1;2\n3;0\n", None),
        ("src,dst,2019\n0,1,5\n0,2,5\n1,2,5\n3,0,5\n", True),
    ],
)
def test_numbers_show_the_delimiter(text, columns):
    assert edges_of(write("e.csv", text), header=columns) == EDGES


@pytest.mark.parametrize("text", ["a;b,c\nd;e,f\n", "x\tThe Good, the Bad\ny\tUp, up\n", "a|b;c\nd|e;f\n"])
def test_two_delimiters_among_labels_are_refused(text):
    edges_refused(write("e.csv", text), r"e.csv: cannot tell whether .* separates the fields of .*: give delimiter=$")


def test_a_given_delimiter_settles_it():
    gz.convert_edges(write("e.csv", "x\tThe Good, the Bad\ny\tUp, up\n"), "g.gl", delimiter="\t", header=False)
    assert IdDictionary("g.gi").labels(range(4)).tolist() == ["The Good, the Bad", "Up, up", "x", "y"]


def test_labels_with_blanks_are_cut_at_their_delimiter():
    gz.convert_edges(write("e.csv", "source,target\nAda Lovelace,Alan Turing\n"), "g.gl")
    assert IdDictionary("g.gi").labels([0, 1]).tolist() == ["Ada Lovelace", "Alan Turing"]


def test_the_delimiter_of_the_header_counts_where_data_have_two():
    gz.convert_edges(write("e.csv", "source\ttarget\na\tb, c\nd\te, f\n"), "g.gl")
    assert IdDictionary("g.gi").labels(range(4)).tolist() == ["a", "b, c", "d", "e, f"]


@pytest.mark.parametrize("text", ["src,dst,2019\n0,1,5\n", "a,7\n3,4\n", "from 2019\n0 1\n"])
def test_a_first_line_with_text_over_numbers_may_be_a_header(text):
    edges_refused(write("e.csv", text), r"e.csv: cannot tell whether the first line, .*, is a header: give header=True")


def test_a_header_has_as_many_names_as_lines_have_fields():
    edges_refused(write("e.csv", "src,dst,w\n0,1\n"), "e.csv: line 2: expected 3 fields as in the header, found 2")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
def test_wide_characters_are_refused(encoding, name):
    message = rf"{name}: expected text in UTF-8, found UTF-16; .*iconv"
    edges_refused(write(name, "src,dst\n0,1\n", encoding), message)
    features_refused(name, message, dtype="float32")


def test_one_column_is_no_edge():
    edges_refused(write("e.csv", "1\n2\n"), "e.csv: expected at least two columns, found 1 .*; give delimiter=")
    edges_refused(write("e.csv", "1::2\n3::4\n"), "e.csv: expected at least two columns, found 1 .*; give delimiter=")


def test_quotes_hold_delimiters_and_byte_order_marks_do_no_harm():
    assert edges_of(write("e.csv", '\ufeff"src","dst","a;b\tc"\n"0","1","x;y"\n0,2,z\n1,2,z\n3,0,z\n')) == EDGES


def test_what_stands_behind_quotes_is_not_lost():
    edges_refused(write("e.csv", '0,1\n"2"5,3\n'), "e.csv: line 2: expected a node id, found '\"2\"5'")
    gz.convert_edges(write("f.csv", '"a"x,b\n"a" ,"c"\n"d""e",f\n'), "g.gl", header=False)
    assert IdDictionary("g.gi").labels(range(6)).tolist() == ['"a"x', "a", "b", "c", 'd"e', "f"]


def test_equal_column_names_need_positions():
    write("e.csv", "node,node\n0,1\n0,2\n1,2\n3,0\n")
    assert edges_of("e.csv") == EDGES  # the first two
    edges_refused(
        "e.csv", "e.csv: src: expected a column 'node', found 2 of them; give its position", src="node", dst=1
    )
    edges_refused("e.csv", "e.csv: expected two columns for the ends of an edge, found one for both: src=1", src=1)
    write("f.csv", "a,b\n0,1\n")
    edges_refused("f.csv", "f.csv: expected two columns for .*, found one for both: src='a', dst='a'", src="a", dst="a")
    edges_refused("f.csv", "f.csv: expected two columns for .*: src='b', dst=None", src="b")


def test_equal_column_names_of_features_need_positions():
    write("x.csv", "v,v\n1,2\n")
    features_refused(
        "x.csv", "x.csv: columns: expected one column 'v', found 2; give positions", columns="v", dtype="f4"
    )
    gz.convert_features("x.csv", "y.gd", columns=1, dtype="float32")
    assert gz.FeatureStore("y.gd").get_tensor().tolist() == [2]


@pytest.mark.parametrize("form", ["table", "parquet", "arrow"])
def test_equal_column_names_of_tables_are_refused(form):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = pa.table([pa.array([0, 1]), pa.array([1, 2]), pa.array([5, 6])], names=["node", "node", "w"])
    source = table
    if form == "parquet":
        parquet.write_table(table, "t.parquet")
        source = "t.parquet"
    elif form == "arrow":
        feather.write_feather(table.select(["w"]).append_column("w", pa.array([1, 2])), "t.arrow")
        source, table = "t.arrow", None
    edges_refused(source, r"expected one column '\w+', found 2; give them names that differ")
    features_refused(source, r"columns: expected one column '\w+', found 2; give positions, or names that differ")


def test_one_column_of_a_table_is_not_both_ends():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [0, 1], "b": [1, 2]})
    edges_refused(table, "Table: expected two columns for the ends of an edge, found 'a' for both", src="a", dst="a")
    edges_refused(table, "Table: expected two columns for the ends of an edge, found 'b' for both", src="b", dst=1)
    np.savez("e.npz", a=[0, 1], b=[1, 2])
    edges_refused("e.npz", "e.npz: expected two columns for .*, found 'a' for both", src="a", dst="a")


def npy(shape, dtype="<i8", data=b""):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


BAD_SHAPES = {
    "(2, -5)": r"expected extents that are not negative, found shape \(2, -5\)",
    "(-5, 2)": r"expected extents that are not negative, found shape \(-5, 2\)",
    f"(2, {2**63})": r"ends too early: expected \d+ bytes",
    f"({2**61}, 2)": r"ends too early: expected \d+ bytes",
}


@pytest.mark.parametrize("shape", BAD_SHAPES)
def test_shapes_that_cannot_be_are_refused(shape):
    message = BAD_SHAPES[shape]
    write("e.npy", npy(shape, data=bytes(64)))
    with zipfile.ZipFile("e.npz", "w") as archive:
        archive.writestr("edge_index.npy", npy(shape, data=bytes(64)))
    for name, start in (("e.npy", r"e.npy: "), ("e.npz", r"e.npz\[edge_index\]: ")):
        edges_refused(name, start + message)
        features_refused(name, start + message)


def test_an_empty_list_is_no_source():
    edges_refused([], "source: expected edges, or paths of files, found an empty list")
    edges_refused((), "source: expected edges, or paths of files, found an empty list")
    edges_refused(iter([]), "batches: expected at least one batch of edges, found none")
    features_refused([], "source: expected rows, found an empty list")
    features_refused(iter([]), "source: expected at least one block of rows")
    assert edges_of(np.empty((2, 0), int), num_nodes=3) == []


def test_a_glob_that_matches_nothing_is_no_source():
    for pattern in ("none-*.csv", "none-*.parquet", "none-*.npy"):
        gz.write_graph("g.gl", [0], [1], num_nodes=77)
        with pytest.raises(FileNotFoundError):
            gz.convert_edges(pattern, "g.gl")
        assert gz.Graph("g.gl").num_nodes == 77


def test_an_empty_folder_is_no_data_set(tiny_dataset):
    os.mkdir("empty")
    with pytest.raises(ValueError, match="empty: expected a data set of .*, found nothing"):
        gz.convert_dataset("empty", tiny_dataset, overwrite=True)
    assert gz.open(tiny_dataset).num_nodes == 4
