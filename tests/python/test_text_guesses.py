"""What a source looks like is guessed only where it is certain; else it is refused with what to pass."""

import gzip
import io
import os
import pathlib
import struct
import zipfile

import numpy as np
import pytest

import graphzero as gz
from graphzero.ids import IdDictionary
from systems import NO_BYTES, posix_only

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


FILES = ["e.csv", "e.csv.gz"]
IN_DOUBT = r"{}: cannot tell whether the first line, .*, is a header: give header=True or header=False"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "text",
    [
        "Alice,Bob\nInf,Carol\n",
        "Alice,Bob,hi\nCarol,Dave,42\n",
        "Alice,Bob\n3,Carol\n",
        "Alice,Bob\nCarol,Dave\n",
        "Alice,Bob\n",
        "u,v\nv,w\n",
        "head,tail\nfoot,nose\n",
        "to,be\nor,not\n",
        ",\n1,2\n",
        "NA,NA\n1,2\n",
        "user,item,rating\nu1,i7,4.5\n",
        "source,target\na,source\n",  # a node of that name
        "from,to\nto,be\n",
    ],
)
def test_an_edge_is_never_taken_for_a_header(text, name):
    edges_refused(write(name, text), IN_DOUBT.format(name), ids="map")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Alice,Bob\n1,2\n", {}),  # integers need no labels
        ("source,target\na,b\n", {}),
        ("Source_ID,Target_ID\na,b\n", {}),
        ("head,relation,tail\na,likes,b\n", {}),
        ("start_id,end_id\na,b\n", {}),
        ("user,item\na,b\n", {"src": "user", "dst": "item"}),
        ("user,item,rating\na,b,4.5\n", {"weight": 2}),  # no edge has such a weight
        ("user,item,when\na,b,17\n", {"time": 2}),
        ("user,item\na,b\n", {"header": True}),
    ],
)
def test_a_first_line_that_can_be_no_edge_is_a_header(text, options, name):
    assert gz.convert_edges(write(name, text), "g.gl", ids="map", **options).num_edges == 1
    assert len(IdDictionary("g.gi")) == 2


def test_familiar_names_say_which_columns_are_the_ends():
    assert edges_of(write("e.csv", "id,target_id,source_id\n9,0,3\n")) == [(3, 0)]
    assert edges_of(write("e.csv", "head,relation,tail\n0,7,1\n")) == [(0, 1)]


@pytest.mark.parametrize("text", ["NA,NA\n1,2\n", '"?","x"\n1,2\n', ",\n1,2\n", "x,null\n1,2\n"])
def test_a_row_of_missing_values_is_never_taken_for_a_header(text):
    features_refused(write("x.csv", text), IN_DOUBT.format("x.csv"), dtype="float32")
    gz.convert_features("x.csv", "y.gd", dtype="float32", header=True)
    assert gz.FeatureStore("y.gd").get_tensor().tolist() == [[1, 2]]


def test_a_long_header_is_the_header_of_the_lines_behind_it():
    """It fills a block, so that the first row comes with the next one."""
    count = 200_000
    for comment in ("", "# c\n" * 400_000):
        names = ",".join(f"name{i}" for i in range(count))
        rows = "".join(",".join([str(row)] * count) + "\n" for row in (1, 2))
        write("x.csv", names + "\n" + comment + rows)
        for header in (True, None):
            gz.convert_features("x.csv", "x.gd", dtype="float32", header=header, columns=["name7"])
            assert gz.FeatureStore("x.gd").get_tensor().tolist() == [[1], [2]]


OPEN_QUOTE = r"{}: line {}: expected a quote that closes in its line, found one that stays open: a line break inside"


@pytest.mark.parametrize("bad_lines", ["raise", "skip"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('0,1,"a\n5,6,b"\n2,3,x\n', 1),
        ('2,3,x\n4,5,y\n0,1,"a\n5,6,b"\n', 3),
        ('src,dst,"a\nb"\n0,1,5\n', 1),
        ('a,b\nc,d\nx,"y\nz,w"\n', 3),
        ('0 1 x\n2 3 "\n', 2),
    ],
)
def test_a_line_break_inside_quotes_makes_no_edges(text, line, name, bad_lines):
    options = {"ids": "map", "header": False} if text[0] == "a" else {}
    edges_refused(write(name, text), OPEN_QUOTE.format(name, line), bad_lines=bad_lines, **options)


@pytest.mark.parametrize("bad_lines", ["raise", "skip"])
def test_a_line_break_inside_quotes_makes_no_rows(bad_lines):
    text = '1,x\n2,x\n3,"a\n4,b"\n'
    message = OPEN_QUOTE.format("x.csv", 3)
    features_refused(write("x.csv", text), message, dtype="float32", columns=[0], bad_lines=bad_lines)


def test_quotes_inside_a_field_open_nothing():
    assert edges_of(write("e.csv", '0,1,5" pipe\n0,2,"a ""b"\n1,2,""\n3,0,x"\n')) == EDGES


def test_a_column_holds_one_thing():
    write("e.csv", "0,1,2\n")
    for options in ({"weight": 0}, {"time": 1}, {"weight": 2, "time": 2}):
        edges_refused("e.csv", r"e.csv: (weight|time): expected a column of its own, found \d", **options)


@pytest.mark.parametrize("text", ["1 -> 2\n2 -> 3\n", "1,->,2\n", "a - b\nc - d\n", "a : b\n"])
def test_an_arrow_is_no_node(text):
    write("e.csv", text)
    edges_refused("e.csv", r"e.csv: line 1: expected a node, found '\S+' in column 1; give src= and dst=", header=False)
    gz.convert_edges("e.csv", "g.gl", src=0, dst=2, header=False)


