"""Features that are converted in shards have the bytes of the plain conversion, whatever is cut, repeated or killed."""

import dataclasses
import gzip
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import graphzero as gz
from case_choice import meeting
from graphzero.cli.command import run
from graphzero.convert import sharded_features
from systems import posix_only

ROWS = np.random.default_rng(0).normal(size=(703, 6))


def contents(path):
    return pathlib.Path(path).read_bytes()


def text_of(rows, *, ids=None, header=None):
    lines = [",".join(f"{item:.9g}" for item in row) for row in rows.tolist()]
    if ids is not None:
        lines = [f"{label},{line}" for label, line in zip(ids, lines, strict=True)]
    return "\n".join([*([header] if header else []), *lines, ""])


def convert_both(source, *, shards, **options):
    """Convert plainly and in shards, and compare the files and what the reports say."""
    plain = gz.convert_features(source, "plain.gd", **options)
    plan = sharded_features.plan_features(source, "steps", shards=shards, **options)
    found = sharded_features.run_features("steps", "sharded.gd")
    assert contents("sharded.gd") == contents("plain.gd")
    for name in ("shape", "dtype", "bytes_in", "bytes_out", "absent_rows", "num_bad_lines", "minimum", "maximum"):
        assert getattr(found, name) == getattr(plain, name), name
    assert (found.loss is None) == (plain.loss is None)
    if plain.loss is not None:
        assert dataclasses.astuple(found.loss) == pytest.approx(dataclasses.astuple(plain.loss), rel=1e-9)
    return plan


def write_sources():
    np.save("rows.npy", ROWS)
    np.save("columns.npy", np.asfortranarray(ROWS))
    np.save("cube.npy", ROWS[:702].reshape(351, 2, 6))
    np.save("integers.npy", (ROWS * 20).astype(np.int64))
    np.savez("stored.npz", x=ROWS, y=ROWS[:3])
    np.savez_compressed("deflated.npz", x=ROWS)
    ROWS.astype(np.float32).tofile("raw.bin")
    (ROWS.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tofile("brain.bin")
    pathlib.Path("rows.csv").write_text("# made here\n" + text_of(ROWS, header="a,b,c,d,e,f"))
    pathlib.Path("no-newline.csv").write_text(text_of(ROWS).replace("\n", "\r\n")[:-2])
    pathlib.Path("rows.csv.gz").write_bytes(gzip.compress(text_of(ROWS).encode()))
    gz.convert_features(ROWS, "own.gd", dtype="int8-quantised")


# Source, options, and whether it is cut.
SOURCES = {
    "an array": ("rows.npy", {}, True),
    "an array in Fortran order": ("columns.npy", {}, True),
    "some columns of it": ("columns.npy", {"columns": [4, 1]}, True),
    "a vector": ("rows.npy", {"columns": 2}, True),
    "three dimensions": ("cube.npy", {}, True),
    "integers": ("integers.npy", {"dtype": "int16"}, True),
    "a stored member": ("stored.npz", {"key": "x"}, True),
    "a deflated member": ("deflated.npz", {}, False),
    "raw items": ("raw.bin", {"shape": (-1, 6), "source_dtype": np.float32}, True),
    "raw bfloat16": ("brain.bin", {"shape": (703, 6), "dtype": "bfloat16"}, True),
    "text": ("rows.csv", {"dtype": "float32"}, True),
    "columns of a text": ("rows.csv", {"dtype": "float64", "columns": ["e", "a"]}, True),
    "text without a last newline": ("no-newline.csv", {"dtype": "float32", "num_rows": 703}, True),
    "compressed text": ("rows.csv.gz", {"dtype": "float32"}, False),
    "a file of ours": ("own.gd", {}, False),
}


@pytest.mark.parametrize("shards", [1, 3, 8])
@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_file(name, shards):
    write_sources()
    source, options, is_cut = SOURCES[name]
    plan = convert_both(source, shards=shards, **options)
    assert (plan.num_tasks, plan.num_parts) == ((shards, shards) if is_cut else (1, 1))


@meeting(
    {
        "source": ["rows.npy", "rows.csv", "columns.npy"],
        "dtype": ["float32", "float64", "float16", "bfloat16", "int8-quantised"],
        "shards": [1, 3, 8],
    }
)
def test_every_type(source, dtype, shards):
    write_sources()
    convert_both(source, shards=shards, dtype=dtype)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("rows.npy", {"dtype": gz.FLOAT32, "columns": range(1, 4)}),
        ("rows.npy", {"dtype": np.float16, "columns": (np.int64(3), 0), "num_rows": np.int64(703)}),
        ("raw.bin", {"dtype": gz.FLOAT32, "shape": np.array([703, 6])}),
        ("raw.bin", {"dtype": "float64", "source_dtype": "<f4", "shape": [-1, 3, 2]}),
    ],
    ids=["range", "integers of NumPy", "an array", "a list"],
)
def test_options_in_any_form(source, options):
    write_sources()
    convert_both(source, shards=3, **options)


