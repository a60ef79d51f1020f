"""Rows whose id column holds labels go where an id dictionary says."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import graphzero as gz

NAMES = ["adam", "mia, x", 'q"t', "zoe", "ünal"]  # in sorted order


@pytest.fixture
def names():
    gz.write_ids("names.gi", NAMES)
    return "names.gi"


@pytest.fixture
def numbers():
    gz.write_ids("numbers.gi", np.array([-5, 7, 7_000_000_000]))
    return "numbers.gi"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def rows_of(source, **options):
    gz.convert_features(source, "x.gd", **options)
    return gz.FeatureStore("x.gd").get_tensor().tolist()


TEXT = 'name,a,b\nzoe,1,2\n"mia, x",3,4\n  adam ,5,6\n"q""t",7,8\nünal,9,10\n'
BY_NAME = [[5, 6], [3, 4], [7, 8], [1, 2], [9, 10]]


@pytest.mark.parametrize("column", ["name", 0])
@pytest.mark.parametrize("threads", [1, 3])
def test_text_labels(names, column, threads):
    assert rows_of(write("f.csv", TEXT), id_column=column, ids=names, dtype="int64", threads=threads) == BY_NAME


def test_a_mounted_dictionary_and_compressed_text(names):
    with gzip.open("f.csv.gz", "wt", encoding="utf-8") as file:
        file.write(TEXT)
    assert rows_of("f.csv.gz", id_column="name", ids=gz.IdDictionary(names), dtype="float16") == BY_NAME


def test_blanks_between_fields(names):
    assert rows_of(write("f.txt", "0.5 adam\n1.5 \t zoe  \n"), id_column=1, ids=names, dtype="float32") == [
        [0.5], [0], [0], [1.5], [0],
    ]  # fmt: skip


def test_integer_labels_of_text(numbers):
    text = write("f.csv", "user,a\n7000000000,1\n-5,2\n+7,3\n")
    assert rows_of(text, id_column="user", ids=numbers, dtype="int32") == [[2], [3], [1]]


def test_labels_that_look_like_numbers_are_text():
    gz.write_ids("codes.gi", ["007", "7"])
    assert rows_of(write("f.csv", "7,1\n007,2\n"), id_column=0, ids="codes.gi", dtype="int32") == [[2], [1]]


def test_tables(names):
    table = pa.table({"a": [1, 2], "name": ["zoe", "adam"]})
    pa.parquet.write_table(table, "t.parquet")
    pa.feather.write_feather(table, "t.feather")
    coded = table.set_column(1, "name", table["name"].combine_chunks().dictionary_encode())
    for source in (table, "t.parquet", "t.feather", coded):
        assert rows_of(source, id_column="name", ids=names) == [[2], [0], [0], [1], [0]]
    sliced = pa.table({"a": [0, 1, 2, 3], "name": ["no", "zoe", "adam", "no"]}).slice(1, 2)
    assert rows_of(sliced, id_column="name", ids=names) == [[2], [0], [0], [1], [0]]


@pytest.mark.no_tsan  # polars' own allocator does not bear it
def test_a_frame_of_polars(names):
    import polars

    frame = polars.DataFrame({"a": [1, 2], "name": ["zoe", "adam"]})
    assert rows_of(frame, id_column="name", ids=names) == [[2], [0], [0], [1], [0]]


def test_integer_labels_of_tables(numbers):
    for kind in (pa.int64(), pa.uint64()):
        table = pa.table({"user": pa.array([7_000_000_000, 7], kind), "a": [1.5, 2.5]})
        assert rows_of(table, id_column="user", ids=numbers) == [[0], [2.5], [1.5]]


def test_absent_rows_are_counted(names):
    report = gz.convert_features(write("f.csv", "zoe,1\n"), "x.gd", id_column=0, ids=names, dtype="int8")
    assert (report.rows, report.absent_rows) == (5, 4)
    assert gz.convert_features("f.csv", "x.gd", id_column=0, ids=names, dtype="int8", dry_run=True).rows == 5


def test_many_rows_within_little_memory():
    rng = np.random.default_rng(1)
    order = rng.permutation(100_000)
    gz.write_ids("many.gi", [f"n{i:06}" for i in range(100_000)])
    write("f.csv", "".join(f"n{i:06},{i}\n" for i in order))
    gz.convert_features("f.csv", "x.gd", id_column=0, ids="many.gi", dtype="int64", memory="17MB")
    assert (gz.FeatureStore("x.gd").get_tensor()[:, 0] == np.arange(100_000)).all()


def test_an_unknown_label_is_named(names):
    text = write("f.csv", "# people\nname,a\nzoe,1\n\nbob,2\nadam,3\neve,4\n")
    with pytest.raises(gz.FormatError, match=r"^f.csv: line 5: expected a label of names.gi, found 'bob': bob,2$"):
        gz.convert_features(text, "x.gd", id_column="name", ids=names, dtype="int32")
    report = gz.convert_features(text, "x.gd", id_column="name", ids=names, dtype="int32", bad_lines="skip")
    assert [(bad.line, bad.text) for bad in report.first_bad_lines] == [(5, "bob,2"), (7, "eve,4")]
    assert report.absent_rows == 3
    table = pa.table({"name": ["zoe", "bob"], "a": [1, 2]})
    with pytest.raises(gz.FormatError, match=r"^Table: row 1: expected a label of names.gi, found 'bob'$"):
        gz.convert_features(table, "x.gd", id_column="name", ids=names)


def test_more_unknown_labels_than_are_kept_are_counted(names):
    text = write("f.csv", "".join(f"x{i},1\n" for i in range(250)))
    report = gz.convert_features(text, "x.gd", id_column=0, ids=names, dtype="int32", bad_lines="skip", threads=1)
    assert (report.num_bad_lines, len(report.first_bad_lines)) == (250, 100)


def test_a_label_is_there_once(names):
    with pytest.raises(gz.FormatError, match=r"f.csv: line 2: label 'zoe' was there before: zoe,2"):
        gz.convert_features(write("f.csv", "zoe,1\nzoe,2\n"), "x.gd", id_column=0, ids=names, dtype="int32")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zoe,1\n,2\n", "line 2: column 1: expected a label, found an empty field: ,2"),
        ('zoe,1\n"",2\n', 'line 2: column 1: expected a label, found an empty field: "",2'),
        ("zoe,1\nadam,x\n", "line 2: column 2: expected an integer, found 'x': adam,x"),
        ("zoe,1\nadam\n", "line 2: expected 2 fields, found 1: adam"),
        ('zoe,1\n"adam,1\n', "line 2: expected a quote that closes"),
    ],
)
def test_a_malformed_line_is_named(names, text, message):
    with pytest.raises(gz.FormatError, match=message):
        gz.convert_features(write("f.csv", text), "x.gd", id_column=0, ids=names, dtype="int32")


def test_labels_that_are_no_utf8_are_refused(names):
    with open("f.csv", "wb") as file:
        file.write(b"zoe,1\nJos\xe9,2\n")
    with pytest.raises(gz.FormatError, match=r"f.csv: line 2: expected text in UTF-8, found the byte 0xe9"):
        gz.convert_features("f.csv", "x.gd", id_column=0, ids=names, dtype="int32")


def test_a_label_that_is_no_integer_is_named(numbers):
    with pytest.raises(gz.FormatError, match=r"f.csv: line 2: column 1: expected an integer, found 'zoe': zoe,2"):
        gz.convert_features(write("f.csv", "7,1\nzoe,2\n"), "x.gd", id_column=0, ids=numbers, dtype="int32")


def test_a_column_of_the_other_kind_is_refused(names, numbers):
    table = pa.table({"user": [7], "name": ["zoe"], "a": [1]})
    with pytest.raises(TypeError, match=r"column 'user': expected text, as the labels of names.gi are, found int64"):
        gz.convert_features(table, "x.gd", id_column="user", columns=["a"], ids=names)
    with pytest.raises(TypeError, match=r"column 'name': expected integers, as the labels of numbers.gi are, found st"):
        gz.convert_features(table, "x.gd", id_column="name", columns=["a"], ids=numbers)
    nulls = pa.table({"name": ["zoe", None], "a": [1, 2]})
    with pytest.raises(gz.FormatError, match=r"row 1: column 'name': expected a label, found null"):
        gz.convert_features(nulls, "x.gd", id_column="name", ids=names)


def test_what_ids_needs(names):
    text = write("f.csv", "zoe,1\n")
    with pytest.raises(ValueError, match=r"^ids: expected id_column=, which has the labels, found none$"):
        gz.convert_features(text, "x.gd", ids=names, dtype="int32")
    with pytest.raises(ValueError, match=r"^num_rows: expected 5, the labels of names.gi, found 4$"):
        gz.convert_features(text, "x.gd", id_column=0, ids=names, num_rows=4, dtype="int32")
    with pytest.raises(TypeError, match=r"^ids: expected the path of a .gi file, or an IdDictionary, found int$"):
        gz.convert_features(text, "x.gd", id_column=0, ids=5, dtype="int32")
    with pytest.raises(gz.FormatError, match=r"f.csv: too short|f.csv: bad magic"):
        gz.convert_features(text, "x.gd", id_column=0, ids=text, dtype="int32")


@pytest.mark.parametrize("name", ["id", "node_id", "Paper_ID", "nid", "node"])
def test_ids_are_not_taken_for_features(name):
    advice = rf"the first column, {name}, looks like ids of nodes rather than a feature: give id_column='{name}', or c"
    text = write("f.csv", f"{name},a\n0,5\n1,6\n")
    with pytest.raises(ValueError, match=f"^f.csv: {advice}"):
        gz.convert_features(text, "x.gd", dtype="int32")
    with pytest.raises(ValueError, match=advice):
        gz.convert_features(pa.table({name: [0, 1], "a": [5, 6]}), "x.gd")
    assert rows_of(text, id_column=name, dtype="int32") == [[5], [6]]
    assert rows_of(text, columns=[name, "a"], dtype="int32") == [[0, 5], [1, 6]]


def test_other_first_columns_are_features():
    assert rows_of(write("f.csv", "year,id\n0,5\n"), dtype="int32") == [[0, 5]]
    assert rows_of(write("f.csv", "id,a\n0.5,5\n"), dtype="float32") == [[0.5, 5]]
    assert rows_of(pa.table({"id": [0.5], "a": [5.0]})) == [[0.5, 5]]