def test_leading_zeros_are_part_of_a_label_but_not_of_a_number():
    assert edges_of(write("e.csv", "007,1\n7,2\n")) == [(7, 1), (7, 2)]
    gz.convert_edges(write("e.csv", "a,007\nb,7\n"), "g.gl", header=False)
    assert IdDictionary("g.gi").labels(range(4)).tolist() == ["007", "7", "a", "b"]


@pytest.mark.parametrize("id", ["1e3", "nan", "Inf", "-1", "1.0", "9223372036854775808"])
def test_a_number_that_is_no_id_makes_no_labels(id):
    edges_refused(write("e.csv", f"{id},2\n3,4\n"), "e.csv: line 1: expected a node id")


def test_where_labels_are_asked_for_hashes_may_look_like_numbers():
    gz.convert_edges(write("e.csv", "1e3,2\n3,4\n"), "g.gl", ids="map")
    assert IdDictionary("g.gi").labels(range(4)).tolist() == ["1e3", "2", "3", "4"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_labels_in_one_of_several_files_make_labels_of_all(ending):
    files = [write(f"a.{ending}", "1,2\n"), write(f"b.{ending}", "x,y\n")]
    gz.convert_edges(files, "h.gl", header=False)
    assert IdDictionary("h.gi").labels(range(4)).tolist() == ["1", "2", "x", "y"]


def test_labels_of_a_compressed_file_are_numbered_as_those_of_a_plain_one():
    text = "".join(f"# {i}\n" for i in range(200_000)) + "b,a\nc,d\n"  # more than what is looked at, at once
    for name in ("e.csv", "e.csv.gz"):
        gz.convert_edges(write(name, text), f"{name}.gl", header=False)
        assert IdDictionary(f"{name}.gi").labels(range(4)).tolist() == ["a", "b", "c", "d"]
        assert gz.Graph(f"{name}.gl").neighbors(1).tolist() == [0]
    gz.convert_edges(write("n.csv.gz", "7,5\n"), "n.gl", header=False)
    assert gz.Graph("n.gl").num_nodes == 8
    with pytest.raises(TypeError, match="e.csv.gz: expected integer ids, found labels; give ids='map' to number them"):
        gz.convert_edges("e.csv.gz", "g.gl", header=False, ids="dense")


def test_labels_of_a_stream_are_asked_for():
    with pytest.raises(TypeError, match="stream: expected integer ids, found labels; give ids='map' to number them"):
        gz.convert_edges(io.BytesIO(b"a,b\nc,d\n"), "g.gl", header=False)


NO_UTF8 = r"{}: line {}: expected text in UTF-8, found the byte 0xe9 behind {} bytes of the line; .*iconv -f LATIN1"


@pytest.mark.parametrize("name", FILES)
def test_labels_and_headers_are_utf8(name):
    labels = {"header": False, "ids": "map"}
    write(name, "José,Bob\nx,y\n", "latin-1")
    edges_refused(name, NO_UTF8.format(name, 1, 3), **labels)
    write(name, "a,b\n" * 1000 + 'Bob,"José"\nc,d\n', "latin-1")
    edges_refused(name, NO_UTF8.format(name, 1001, 8), **labels)
    assert gz.convert_edges(name, "h.gl", bad_lines="skip", **labels).num_bad_lines == 1
    write(name, "source,target,é\n0,1,2\n", "latin-1")
    edges_refused(name, NO_UTF8.format(name, 1, 14))
    features_refused(name, NO_UTF8.format(name, 1, 14), dtype="float32")
    assert edges_of(write(name, "0,1,é\n0,2,é\n1,2,é\n3,0,é\n", "latin-1")) == EDGES  # a column that is not used


@pytest.mark.parametrize("name", FILES)
def test_zeros_are_no_text_and_end_no_message(name):
    zero = rf"{name}: line 1: expected text in UTF-8, found a zero behind {{}} bytes of the line; is it text"
    edges_refused(write(name, bytes(100)), zero.format(0))
    edges_refused(write(name, b"0,1\x00\n2,3\n"), zero.format(3))
    message = rf"{name}: line 2: expected a node id, found '1\\x002': \"1\\x002,3\""
    edges_refused(write(name, b"0,1\n1\x002,3\n"), message)
    edges_refused(
        write(name, b"0,1\n" + b"9" * 100_000 + b",3\n"), rf"{name}: line 2: .* found '9{{80}}…': \"9{{80}}…\"$"
    )


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_wider_characters_are_refused(encoding):
    edges_refused(write("e.csv", "src,dst\n0,1\n", encoding), "e.csv: expected text in UTF-8, found UTF-32; .*iconv")


@pytest.mark.parametrize("delimiter", ["1", '"', "\n", "\r", "\0"])
def test_a_delimiter_is_no_part_of_what_it_separates(delimiter):
    edges_refused(write("e.csv", "0,1\n"), "delimiter: expected a character that no number", delimiter=delimiter)


@posix_only(reason=NO_BYTES)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_names_of_files_need_not_be_utf8(suffix):
    name = os.fsdecode(b"caf\xe9.csv") + suffix
    assert edges_of(write(name, "0,1\n0,2\n1,2\n3,0\n")) == EDGES
    edges_refused(write(name, "0,1\n0,x\n"), f"{name}: line 2: expected a node id, found 'x'")


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
    # Files need less than the oldest pyarrow of pyproject.toml, which is the first that reads a table as a stream.
    pa = pytest.importorskip("pyarrow", "15" if form == "table" else None)
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
    pa = pytest.importorskip("pyarrow", "15")
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