@pytest.fixture
def parquet():
    arrow, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(path, table, **options):
        pq.write_table(arrow.table(table), path, **options)

    return write


@pytest.mark.parametrize("shards", [1, 3, 8])
def test_parquet_is_cut_by_row_groups(parquet, shards):
    lists = {"x": list(ROWS.astype(np.float32)), "y": np.arange(703)}
    parquet("lists.parquet", lists, row_group_size=100)
    plan = convert_both("lists.parquet", shards=shards, columns="x", dtype="float16")
    assert plan.num_tasks == min(shards, 8)
    parquet("two.parquet", {"a": ROWS[:, 0], "b": ROWS[:, 1]}, row_group_size=500)
    assert convert_both("two.parquet", shards=shards).num_tasks == min(shards, 2)


def test_no_rows(parquet):
    parquet("none.parquet", {"a": np.empty(0, np.float32), "b": np.empty(0, np.float32)})
    convert_both("none.parquet", shards=3)
    np.save("none.npy", np.empty((0, 4), np.float32))
    convert_both("none.npy", shards=3)
    convert_both("none.npy", shards=3, dtype="int8-quantised")
    pathlib.Path("comments.csv").write_text("1,2\n" + "# nothing\n" * 50)  # tasks without a row
    assert convert_both("comments.csv", shards=5, dtype="float32", header=False).num_tasks == 5


def shuffled(count=703, absent=40):
    order = np.random.default_rng(1).permutation(count + absent)[:count]
    return order, count + absent


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8-quantised"])
@pytest.mark.parametrize("shards", [1, 3, 8])
def test_rows_that_say_their_own_places(parquet, dtype, shards):
    ids, num_rows = shuffled()
    pathlib.Path("x.csv").write_text(text_of(ROWS, ids=ids, header="id,a,b,c,d,e,f"))
    plan = convert_both("x.csv", shards=shards, dtype=dtype, id_column="id", num_rows=num_rows)
    assert (plan.num_tasks, plan.num_parts, plan.has_ids) == (shards, shards, True)
    parquet("x.parquet", {"a": ROWS[:, 0], "id": ids, "b": ROWS[:, 1]}, row_group_size=90)
    convert_both("x.parquet", shards=shards, dtype=dtype, id_column="id", num_rows=num_rows)


def test_rows_that_memory_does_not_hold():
    ids, num_rows = shuffled(30_000, 10)
    rows = np.random.default_rng(2).integers(0, 9, (30_000, 200))
    pathlib.Path("x.csv").write_text(text_of(rows, ids=ids))
    options = {"dtype": "int32", "id_column": 0, "num_rows": num_rows, "header": False}
    gz.convert_features("x.csv", "plain.gd", **options)
    gz.convert_features("x.csv", "sharded.gd", shards=2, memory="16MiB", **options)
    assert contents("sharded.gd") == contents("plain.gd")


@pytest.mark.parametrize("shards", [1, 5])
def test_labels_say_the_places(parquet, shards):
    labels = [f"name {i}" for i in shuffled(703, 0)[0]]
    gz.ids.write_ids("names.gi", sorted({*labels, "nobody"}))
    pathlib.Path("x.csv").write_text(text_of(ROWS, ids=labels, header="name,a,b,c,d,e,f"))
    convert_both("x.csv", shards=shards, dtype="float32", id_column="name", ids="names.gi")
    parquet("x.parquet", {"a": ROWS[:, 0], "name": labels}, row_group_size=90)
    with gz.IdDictionary("names.gi") as names:
        convert_both("x.parquet", shards=shards, id_column="name", ids=names)


