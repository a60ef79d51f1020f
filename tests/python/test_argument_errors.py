"""An error about an argument says which one, apart from its message."""

import pickle

import numpy as np
import pytest
import typer

import graphzero as gz
from graphzero._base.argument_errors import Argument, Setting, error_of, parts_of, value_error
from graphzero.cli.command import make_app
from graphzero.cli.errors import one_line
from graphzero.convert import sharded, sharded_features


def mistakes(tiny):
    return {
        "direction": lambda: gz.sample_neighbors(tiny, [0], [1], direction="up"),
        "batch_size": lambda: gz.Pipeline(tiny, [0], [1], batch_size=0),
        "memory": lambda: next(iter(gz.Pipeline(tiny, [0], [1], memory=1))),  # the core finds this one
        "num_nodes": lambda: gz.write_graph("g.gl", [0], [1], num_nodes=-1),
        "ids": lambda: gz.convert_edges(([0], [1]), "g.gl", ids="some"),
    }


def test_an_error_has_the_name_of_the_argument_at_fault(tiny):
    for argument, mistake in mistakes(tiny).items():
        with pytest.raises(ValueError, match=f"^{argument}: expected ") as caught:
            mistake()
        assert caught.value.argument == argument
        assert "".join(map(str, parts_of(caught.value))) == str(caught.value)


def test_the_file_comes_before_the_argument():
    error = value_error("src", "expected column 9, found 2 columns", where="e.csv")
    assert str(error) == "e.csv: src: expected column 9, found 2 columns"
    assert error.argument == "src"


def test_an_error_from_another_process_still_names_its_argument():
    error = pickle.loads(pickle.dumps(error_of(ValueError, "give ", Setting("ids"), " or ", Setting("ids", "map"))))
    assert str(error) == "give ids= or ids='map'"
    assert error.argument == "ids"
    assert parts_of(error) == ("give ", Setting("ids"), " or ", Setting("ids", "map"))


@pytest.mark.parametrize(
    ("part", "line"),
    [
        (Argument("num_nodes"), "--num-nodes"),
        (Setting("src"), "--src"),
        (Setting("src", 0), "--src 0"),
        (Setting("ids", "map"), "--ids map"),
        (Setting("dedup", True), "--dedup"),
        (Setting("header", False), "--no-header"),
        (Setting("undirected", False), "no --undirected"),
        (Setting("source"), "source="),  # has no option
        (Setting("ahead", "#"), "ahead='#'"),  # neither has this one
        ("memory: expected", "memory: expected"),  # text, such as the name of a file, is left alone
    ],
)
def test_the_command_line_writes_an_argument_as_its_option(part, line):
    command = typer.main.get_command(make_app()).commands["convert"]
    assert one_line(error_of(ValueError, "x: ", part, "."), command) == f"x: {line}."


WRONG_KINDS = [
    ({"memory": -1}, ValueError, "memory: expected a size from 0 on, found -1"),
    ({"threads": 0}, ValueError, "threads: expected at least 1, found 0"),
    ({"threads": "two"}, TypeError, "threads: expected an integer, found 'two'"),
    ({"comment": 5}, TypeError, "comment: expected characters that begin a line to ignore, such as '#', found 5"),
    ({"delimiter": 5}, TypeError, "delimiter: expected one character, found 5"),
    ({"progress": "yes"}, TypeError, "progress: expected True, False or a function, found 'yes'"),
    *(
        ({name: value}, TypeError, f"{name}: expected True or False, found {value!r}")
        for name, value in [("directed", None), ("directed", "no"), ("edge_ids", "x"), ("bipartite", 2), ("header", 1)]
    ),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG_KINDS)
@pytest.mark.parametrize("shards", [None, 2])
def test_an_argument_of_the_wrong_kind_is_named(options, error, message, shards):
    with open("e.csv", "w") as file:
        file.write("src,dst\n0,1\n")
    with pytest.raises(error) as caught:
        gz.convert_edges("e.csv", "g.gl", shards=shards, **options)
    assert str(caught.value) == message
    assert caught.value.argument == next(iter(options))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"id_column": 9}, ValueError, "f.csv: id_column: expected one of id, a, found 9"),
        ({"id_column": 0.5}, ValueError, "f.csv: id_column: expected one of id, a, found 0.5"),
        ({"columns": [9], "id_column": 0}, ValueError, "f.csv: columns: expected one of id, a, found 9"),
        ({"header": "no", "id_column": 0}, TypeError, "header: expected True or False, found 'no'"),
        ({"delimiter": 5, "id_column": 0}, TypeError, "delimiter: expected one character, found 5"),
        ({"progress": 1, "id_column": 0}, TypeError, "progress: expected True, False or a function, found 1"),
    ],
)
def test_an_argument_of_convert_features_of_the_wrong_kind_is_named(options, error, message):
    with open("f.csv", "w") as file:
        file.write("id,a\n0,1\n")
    with pytest.raises(error) as caught:
        gz.convert_features("f.csv", "f.gd", dtype="float32", **options)
    assert str(caught.value) == message