def test_bad_lines_are_skipped_and_counted():
    lines = text_of(ROWS[:200], ids=range(200)).splitlines()
    lines[7], lines[70], lines[150] = "7,x,1,2,3,4,5", "3,1", "5," + lines[150].partition(",")[2]
    lines[180] = "999" + lines[180]
    pathlib.Path("x.csv").write_text("\n".join(lines))
    options = {"dtype": "float32", "bad_lines": "skip", "header": False}
    convert_both("x.csv", shards=5, **options)
    convert_both("x.csv", shards=5, id_column=0, num_rows=200, **options)


def test_convert_features_takes_shards_and_leaves_nothing_behind(capsys):
    np.save("x.npy", ROWS)
    calls = []
    report = gz.convert_features("x.npy", "s.gd", shards=3, dtype="float16", progress=lambda *done: calls.append(done))
    gz.convert_features("x.npy", "p.gd", dtype="float16")
    assert contents("s.gd") == contents("p.gd")
    assert (report.path, report.shape) == ("s.gd", (703, 6))
    assert calls[-1] == (3, 3)
    words = ["convert", "x.npy", "c.gd", "--dtype", "float16", "--engine", "local", "--shards", "8", "--json"]
    assert run([*words, "--work-dir", "work"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes_out"] == report.bytes_out
    assert contents("c.gd") == contents("p.gd")
    assert sorted(os.listdir()) == ["c.gd", "p.gd", "s.gd", "x.npy"]
    assert gz.convert_features("x.npy", "none.gd", shards=3, dry_run=True).dry_run


def test_a_repeated_step_writes_the_same_part():
    ids, num_rows = shuffled()
    pathlib.Path("x.csv").write_text(text_of(ROWS, ids=ids))
    options = {"dtype": "int8-quantised", "id_column": 0, "num_rows": num_rows, "header": False}
    plan = sharded_features.plan_features("x.csv", "steps", shards=3, **options)
    sharded_features.run_features("steps", "first.gd")
    made = {path: path.read_bytes() for path in pathlib.Path("steps").glob("*.*") if path.suffix != ".json"}
    assert len(made) == 6
    for task in reversed(range(plan.num_tasks)):
        sharded_features.convert_rows("steps", task, memory="16MiB", threads=1)
    for part in reversed(range(plan.num_parts)):
        sharded_features.place_rows("steps", part, memory="16MiB", threads=1)
    assert made == {path: path.read_bytes() for path in pathlib.Path("steps").glob("*.*") if path.suffix != ".json"}


KILLED = """
import os, signal, sys
from graphzero.convert import sharded_features
from graphzero.convert._shards import row_plan
finish = row_plan.RowPlan.finish
def killed(plan, name, scratch, facts):
    if sys.argv[1] in name:
        os.kill(os.getpid(), signal.SIGKILL)
    finish(plan, name, scratch, facts)
row_plan.RowPlan.finish = killed
sharded_features.run_features("steps", "sharded.gd")
"""


def test_a_killed_run_goes_on_with_what_is_there():
    ids, num_rows = shuffled()
    pathlib.Path("x.csv").write_text(text_of(ROWS, ids=ids))
    options = {"dtype": "float16", "id_column": 0, "num_rows": num_rows, "header": False}
    sharded_features.plan_features("x.csv", "steps", shards=4, **options)
    for where in ("task-000002", "rows-000001"):
        assert subprocess.run([sys.executable, "-c", KILLED, where], timeout=60).returncode == -signal.SIGKILL
        assert not os.path.exists("sharded.gd")
    steps = []
    sharded_features.run_features("steps", "sharded.gd", progress=lambda *done: steps.append(done))
    assert {total for _, total in steps} == {0, 3}  # all tasks and one part were done
    gz.convert_features("x.csv", "plain.gd", **options)
    assert contents("sharded.gd") == contents("plain.gd")


# What is wrong.


def raises(kind, message):
    return pytest.raises(kind, match=f"^{message}$")


def same_error(source, kind=ValueError, **options):
    """Return what the plain conversion says, which the one in shards says as well."""
    with pytest.raises(kind) as plain:
        gz.convert_features(source, "x.gd", **options)
    with pytest.raises(kind) as found:
        gz.convert_features(source, "x.gd", shards=5, **options)
    assert str(found.value).replace(f"{os.getcwd()}/", "") == str(plain.value)  # a plan has whole paths
    assert type(found.value) is type(plain.value)
    assert not os.path.exists("x.gd")
    return str(plain.value)


def test_a_bad_line_has_its_number_in_the_file():
    lines = ["a,b", *["1,2"] * 70, "1,x", *["3,4"] * 30]
    pathlib.Path("x.csv").write_text("\n".join(lines))
    assert "x.csv: line 72: " in same_error("x.csv", dtype="float32")
    pathlib.Path("ids.csv").write_text("\n".join(f"{i},{line}" for i, line in enumerate(lines[1:])))
    options = {"dtype": "float32", "id_column": 0, "header": False}
    assert "ids.csv: line 71: " in same_error("ids.csv", num_rows=101, **options)
    lines[71] = "1,inf"
    pathlib.Path("x.csv").write_text("\n".join(lines))
    assert "x.csv: row 70: expected numbers that are finite" in same_error("x.csv", dtype="int8-quantised")


def test_ids_that_are_wrong():
    lines = [f"{i},1" for i in range(100)]
    options = {"dtype": "float32", "id_column": 0, "header": False}
    lines[77] = "100,1"
    pathlib.Path("x.csv").write_text("\n".join(lines))
    assert "line 78: expected an id from 0 to 99, found 100: 100,1" in same_error("x.csv", num_rows=100, **options)
    lines[77] = "-1,1"
    pathlib.Path("x.csv").write_text("\n".join(lines))
    assert "line 78: " in same_error("x.csv", num_rows=100, **options)
    lines[77] = "4,8"
    pathlib.Path("x.csv").write_text("\n".join(lines))
    assert "line 78: id 4 was there before: 4,8" in same_error("x.csv", num_rows=100, **options)


def test_labels_that_are_wrong():
    gz.ids.write_ids("names.gi", ["ann", "bob", "eve"])
    options = {"dtype": "float32", "id_column": 0, "header": False, "ids": "names.gi"}
    pathlib.Path("x.csv").write_text("ann,1\n# a comment\nbob,2\nzoe,3\n")
    assert "line 4: expected a label of names.gi, found 'zoe'" in same_error("x.csv", **options)
    pathlib.Path("x.csv").write_text("ann,1\n# a comment\nbob,2\nann,3\n")
    assert "line 4: label 'ann' was there before: ann,3" in same_error("x.csv", **options)


def test_rows_of_a_table_that_are_wrong(parquet):
    lists = [[1.0, 2.0]] * 300
    lists[250] = [1.0, 2.0, 3.0]
    parquet("x.parquet", {"x": lists}, row_group_size=50)
    assert "row 250: " in same_error("x.parquet", columns="x")
    parquet("ids.parquet", {"id": [*range(299), 7], "a": np.ones(300)}, row_group_size=50)
    assert "row 299: id 7 was there before" in same_error("ids.parquet", id_column="id", num_rows=300)
    integers = np.zeros(300, np.int64)
    integers[222] = 300
    np.save("x.npy", integers)
    assert "row 222: 300 does not fit int8" in same_error("x.npy", dtype="int8")


def test_another_number_of_rows():
    np.save("x.npy", ROWS)
    assert same_error("x.npy", num_rows=704) == "x.npy: expected 704 rows, found 703"
    pathlib.Path("x.csv").write_text(text_of(ROWS))
    options = {"dtype": "float32", "header": False}
    assert same_error("x.csv", num_rows=704, **options) == "x.csv: expected 704 rows, found 703"


def test_wrong_arguments():
    np.save("x.npy", ROWS)
    pathlib.Path("x.csv").write_text("0,1\n1,2\n")
    with raises(ValueError, "shards: expected at least 1, found 0"):
        gz.convert_features("x.npy", "x.gd", shards=0)
    with raises(TypeError, "source: expected a file for a conversion in shards, found ndarray; write it to one"):
        gz.convert_features(ROWS, "x.gd", shards=2)
    with raises(ValueError, "order: expected none with shards=2; convert the rows first, and then reorder the file"):
        gz.convert_features("x.npy", "x.gd", shards=2, order=range(703))
    message = "num_rows: expected the number of rows with id_column= and shards=2, as parts are cut before ids are.*"
    with raises(ValueError, message):
        gz.convert_features("x.csv", "x.gd", shards=2, dtype="float32", id_column=0)
    with raises(ValueError, "engine: expected shards= with it, found none"):
        gz.convert_features("x.npy", "x.gd", engine="ray")
    with raises(TypeError, r"x\.csv: expected dtype= for text, such as dtype='float32', found none"):
        gz.convert_features("x.csv", "x.gd", shards=2)
    with raises(ValueError, "memory: expected at least 16.*, found 1.*"):
        gz.convert_features("x.npy", "x.gd", shards=2, memory=1000)
    os.mkdir("folder")
    with pytest.raises(IsADirectoryError, match="is a directory, expected a file of features: 'folder'"):
        gz.convert_features("folder", "x.gd", shards=2)
    assert sorted(os.listdir()) == ["folder", "x.csv", "x.npy"]


def test_wrong_steps():
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=2)
    with raises(ValueError, "task: expected 0 to 1, as planned, found 2"):
        sharded_features.convert_rows("steps", 2)
    with raises(ValueError, ".*steps: expected a plan with id_column=, found one whose rows are in order"):
        sharded_features.place_rows("steps", 0)
    sharded_features.convert_rows("steps", 0)
    with pytest.raises(FileNotFoundError, match=r"expected the file of convert_rows\(folder, 1\), which comes first"):
        sharded_features.commit_features("steps", "x.gd")
    from graphzero.convert import sharded

    with raises(ValueError, r".*plan\.json: expected a plan of plan_shards\(\), for edges, found one for features"):
        sharded.partition_edges("steps", 0)
    pathlib.Path("x.csv").write_text("0,1\n1,2\n")
    sharded_features.plan_features(
        "x.csv", "steps", shards=2, dtype="float32", id_column=0, num_rows=4, header=False
    )  # fmt: skip
    with raises(ValueError, "part: expected 0 to 1, as planned, found -1"):
        sharded_features.place_rows("steps", -1)
    with pytest.raises(FileNotFoundError, match=r"expected the file of convert_rows\(folder, 0\), which comes first"):
        sharded_features.place_rows("steps", 0)


def test_a_source_or_a_dictionary_that_changed():
    gz.ids.write_ids("names.gi", ["ann", "bob"])
    pathlib.Path("x.csv").write_text("ann,1\nbob,2\n")
    options = {"shards": 1, "dtype": "float32", "id_column": 0, "header": False, "ids": "names.gi"}
    sharded_features.plan_features("x.csv", "steps", **options)
    gz.ids.write_ids("names.gi", ["ann", "eve"])
    with raises(gz.FormatError, r".*names\.gi: expected the dictionary as it was planned, found another; plan it ag.*"):
        sharded_features.convert_rows("steps", 0)
    pathlib.Path("x.csv").write_text("ann,1\neve,20\n")
    with raises(ValueError, r".*x\.csv: expected 12 bytes, as when it was planned, found 13; plan it again"):
        sharded_features.convert_rows("steps", 0)


def damage(path, at):
    data = bytearray(contents(path))
    data[at] ^= 1
    path.write_bytes(data)


def test_damaged_files_of_steps():
    ids, num_rows = shuffled()
    pathlib.Path("x.csv").write_text(text_of(ROWS, ids=ids))
    options = {"dtype": "float32", "id_column": 0, "num_rows": num_rows, "header": False}
    plan = sharded_features.plan_features("x.csv", "steps", shards=2, **options)
    sharded_features.run_features("steps", "x.gd")
    [records] = pathlib.Path("steps").glob("task-000001*.records")
    whole = contents(records)
    damage(records, 20)
    with raises(gz.FormatError, rf".*{records}: the checksum of \d+ rows at byte 0 differs: it is damaged, remove .*"):
        sharded_features.place_rows("steps", 0)
    records.write_bytes(whole[:-5])
    with raises(gz.FormatError, rf".*{records}: expected \d+ more bytes, found its end; remove it and run conv.*"):
        sharded_features.place_rows("steps", plan.num_parts - 1)
    [part] = pathlib.Path("steps").glob("rows-000000*.gd")
    damage(part, 4096)
    with raises(gz.FormatError, rf".*{part}: checksum of data: expected \d+, found \d+: the bytes changed .*"):
        sharded_features.commit_features("steps", "x.gd")


@pytest.mark.parametrize(
    ("dtype", "at", "message"),
    [
        ("float32", 4096 + 100, r"checksum of data: expected \d+, found \d+: the bytes changed since .*"),
        ("float32", -1, r"zeros between the sections: byte \d+ is not zero; remove it and run convert_rows\(.*"),
        ("int8-quantised", -4096, r"checksum of scale: expected \d+, found \d+: the bytes changed since .*"),
    ],
)
def test_every_byte_of_a_part_is_proven_while_it_is_copied(dtype, at, message):
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=2, dtype=dtype)
    sharded_features.run_features("steps", "x.gd")
    before = contents("x.gd")
    [part] = pathlib.Path("steps").glob("rows-000001*.gd")
    damage(part, at)
    with raises(gz.FormatError, f".*{part}: {message}"):
        sharded_features.commit_features("steps", "x.gd")
    assert contents("x.gd") == before
    assert not list(pathlib.Path().glob(".*x.gd*"))


def test_the_source_is_never_the_target():
    np.save("x.npy", ROWS)
    before = contents("x.npy")
    os.link("x.npy", "same.npy")
    for target in ("x.npy", "same.npy"):
        with raises(ValueError, f"{target}: expected another file than the source, found the source itself"):
            gz.convert_features("x.npy", target, shards=2)
    assert contents("x.npy") == before


def test_a_source_of_the_same_size_that_changed_is_noticed():
    np.save("x.npy", np.zeros((1000, 4), np.float32))
    sharded_features.plan_features("x.npy", "steps", shards=2)
    sharded_features.convert_rows("steps", 0)
    np.save("x.npy", np.ones((1000, 4), np.float32))
    os.utime("x.npy", ns=(1, 1))
    with raises(
        ValueError, r".*x\.npy: expected a file as old as when it was planned, found one that was changed since; .*"
    ):
        sharded_features.convert_rows("steps", 1)


def test_parts_that_changed_places_are_noticed():
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=2)
    for task in range(2):
        sharded_features.convert_rows("steps", task)
    first, second = sorted(pathlib.Path("steps").glob("*.rows.gd"))
    first.write_bytes(second.read_bytes())
    with raises(gz.FormatError, r".*rows\.gd: expected the rows that its step wrote, found others; remove it, .*"):
        sharded_features.commit_features("steps", "x.gd")
    assert not os.path.exists("x.gd")