def test_truth_of_numpy_is_taken():
    gz.write_graph("g.gl", [0], [1], directed=np.False_)
    assert not gz.Graph("g.gl").directed
    with pytest.raises(TypeError, match="^directed: expected True or False, found None$"):
        gz.write_graph("g.gl", [0], [1], directed=None)


def plan_of_edges(folder="steps"):
    np.save("e.npy", np.array([[0, 1], [1, 2]]))
    return sharded.plan_shards("e.npy", folder, shards=1)


def plan_of_rows(folder="steps"):
    np.save("x.npy", np.eye(3, dtype=np.float32))
    return sharded_features.plan_features("x.npy", folder, shards=1)


PATHS = {
    "plan_shards": ("folder", plan_of_edges),
    "plan_features": ("folder", plan_of_rows),
    "partition_edges": ("folder", lambda path: sharded.partition_edges(path, 0)),
    "commit_shards": ("path", lambda path: sharded.commit_shards(plan_of_edges().folder, path)),
    "commit_features": ("path", lambda path: sharded_features.commit_features(plan_of_rows().folder, path)),
    "convert_edges path": ("path", lambda path: gz.convert_edges([[0, 1]], path)),
    "convert_edges tmp_dir": ("tmp_dir", lambda path: gz.convert_edges([[0, 1]], "g.gl", tmp_dir=path)),
    "convert_edges work_dir": ("work_dir", lambda path: gz.convert_edges("e.npy", "g.gl", shards=1, work_dir=path)),
    "convert_features path": ("path", lambda path: gz.convert_features(np.eye(3), path)),
    "convert_features work_dir": (
        "work_dir", lambda path: gz.convert_features("x.npy", "x.gd", shards=1, work_dir=path)
    ),
    "stage source": ("source", lambda path: gz.stage(path, "here")),
    "stage folder": ("folder", lambda path: gz.stage("ds", path)),
    "push folder": ("folder", lambda path: gz.push(path, "there")),
}  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_path_is_named(name):
    pytest.importorskip("pyarrow")
    argument, call = PATHS[name]
    with pytest.raises(TypeError, match=f"^{argument}: expected a path, found int$") as caught:
        call(5)
    assert caught.value.argument == argument
    with pytest.raises(ValueError, match=rf"^{argument}: expected no NUL byte, found 'a\\x00b'$"):
        call("a\0b")


def test_a_folder_is_named():
    for plan in (plan_of_edges, plan_of_rows):
        with pytest.raises(TypeError, match="^folder: expected a path, found NoneType$"):
            plan(None)


def test_a_path_with_a_nul_byte_does_not_show_the_credentials_of_a_url():
    with pytest.raises(ValueError, match=r"^path: expected no NUL byte, found 's3://b/x\\x00'$"):
        gz.open("s3://key:verysecret@b/x\0")


def test_a_file_is_no_folder_for_steps():
    plan_of_edges()
    plan_of_rows()
    message = "{}: {}: expected a folder, found a file; name another"
    with pytest.raises(ValueError, match=message.format(".*e.npy", "folder")):
        plan_of_edges("e.npy")
    for call in (
        lambda: gz.convert_edges("e.npy", "g.gl", shards=1, work_dir="e.npy"),
        lambda: gz.convert_features("x.npy", "x.gd", shards=1, work_dir="e.npy"),
    ):
        with pytest.raises(ValueError, match=f"^{message.format('e.npy', 'work_dir')}$") as caught:
            call()
        assert caught.value.argument == "work_dir"


@pytest.mark.parametrize(
    "call",
    [
        lambda: gz.convert_edges("e.csv", "g.gl", threads=True),
        lambda: gz.convert_features("x.npy", "x.gd", threads=True),
        lambda: gz.set_num_threads(True),
        lambda: gz.sample_neighbors(gz.Graph("g.gl"), [0], [True]),
    ],
)
def test_truth_is_no_number(call):
    gz.write_graph("g.gl", [0], [1])
    np.save("x.npy", np.eye(3, dtype=np.float32))
    with open("e.csv", "w") as file:
        file.write("src,dst\n0,1\n")
    with pytest.raises(TypeError, match=r"^[\w ]+: expected an integer, found True$"):
        call()