def test_a_part_with_its_facts_under_other_names_is_noticed():
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=2)
    for task in range(2):
        sharded_features.convert_rows("steps", task)
    for ending in (".rows.gd", ".rows.json"):
        first, second = sorted(pathlib.Path("steps").glob(f"*{ending}"))
        second.write_bytes(first.read_bytes())
    with raises(gz.FormatError, r".*rows-000001.*json: expected a file that ends with .* had another name; remove .*"):
        sharded_features.commit_features("steps", "x.gd")


def test_a_damaged_line_of_a_record_is_not_looked_up():
    ids, num_rows = shuffled()
    pathlib.Path("x.csv").write_text(text_of(ROWS, ids=ids))
    options = {"dtype": "float32", "id_column": 0, "num_rows": num_rows, "header": False}
    sharded_features.plan_features("x.csv", "steps", shards=1, **options)
    sharded_features.convert_rows("steps", 0)
    [records] = pathlib.Path("steps").glob("task-000000*.records")
    data = bytearray(contents(records))
    size = 16 + 4 * ROWS.shape[1]
    data[size : size + 8] = data[:8]  # an id that was there before, in a line of a task that there is not
    data[size + 8 : size + 16] = b"\x7f" * 8
    records.write_bytes(data)
    with raises(
        gz.FormatError, r".*: the checksum of \d+ rows at byte 0 .* remove it and run convert_rows\(folder, 0\) .*"
    ):
        sharded_features.place_rows("steps", 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected JSON, found a damaged file: Expecting value.*; remove it, and run again"),
        ("[]", "expected an object in JSON, found list; remove it, and run again"),
        ("[" * 100_000, "expected JSON, found a damaged file: .*recursion.*; remove it, and run again"),
        (
            "{}",
            "expected a file that ends with its own checksum, found one that is damaged, .*; remove it, and run again",
        ),
    ],
)
def test_a_damaged_file_of_facts_is_named(content, message):
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=1)
    sharded_features.convert_rows("steps", 0)
    [facts] = pathlib.Path("steps").glob("*.rows.json")
    facts.write_text(content)
    with raises(gz.FormatError, rf".*rows\.json: {message}"):
        sharded_features.commit_features("steps", "x.gd")


def test_a_plan_that_was_edited_is_refused():
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=2)
    plan = pathlib.Path("steps/plan.json")
    plan.write_text(plan.read_text().replace('"request"', '"requests"'))
    with raises(gz.FormatError, r".*plan\.json: expected a file that ends with its own checksum, .*; plan it again"):
        sharded_features.convert_rows("steps", 0)


@pytest.mark.parametrize("content", ["", "null", '{"version": 5', "[" * 100_000, '{"version":' + "9" * 5000 + "}"])
def test_a_damaged_plan_is_named(content):
    os.mkdir("steps")
    pathlib.Path("steps/plan.json").write_text(content)
    with raises(gz.FormatError, r".*plan\.json: expected .* in JSON, .*|.*plan\.json: expected JSON, .*"):
        sharded_features.convert_rows("steps", 0)


def test_too_many_shards_are_refused():
    np.save("x.npy", ROWS)
    with raises(ValueError, "shards: expected 1 to 10,000, found 100,000"):
        gz.convert_features("x.npy", "x.gd", shards=100_000)


def test_a_number_that_does_not_fit_is_told_with_its_line():
    lines = [f"{row},{'nan' if row == 15_000 else 1.5}" for row in range(20_000)]
    pathlib.Path("x.csv").write_text("\n".join([*lines, ""]))
    options = {"dtype": "int8-quantised", "id_column": 0, "num_rows": 20_000, "memory": "17MB"}
    for more in ({}, {"shards": 3}):
        with raises(ValueError, r".*x\.csv: line 15001: expected numbers that are finite .*, found nan"):
            gz.convert_features("x.csv", "x.gd", **options, **more)


@posix_only(reason="there is no such file elsewhere")
@pytest.mark.parametrize("more", [{}, {"shards": 2}])
def test_a_pipe_is_not_replaced_by_a_file(more):
    np.save("x.npy", ROWS)
    os.mkfifo("pipe")
    with pytest.raises(OSError, match="is a device, pipe or socket, expected a file to write: 'pipe'"):
        gz.convert_features("x.npy", "pipe", **more)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_a_file_of_the_steps_is_no_target():
    np.save("x.npy", ROWS)
    sharded_features.plan_features("x.npy", "steps", shards=2)
    sharded_features.run_features("steps", "x.gd")
    (part,) = pathlib.Path("steps").glob("rows-000000.*.gd")
    for call in (sharded_features.run_features, sharded_features.commit_features):
        with raises(ValueError, f"{part}: expected another file than those of the steps, .*; name another"):
            call("steps", part)
    sharded_features.commit_features("steps", "again.gd")
    assert pathlib.Path("again.gd").read_bytes() == pathlib.Path("x.gd").read_bytes()


@pytest.mark.parametrize(("path", "shards"), [("x.gd", None), ("x.gd", 2), ("file://HERE/there/x.gd", 2)])
@pytest.mark.parametrize("num_rows", [10**30, 2**59 + 1, -1])
def test_a_number_of_rows_that_cannot_be_is_refused(shards, num_rows, path):
    pathlib.Path("x.csv").write_text("id,a\n0,1.5\n1,2.5\n")
    with raises(ValueError, rf"num_rows: expected 0 to 2\^59, found {num_rows}"):
        gz.convert_features(
            "x.csv",
            path.replace("HERE", os.getcwd()),
            dtype="float32",
            id_column="id",
            num_rows=num_rows,
            shards=shards,
        )
    assert os.listdir() == ["x.csv"]


def test_more_rows_than_fit_the_disk_are_refused_before_anything_is_read():
    pathlib.Path("x.csv").write_text("id,a\n0,1.5\n1,2.5\n")
    options = {"dtype": "float32", "id_column": "id", "num_rows": 10**15}
    message = r"\[Errno 28\] needs about 4\.0 PB of disk, and .* are free; free some: '.*{}'"
    with raises(OSError, message.format("x.gd")):
        gz.convert_features("x.csv", "x.gd", **options)
    with raises(OSError, message.format("plan.json")):
        gz.convert_features("x.csv", "x.gd", shards=2, **options)
    with raises(OSError, message.format("steps/plan.json")):
        sharded_features.plan_features("x.csv", "steps", shards=2, **options)
    assert not os.path.exists("steps/plan.json")


def test_the_command_refuses_a_number_of_rows_that_cannot_be(capsys):
    pathlib.Path("x.csv").write_text("id,a\n0,1.5\n1,2.5\n")
    words = ["convert", "x.csv", "x.gd", "--dtype", "float32", "--id-column", "id", "--num-rows", "1" + "0" * 20]
    for more in ([], ["--shards", "2"]):
        assert run([*words, *more]) != 0
        assert "--num-rows: expected 0 to 2^59, found 1" in capsys.readouterr().err
